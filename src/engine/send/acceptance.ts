import type { TurnRequest } from "../../agent/turn-request.js";
import { orAborted, within } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import {
  type IdempotencyKey,
  type IdempotencyRecord,
  type Lease,
  StoreError,
  type TaskStore,
} from "../../store/task-store.js";
import type { createdDraft } from "../log/draft.js";
import { toCallerError, unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { type QuotaScope, withQuotaScope } from "../quota-scope.js";
import { type TaskHandle, taskViewOf } from "../read/task-handle.js";
import type { Tasks } from "../read/tasks.js";
import type { ExecutionSlot } from "../run/execution-slots.js";
import type { Executions } from "../run/executions.js";
import { type SendCommand, type SendResult, scopeOf } from "./send-command.js";

/** Maximum number of messages that wait for their turn on one task. */
export const waitingTurns = { max: 64 } as const;

/** Parameters for storing a message. */
interface AcceptOptions {
  /** Returns the lease to set at a position, if the task has none. */
  readonly lease: (position: number) => Lease;
  readonly follows?: boolean;
  /** The turn of a message to an existing task, with the slot reserved for its execution. */
  readonly followUp?: { readonly turn: TurnRequest; readonly slot: ExecutionSlot | undefined };
}

export interface AcceptanceSource {
  readonly store: TaskStore;
  readonly tasks: Tasks;
  readonly executions: Executions;
  readonly limits: Limits;
  readonly quotaScope: QuotaScope;
}

/** Stores the messages of sends, each at most once under its idempotency key. */
export class Acceptance {
  readonly #source: AcceptanceSource;

  constructor(source: AcceptanceSource) {
    this.#source = source;
  }

  /**
   * Stores a message. Queues a follow-up's turn in the same event-loop turn, so that the task cannot pause in between.
   */
  async accept(
    log: TaskLog,
    draft: ReturnType<typeof createdDraft>,
    command: SendCommand,
    { lease, follows, followUp }: AcceptOptions,
  ): Promise<TaskHandle> {
    const { limits, tasks, executions, quotaScope } = this.#source;
    const { caller, tenant, idempotency, ifGeneration, pushConfig } = command;
    if (draft.size > limits.maxMessageBytes) throw messageTooLarge(limits.maxMessageBytes);
    const options = {
      sizes: limits,
      ifGeneration,
      pushConfig: pushConfig && ((taskId: string) => withQuotaScope(pushConfig(taskId), scopeOf(command), quotaScope)),
      ...(followUp === undefined ? {} : { maxWaiting: waitingTurns.max }),
      ...(idempotency === undefined ? {} : { send: { tenant, owner: caller.owner, ...idempotency } }),
      // The transaction that accepts a message also starts the execution of a task at rest, or of one whose execution
      // releases it at this moment. An existing lease covers this message, too, after the turn it is for.
      lease,
      ...(follows === true && { follows }),
    };
    return log.appendAnd(draft, options, ({ position }) => {
      const accepted = command.capture === undefined ? undefined : taskViewOf(log, command.capture);
      const task = tasks.handle(log, position, accepted);
      if (followUp !== undefined) {
        executions.queue(log, command.served, { ...followUp.turn, position }, followUp.slot);
      }
      return task;
    });
  }

  /** Returns the record of an earlier send under the same key. @throws A2AError if that was another message */
  async remembered(command: SendCommand): Promise<IdempotencyRecord | undefined> {
    const { idempotency, tenant, caller } = command;
    if (idempotency === undefined) return undefined;
    const { store } = this.#source;
    const key: IdempotencyKey = { tenant, owner: caller.owner, key: idempotency.key };
    const known = await store.findSend(key).catch((error: unknown) => Promise.reject(toCallerError(error)));
    if (known !== undefined && known.fingerprint !== idempotency.fingerprint) throw keyReused(known.taskId);
    return known;
  }

  /**
   * Opens the task of the same send, if the store rejected this one as its repetition: two arrived concurrently.
   * @throws A2AError for any other error
   */
  repeated(command: SendCommand, error: unknown): Promise<TaskHandle> {
    const { remembered } = error instanceof StoreError ? error : {};
    if (remembered === undefined) throw toCallerError(error);
    if (remembered.fingerprint !== command.idempotency?.fingerprint) throw keyReused(remembered.taskId);
    return this.open(command, remembered);
  }

  async open(command: SendCommand, known: IdempotencyRecord): Promise<TaskHandle> {
    const { tasks, store } = this.#source;
    const log = await tasks.acquire(scopeOf(command), known.taskId).catch(async (error: unknown) => {
      // The creation failed here but succeeded after all, or elsewhere: the task is found a moment later.
      // It may also exist in a store that cannot be read now.
      const head = isNotFound(error) ? await store.head({ taskId: known.taskId }).catch(() => "unknown") : undefined;
      throw head === undefined ? error : unavailable(error);
    });
    const accepted = command.capture === undefined ? undefined : taskViewOf(log, command.capture);
    // A retry waits for the same turn as its first attempt.
    return tasks.handle(log, known.position, accepted);
  }
}

function messageTooLarge(maxMessageBytes: number): A2AError {
  const message = `The message is larger than it may be, ${maxMessageBytes} bytes as JSON.`;
  return new A2AError("REQUEST_TOO_LARGE", message, {
    metadata: { limit: "maxMessageBytes", maxMessageBytes: String(maxMessageBytes) },
  });
}

/** True if a task does not exist for its caller. */
export function isNotFound(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "TASK_NOT_FOUND";
}

/** @param taskId the caller's task that has the key, if known */
function keyReused(taskId?: string): A2AError {
  const message = "The idempotency key was used for another request.";
  return new A2AError("IDEMPOTENCY_KEY_REUSED", message, taskId === undefined ? {} : { metadata: { taskId } });
}

interface Underway {
  readonly command: SendCommand;
  readonly outcome: Promise<SendResult>;
}

/**
 * Sends with an idempotency key that are being accepted, or decided by their agent. Of concurrent sends in this process
 * the first one proceeds and the others wait for its result. Between processes the store decides.
 */
export class SendsUnderWay {
  /** Not a TransientMap: clients choose these keys. */
  readonly #underway = new Map<string, Underway>();
  readonly #graceMs: number;

  /** @param graceMs time for an agent to stop after the first send's client has disconnected, in milliseconds */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Calls `send`, unless a send with the same key is in progress. A direct reply is shared by all of them; after any
   * other result they look the key up in the store. An agent that hangs after its client disconnected does not block
   * the key: the next send proceeds, and if the first one creates a task after all, the store decides which one has the
   * key.
   * @throws A2AError IDEMPOTENCY_KEY_REUSED
   */
  async once(key: string, command: SendCommand, send: () => Promise<SendResult>): Promise<SendResult> {
    for (let known = this.#underway.get(key); known !== undefined; known = this.#underway.get(key)) {
      if (known.command.idempotency?.fingerprint !== command.idempotency?.fingerprint) throw keyReused();
      const sent = await this.#outcomeOf(known);
      if (sent === "left behind" && this.#underway.get(key) === known) break;
      if (sent === "left behind") continue;
      // An agent that was stopped because its client disconnected may have answered anything.
      if (sent?.kind === "message" && !known.command.client.signal.aborted) return sent;
    }
    const outcome = send();
    const mine = { command, outcome };
    this.#underway.set(key, mine);
    try {
      return await outcome;
    } finally {
      if (this.#underway.get(key) === mine) this.#underway.delete(key);
    }
  }

  /**
   * Waits for the result, undefined for a failed send, or until the client has been disconnected for so long that its
   * agent should have stopped.
   */
  async #outcomeOf({ command: { client }, outcome }: Underway): Promise<SendResult | "left behind" | undefined> {
    const over = outcome.catch(() => undefined);
    const isThere = await orAborted(over, client.signal).then(
      () => true,
      () => false,
    );
    return isThere || (await within(this.#graceMs, over)) ? over : "left behind";
  }
}
