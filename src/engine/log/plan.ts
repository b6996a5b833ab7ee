import { create } from "@bufbuild/protobuf";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { ConversationChangesSchema, type LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { A2AError, limitReached } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { defined } from "../../core/members.js";
import type { AppendRequest, IdempotencyKey, Lease, NewPushConfig, TaskHead, TaskRow } from "../../store/task-store.js";
import { countsAsGeneration, type Draft, encodeEntry, placeDraft, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { noteOrigin, type Origin } from "../../task/origin.js";
import { isTerminal, mayFollow } from "../../task/state.js";
import { runsOf } from "./attempts.js";
import type { StateChanges } from "./state-changes.js";

/** Maximum bytes of entries per append; a larger entry is appended alone. */
const maxAppendBytes = 512 * 1024;

export interface AppendOptions extends Conditions {
  /** Stores the idempotency key of the send, in the same transaction. */
  readonly send?: IdempotencyKey & { readonly fingerprint: string };
  /** Creates a push configuration for the task, stored in the same transaction. */
  readonly pushConfig?: ((taskId: string) => NewPushConfig) | undefined;
  /** Returns the lease of a message's turn, by its position. It is set if the task has none. */
  readonly lease?: ((position: number) => Lease) | undefined;
  /**
   * True if the agent already runs and its events follow at once: the entry then waits for them, like any part of a
   * burst.
   */
  readonly follows?: boolean;
  /**
   * The lease that the entry depends on, set for all output of an execution. Entries with the same lease share one
   * object.
   */
  readonly fence?: Lease | undefined;
  /** The turn's changes to the state of its conversation, if any: those made so far are stored with the entry. */
  readonly state?: StateChanges | undefined;
}

/** An entry that is accepted but not stored yet. */
export interface Pending {
  readonly draft: Draft;
  readonly options: AppendOptions;
  /** Number of the turn's changes to be stored with it; set when it is accepted, if there are any. */
  changes?: number;
  /** Called when the entry is stored and folded, before the next one is. */
  readonly resolve: (entry: LogEntry) => void;
  readonly reject: (error: unknown) => void;
}

/** Content of one append; the lists have the same order. */
export interface Batch {
  readonly pending: readonly Pending[];
  readonly entries: readonly LogEntry[];
  readonly bytes: readonly Uint8Array[];
}

/** Entries of a task that wait to be stored, in the order of acceptance. */
export class Unstored {
  #queue: Pending[] = [];
  #size = 0;
  #taken = 0;

  get length(): number {
    return this.#queue.length;
  }

  /** Number of entries that no append has taken yet. */
  get waiting(): number {
    return this.#queue.length - this.#taken;
  }

  /** Upper bound of the bytes that they add to the task's size, about the memory they take. */
  get size(): number {
    return this.#size;
  }

  /** Returns all drafts to be stored, in order. */
  drafts(): Draft[] {
    return this.#queue.map(({ draft }) => draft);
  }

  push(pending: Pending): void {
    this.#size += pending.draft.size;
    this.#queue.push(pending);
  }

  takeAll(): Pending[] {
    const all = this.#queue;
    this.#queue = [];
    this.#size = 0;
    this.#taken = 0;
    return all;
  }

  /** Checks all entries again, in order. Those for which `check` throws are rejected with its error. */
  recheck(check: (pending: Pending) => void): void {
    for (const pending of this.takeAll()) {
      try {
        check(pending);
        this.push(pending);
      } catch (error) {
        pending.reject(error);
      }
    }
  }

  /** Removes the entries that depend on the first lease found, and returns them. */
  takeFenced(): Pending[] {
    const all = this.takeAll();
    const fence = all.find(({ options }) => options.fence !== undefined)?.options.fence;
    const taken: Pending[] = [];
    for (const pending of all) {
      if (pending.options.fence === undefined || pending.options.fence !== fence) this.push(pending);
      else taken.push(pending);
    }
    return taken;
  }

  /** Removes the first entry with changes that are not stored, and later ones that depend on a lease; returns them. */
  takeChanging(): Pending[] {
    const taken: Pending[] = [];
    for (const pending of this.takeAll()) {
      const { fence, state } = pending.options;
      const isChanging = state?.isWaiting(pending.changes) === true;
      if (isChanging || (taken.length > 0 && fence !== undefined)) taken.push(pending);
      else this.push(pending);
    }
    return taken;
  }

  /**
   * Returns the next append's batch, positioned after the stored entries, of up to `maxAppendBytes`. A send with an
   * idempotency key or a push configuration is appended alone, since the store may reject it; entries with different
   * leases are never batched. The entries stay here until `drop`.
   * @param writer name of this process; entries without one name no origin
   * @param before origin of the last stored entry, if known
   * @param turn position of the message whose turn entries without a lease end, if known
   */
  next(fold: TaskFold, writer?: string, before?: Origin, turn?: number): Batch {
    let { position, generation } = fold;
    let size = 0;
    let fence: Lease | undefined;
    const entries: LogEntry[] = [];
    const bytes: Uint8Array[] = [];
    let origin = before;
    const alone = needsOwnAppend(this.#queue[0]);
    for (let index = 0; index < this.#queue.length; index++) {
      const pending = defined(this.#queue[index]);
      const { draft, options } = pending;
      const more = index > 0;
      if (more && (alone || needsOwnAppend(pending))) break;
      if (more && fence !== undefined && options.fence !== undefined && options.fence !== fence) break;
      fence ??= options.fence;
      if (more && size + draft.size > maxAppendBytes) break;
      if (countsAsGeneration(draft.event)) generation++;
      const entry = placeDraft(draft, ++position, generation);
      noteChanges(entry, pending);
      noteTurn(entry, options.fence?.turn ?? turn);
      const next = writer === undefined ? origin : noteOrigin(entry, writer, attemptNumber(options), origin);
      const encoded = encodeEntry(entry);
      size += encoded.length;
      if (more && size > maxAppendBytes) break;
      origin = next;
      entries.push(entry);
      bytes.push(encoded);
    }
    this.#taken = entries.length;
    return { pending: this.#queue.slice(0, entries.length), entries, bytes };
  }

  /** Removes the first entries. */
  drop(count: number): void {
    if (count === this.#queue.length) {
      this.takeAll();
      return;
    }
    for (const { draft } of this.#queue.splice(0, count)) this.#size -= draft.size;
    this.#taken = 0;
  }
}

function noteChanges(entry: LogEntry, { options, changes }: Pending): void {
  if (changes === undefined || options.state === undefined) return;
  entry.changes = create(ConversationChangesSchema, { turn: options.state.turn, count: changes });
}

/** Notes the turn of an event, unless the entry names it already. */
function noteTurn(entry: LogEntry, turn: number | undefined): void {
  const { case: kind } = entry.event;
  if (turn === undefined || entry.answers !== 0 || (kind !== "status" && kind !== "artifact")) return;
  entry.turnPosition = turn;
}

/** Returns the number of executions of a lease's turn. A lease whose turn has not started has an attempt below 1. */
function attemptNumber({ fence }: AppendOptions): number {
  return fence === undefined ? 0 : Math.max(0, runsOf(fence));
}

function needsOwnAppend(pending: Pending | undefined): boolean {
  return pending?.options.send !== undefined || pending?.options.pushConfig !== undefined;
}

/**
 * True if further entries are unlikely to follow at once. A burst of events shares one append, which starts in the next
 * event-loop turn, or immediately when the burst ends.
 */
export function endsBurst({ event }: Draft): boolean {
  if (!countsAsGeneration(event)) return true;
  const next = stateAfter(event);
  return next !== undefined && next !== TaskState.WORKING;
}

/** Returns the append request that stores a batch after the task's position `expected`. */
export function appendRequest(before: TaskHead, expected: number, { pending, entries, bytes }: Batch): AppendRequest {
  let { state, statusTime } = before;
  let lease: Lease | undefined;
  let fence: Lease | undefined;
  let position = expected;
  let time = statusTime;
  for (const { draft, options } of pending) {
    position++;
    time = draft.time;
    const next = stateAfter(draft.event);
    if (next !== undefined) {
      state = next;
      statusTime = draft.time;
    }
    if (options.lease !== undefined) lease ??= options.lease(position);
    fence ??= options.fence;
  }
  // Written out because a head is built for every entry: a spread costs several times as much.
  const { taskId, tenant, owner, contextId } = before;
  const generation = entries.at(-1)?.generation ?? 0;
  const head: TaskRow = { taskId, tenant, owner, contextId, state, statusTime, position, generation };
  const { send, pushConfig } = pending[0]?.options ?? {};
  return {
    head,
    expected,
    creates: entries[0]?.event.case === "created",
    entries: bytes,
    fence,
    lease,
    pushConfig: pushConfig?.(taskId),
    time,
    ...(send === undefined ? {} : { send: { ...send, taskId, position: expected + 1 } }),
  };
}

/** Conditions for accepting an entry. They are checked again when another process wrote first. */
interface Conditions {
  /** The task is at this generation and has accepted no message since. */
  readonly ifGeneration?: number | undefined;
  /** Fewer messages than this wait for their turn. */
  readonly maxWaiting?: number;
  /** No message waits for its turn. */
  readonly ifNoneWaits?: boolean;
  /** The task stays within these sizes. If omitted, any size is accepted, as for the end of a task. */
  readonly sizes?: SizeLimits;
}

export type SizeLimits = Pick<Limits, "maxTaskBytes">;

export const artifactSize: { readonly maxBytes: number } = { maxBytes: 256 * 1024 * 1024 };

/** Thrown when an entry is conditional on an empty queue and a message waits. */
export class MessageWaits extends Error {
  override name = "MessageWaits";
}

/** The planned state of a task: the stored entries plus everything accepted since. Drafts are checked against it. */
export class Plan {
  readonly #fold: TaskFold;
  readonly #unstored: Pick<Unstored, "size" | "drafts">;
  #state: TaskState;
  #generation: number;
  /** Number of accepted messages, stored or not. */
  #messages: number;
  /** Number of messages accepted since the last generation. */
  #messagesSince: number;

  /** @param unstored entries accepted since, used for their size only: add them here as well */
  constructor(fold: TaskFold, unstored: Unstored) {
    this.#fold = fold;
    this.#unstored = unstored;
    this.#state = fold.state;
    this.#generation = fold.generation;
    this.#messages = fold.messages.length;
    this.#messagesSince = fold.messagesSince;
  }

  get state(): TaskState {
    return this.#state;
  }

  /**
   * Returns the number of messages that wait after the turn at position `turn`. If it is undefined, the first message
   * will run and is not counted.
   */
  waiting(turn: number | undefined): number {
    const onTheWay = this.#messages - this.#fold.messages.length;
    return turn === undefined ? Math.max(0, onTheWay - 1) : onTheWay + this.#fold.messagesAfter(turn);
  }

  /**
   * Checks a draft and adds it to the plan.
   * @throws A2AError if the state allows no further entry or a condition fails; MessageWaits
   */
  add(draft: Draft, conditions: Conditions, turn: number | undefined): void {
    const { event } = draft;
    const next = stateAfter(event);
    if (event.case === "created" ? this.#state !== TaskState.UNSPECIFIED : this.#state === TaskState.UNSPECIFIED) {
      throw new A2AError("INTERNAL", "Internal error.", {
        cause: new Error('A task must begin with exactly one "created" entry.'),
      });
    }
    this.#check(conditions, turn);
    if (isTerminal(this.#state) || (next !== undefined && event.case === "status" && !mayFollow(this.#state, next))) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The task is over and accepts nothing more.", {
        metadata: { taskId: this.#fold.task.id },
      });
    }
    if (conditions.sizes !== undefined) this.checkSize(draft, conditions.sizes);
    if (next !== undefined) this.#state = next;
    if (event.case === "message") this.#messagesSince++;
    if (event.case === "message" || event.case === "created") this.#messages++;
    if (!countsAsGeneration(event)) return;
    this.#generation++;
    this.#messagesSince = 0;
  }

  /**
   * Rejects a draft that would make the task or one of its artifacts too large. A cheap upper bound accepts nearly all
   * drafts; otherwise the unstored entries are examined, since they may replace artifacts.
   * @throws A2AError TASK_TOO_LARGE
   */
  checkSize(draft: Draft, { maxTaskBytes }: SizeLimits): void {
    const { maxBytes: maxArtifactBytes } = artifactSize;
    const most = this.#fold.size + this.#unstored.size + draft.size;
    if (most <= maxTaskBytes && most <= maxArtifactBytes) return;
    const changed = new Map<string, number>();
    let total = this.#fold.size;
    for (const { event, size } of [...this.#unstored.drafts(), draft]) {
      total += size;
      if (event.case !== "artifact") continue;
      const { artifact, append } = event.value;
      const artifactId = artifact?.artifactId ?? "";
      const before = changed.get(artifactId) ?? this.#fold.artifactSize(artifactId);
      changed.set(artifactId, append ? before + size : size);
      if (!append) total -= before;
    }
    if (total > maxTaskBytes) throw this.#tooLarge("task", "maxTaskBytes", maxTaskBytes);
    if (draft.event.case !== "artifact") return;
    const artifactBytes = changed.get(draft.event.value.artifact?.artifactId ?? "") ?? 0;
    if (artifactBytes > maxArtifactBytes) throw this.#tooLarge("artifact", "maxArtifactBytes", maxArtifactBytes);
  }

  #tooLarge(what: string, limit: "maxTaskBytes" | "maxArtifactBytes", bytes: number): A2AError {
    const message = `The ${what} would be larger than it may be, ${bytes} bytes as JSON.`;
    return new A2AError("TASK_TOO_LARGE", message, {
      metadata: { taskId: this.#fold.task.id, limit, [limit]: String(bytes) },
    });
  }

  #check({ ifGeneration, maxWaiting, ifNoneWaits }: Conditions, turn: number | undefined): void {
    if (ifGeneration !== undefined && (ifGeneration !== this.#generation || this.#messagesSince > 0)) {
      throw this.#elsewhere();
    }
    if (maxWaiting !== undefined && this.waiting(turn) >= maxWaiting && !this.#isFirst(turn)) {
      throw limitReached("maxWaitingTurns", "Too many messages wait for this task.");
    }
    if (ifNoneWaits === true && this.waiting(turn) > 0) throw new MessageWaits();
  }

  /** True if the next message can run without waiting. */
  #isFirst(turn: number | undefined): boolean {
    return turn === undefined && this.#messages === this.#fold.messages.length;
  }

  #elsewhere(): A2AError {
    const [generation, messages] = [String(this.#generation), String(this.#messagesSince)];
    const more = this.#messagesSince > 0 ? " and has accepted a message since" : "";
    return new A2AError("GENERATION_MISMATCH", `The task is at generation ${generation}${more}.`, {
      metadata: { generation, messages },
    });
  }
}
