import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, Task, TaskStatus } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { defined } from "../../core/members.js";
import { isInterrupted } from "../../task/state.js";

/** Backoff between attempts: random, up to a time that doubles with each attempt. */
export interface Backoff {
  /** Maximum delay before the second attempt, in milliseconds. */
  readonly firstMs: number;
  /** Maximum delay between any two attempts, in milliseconds. */
  readonly maxMs: number;
  /** Maximum total time since the first failure, in milliseconds. */
  readonly maxElapsedMs: number;
  /** Maximum delay that a server may request, in milliseconds. */
  readonly maxRetryAfterMs: number;
}

/** Dependencies of a client's calls. Every method rejects with an A2AError. */
export interface ClientCore {
  /**
   * All methods of the protocol, over the chosen interface, with version, tenant, extensions and credentials. Retries
   * safe calls: reads, and sends with an idempotency key if the agent declares `urn:parley:ext:idempotency:v1`. An open
   * stream is not retried.
   */
  readonly rpc: Client<typeof A2AService>;
  readonly card: AgentCard;
  /** True if the agent resumes streams exactly (declares `urn:parley:ext:resume:v1`). */
  readonly canResume: boolean;
  /** True if sends with an `Idempotency-Key` may be retried (the agent declares `urn:parley:ext:idempotency:v1`). */
  readonly idempotent: boolean;
  /** True if calls that may have arrived are retried (`maxAttempts`). Default true. */
  readonly isRepeating?: boolean;
  /** True if the agent streams (`capabilities.streaming`). */
  readonly canStream: boolean;
  readonly backoff: Backoff;
  /** Pending questions of this client's tasks. */
  readonly asked: PendingQuestions;
  /** Default timeout of a send that waits for its task, in milliseconds. Default: none. */
  readonly sendTimeoutMs?: number;
}

/** Maximum number of tasks remembered. For older ones, a repeated question counts as an answer. */
const MAX_TASKS = 1_000;

/**
 * Records the last question of each waiting task. Some servers answer a message to such a task before they start its
 * turn: they then return the question that the message answers, not an answer to it.
 */
export class PendingQuestions {
  readonly #questions = new Map<string, string>();

  /** Records a task's current question. */
  note({ id, status }: Task): void {
    this.#questions.delete(id);
    const question = questionOf(status);
    if (question === undefined) return;
    this.#questions.set(id, question);
    if (this.#questions.size > MAX_TASKS) this.#questions.delete(defined(this.#questions.keys().next().value));
  }

  /** Returns the last question recorded for a task, for comparison with `questionOf`. */
  of(taskId: string): string | undefined {
    return this.#questions.get(taskId);
  }
}

/**
 * Returns a key that identifies a question within its task: its time and message id. Undefined if the task does not
 * wait, or if the server sends no timestamp, or only whole seconds without a message.
 */
export function questionOf(status: TaskStatus | undefined): string | undefined {
  if (status?.timestamp === undefined || !isInterrupted(status.state)) return undefined;
  const { state, timestamp, message } = status;
  const messageId = message?.messageId ?? "";
  if (messageId === "" && timestamp.nanos === 0) return undefined;
  return `${state} ${timestamp.seconds}.${timestamp.nanos} ${messageId}`;
}
