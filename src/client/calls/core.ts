import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, Task, TaskStatus } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../../task/state.js";

/** How a client waits between attempts: at random, up to a time that doubles from attempt to attempt. */
export interface Backoff {
  /** Before the second attempt, at most, in milliseconds. */
  readonly firstMs: number;
  /** Between any two attempts, at most, in milliseconds. */
  readonly maxMs: number;
  /** From the first failure on, all together, in milliseconds. */
  readonly maxElapsedMs: number;
  /** The most that a server gets which asks for time, in milliseconds. */
  readonly maxRetryAfterMs: number;
}

/** What the calls of a client rest on. Every method rejects with an A2AError. */
export interface ClientCore {
  /**
   * All methods of the protocol, over the interface that is chosen: with version, tenant, extensions and credentials. What is safe
   * to repeat is repeated: reads, and sends under a key where the agent declares `urn:parley:ext:idempotency:v1`. A stream that has
   * begun is not.
   */
  readonly rpc: Client<typeof A2AService>;
  readonly card: AgentCard;
  /** The agent resumes streams exactly: it declares `urn:parley:ext:resume:v1`. */
  readonly canResume: boolean;
  /** A send under an `Idempotency-Key` may be repeated: the agent declares `urn:parley:ext:idempotency:v1`. */
  readonly idempotent: boolean;
  /** Whether what may have arrived is sent again at all (`maxAttempts`). Default: it is. */
  readonly isRepeating?: boolean;
  /** The agent streams (`capabilities.streaming`). */
  readonly canStream: boolean;
  readonly backoff: Backoff;
  /** The questions that tasks of this client wait with. */
  readonly asked: AskedQuestions;
  /** Default time limit of a send that waits for its task, in milliseconds. Default: none. */
  readonly sendTimeoutMs?: number;
}

/** How many tasks are remembered. An answer to the question of an older one is taken as it comes. */
const MAX_TASKS = 1_000;

/**
 * The questions that tasks were seen to wait with. Some servers answer a message to such a task before they begin its turn: what they
 * show then is the question that the message answers, and not an answer to it.
 */
export class AskedQuestions {
  readonly #questions = new Map<string, string>();

  /** Notes how a task was seen. */
  note({ id, status }: Task): void {
    this.#questions.delete(id);
    const question = questionOf(status);
    if (question === undefined) return;
    this.#questions.set(id, question);
    if (this.#questions.size > MAX_TASKS) this.#questions.delete(this.#questions.keys().next().value as string);
  }

  /** The question that a task was seen to wait with last, to be compared with `questionOf`. */
  of(taskId: string): string | undefined {
    return this.#questions.get(taskId);
  }
}

/**
 * What tells a question from others of its task: its time and the id of its message. Undefined where the task does not wait, or the
 * server does not say enough: no time, or one of whole seconds and no message.
 */
export function questionOf(status: TaskStatus | undefined): string | undefined {
  if (status?.timestamp === undefined || !isInterrupted(status.state)) return undefined;
  const { state, timestamp, message } = status;
  const messageId = message?.messageId ?? "";
  if (messageId === "" && timestamp.nanos === 0) return undefined;
  return `${state} ${timestamp.seconds}.${timestamp.nanos} ${messageId}`;
}
