import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { A2AError, limitReached } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type {
  AppendRequest,
  Fence,
  IdempotencyKey,
  Lease,
  NewPushConfig,
  TaskHead,
  TaskRow,
} from "../../store/task-store.js";
import { countsAsGeneration, type Draft, encodeEntry, placeDraft, stateAfter } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { isTerminal, mayFollow } from "../../task/state.js";

/** Bytes of entries that one append has at most; an entry that is larger goes alone. */
const maxAppendBytes = 512 * 1024;

/** What may come with an append. */
export interface AppendOptions extends Conditions {
  /** Remembers the send that caused it, in the same transaction. */
  readonly send?: IdempotencyKey & { readonly fingerprint: string };
  /** Makes a push configuration for the task, which is stored in the same transaction. */
  readonly pushConfig?: ((taskId: string) => NewPushConfig) | undefined;
  /** The lease that a message wants for its turn, by its position: it is taken when the task has none. */
  readonly lease?: ((position: number) => Lease) | undefined;
  /** The agent runs already and its events follow at once, so the entry waits for them as any part of a burst does. */
  readonly follows?: boolean;
  /** The lease that the entry relies on, as all that an execution yields does; one object for all that rely on it. */
  readonly fence?: Fence | undefined;
}

/** An entry that was accepted and is not stored yet. */
export interface Pending {
  readonly draft: Draft;
  readonly options: AppendOptions;
  /** Called when the entry is stored and folded, before the next one is. */
  readonly resolve: (entry: LogEntry) => void;
  readonly reject: (error: unknown) => void;
}

/** What one append stores, each list in the same order. */
export interface Batch {
  readonly pending: readonly Pending[];
  readonly entries: readonly LogEntry[];
  readonly bytes: readonly Uint8Array[];
}

/** The entries of a task that wait to be stored, in the order in which they were accepted. */
export class Unstored {
  #queue: Pending[] = [];
  #size = 0;
  #taken = 0;

  get length(): number {
    return this.#queue.length;
  }

  /** How many of them no append has taken yet. */
  get waiting(): number {
    return this.#queue.length - this.#taken;
  }

  /** What they add to the size of the task, at most: about as many bytes as they take in memory. */
  get size(): number {
    return this.#size;
  }

  /** What is to be stored, in order. */
  drafts(): Draft[] {
    return this.#queue.map(({ draft }) => draft);
  }

  push(pending: Pending): void {
    this.#size += pending.draft.size;
    this.#queue.push(pending);
  }

  /** Takes all of them out. */
  takeAll(): Pending[] {
    const all = this.#queue;
    this.#queue = [];
    this.#size = 0;
    this.#taken = 0;
    return all;
  }

  /** Checks all of them once more, in order. Those for which `check` throws are refused with its error. */
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

  /** Takes out those that rely on the same lease as the first one that relies on any. */
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

  /**
   * Those that the next append stores, placed behind what is stored: up to `maxAppendBytes`, but a remembered send, and
   * one with a push configuration, alone, since nothing else may be refused together with it, as may what relies on another lease. They stay here until `drop`.
   */
  next(fold: TaskFold): Batch {
    let { position, generation } = fold;
    let size = 0;
    let fence: Fence | undefined;
    const entries: LogEntry[] = [];
    const bytes: Uint8Array[] = [];
    const alone = goesAlone(this.#queue[0]);
    for (let index = 0; index < this.#queue.length; index++) {
      const { draft, options } = this.#queue[index] as Pending;
      const more = index > 0;
      if (more && (alone || goesAlone(this.#queue[index]))) break;
      if (more && fence !== undefined && options.fence !== undefined && options.fence !== fence) break;
      fence ??= options.fence;
      if (more && size + draft.size > maxAppendBytes) break;
      if (countsAsGeneration(draft.event)) generation++;
      const entry = placeDraft(draft, ++position, generation);
      const encoded = encodeEntry(entry);
      size += encoded.length;
      if (more && size > maxAppendBytes) break;
      entries.push(entry);
      bytes.push(encoded);
    }
    this.#taken = entries.length;
    return { pending: this.#queue.slice(0, entries.length), entries, bytes };
  }

  /** Forgets the first ones. */
  drop(count: number): void {
    if (count === this.#queue.length) {
      this.takeAll();
      return;
    }
    for (const { draft } of this.#queue.splice(0, count)) this.#size -= draft.size;
    this.#taken = 0;
  }
}

function goesAlone(pending: Pending | undefined): boolean {
  return pending?.options.send !== undefined || pending?.options.pushConfig !== undefined;
}

/**
 * Whether nothing is likely to follow an entry at once. A burst of events goes into one append: that begins with the next
 * round of the event loop, but at once when the burst ends.
 */
export function endsBurst({ event }: Draft): boolean {
  if (!countsAsGeneration(event)) return true;
  const next = stateAfter(event);
  return next !== undefined && next !== TaskState.WORKING;
}

/** The append that stores a batch behind the position `expected` of a task. */
export function appendRequest(before: TaskHead, expected: number, { pending, entries, bytes }: Batch): AppendRequest {
  let { state, statusTime } = before;
  let lease: Lease | undefined;
  let fence: Fence | undefined;
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
  // Written out, as heads are made for every entry: a spread costs several times as much.
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

/** The conditions on which an entry is accepted; all are checked again when another process wrote first. */
export interface Conditions {
  /** The task is at this generation, and no message was accepted since. */
  readonly ifGeneration?: number | undefined;
  /** Fewer messages than this wait for their turn. */
  readonly maxWaiting?: number;
  /** No message waits for its turn. */
  readonly ifNoneWaits?: boolean;
  /** The task stays within these sizes. Without them it always fits: the end of a task has to. */
  readonly sizes?: SizeLimits;
}

/** How large a task and an artifact may become. */
export type SizeLimits = Pick<Limits, "maxTaskBytes" | "maxArtifactBytes">;

/** An entry was to be accepted only if no message waits, and one does. */
export class MessageWaits extends Error {
  override name = "MessageWaits";
}

/** What the task is planned to be: as stored, and with everything that was accepted since. Drafts are judged by it. */
export class Plan {
  readonly #fold: TaskFold;
  readonly #unstored: Pick<Unstored, "size" | "drafts">;
  #state: TaskState;
  #generation: number;
  /** Accepted messages, stored or not. */
  #messages: number;
  /** Those of them that came after the entry of the generation. */
  #messagesSince: number;

  /** @param unstored what was accepted since, for its size alone: it is to be added here as well */
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

  /** How many messages wait behind a turn, at position `turn`; undefined when none is at work: the first will be. */
  waiting(turn: number | undefined): number {
    const onTheWay = this.#messages - this.#fold.messages.length;
    return turn === undefined ? Math.max(0, onTheWay - 1) : onTheWay + this.#fold.messagesAfter(turn);
  }

  /**
   * Judges a draft and plans it.
   * @throws A2AError when nothing may follow the state, or a condition does not hold; MessageWaits.
   */
  add(draft: Draft, conditions: Conditions, turn: number | undefined): void {
    const { event } = draft;
    const next = stateAfter(event);
    if (event.case === "created" ? this.#state !== TaskState.UNSPECIFIED : this.#state === TaskState.UNSPECIFIED) {
      throw new A2AError("INTERNAL", "Internal error.", {
        cause: new Error("A task begins with being created, once."),
      });
    }
    this.#check(conditions, turn);
    if (isTerminal(this.#state) || (next !== undefined && event.case === "status" && !mayFollow(this.#state, next))) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The task is over and accepts nothing any more.", {
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
   * Refuses what would make the task, or one of its artifacts, too large. Nearly all are far from that, which is seen
   * at once; otherwise what is on the way is looked at, which may replace what is there.
   * @throws A2AError TASK_TOO_LARGE
   */
  checkSize(draft: Draft, { maxTaskBytes, maxArtifactBytes }: SizeLimits): void {
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
    const weight = changed.get(draft.event.value.artifact?.artifactId ?? "") ?? 0;
    if (weight > maxArtifactBytes) throw this.#tooLarge("artifact", "maxArtifactBytes", maxArtifactBytes);
  }

  #tooLarge(what: string, limit: string, bytes: number): A2AError {
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

  /** Whether the next message need not wait at all. */
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
