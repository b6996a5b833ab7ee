import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { A2AError } from "../core/error.js";
import { nextRound } from "../core/next-round.js";
import { type Lease, type SendKey, StoreError, type TaskHead, type TaskStore } from "../store/task-store.js";
import {
  countsAsGeneration,
  type Draft,
  decodeEntry,
  encodeEntry,
  millisOf,
  placeDraft,
  stateAfter,
} from "../task/entry.js";
import { encodeSnapshot, type TaskFold } from "../task/fold.js";
import { endsBlockingSend, isTerminal, mayFollow } from "../task/state.js";
import { Pages } from "./pages.js";
import { Tail } from "./tail.js";

/** Entries between the first snapshot and the start; later ones come at doubled distance. */
const firstSnapshotAfter = 64;

/** How often an append is tried again because another process wrote first. */
const maxConflicts = 8;

/** What may come with an append. */
export interface AppendOptions {
  /** Remembers the send that caused it, in the same transaction. */
  readonly send?: SendKey & { readonly fingerprint: string };
  /** The lease after it, by the entry's position and the lease before it; undefined leaves it as it is. */
  readonly lease?: ((position: number, before: Lease | null) => Lease | null) | undefined;
  /** Refuses the append unless the task is at this generation. */
  readonly ifGeneration?: number | undefined;
  /** Runs when the entry is stored and folded, before the next one is: what it reads is the task at that entry. */
  readonly onStored?: ((entry: LogEntry) => void) | undefined;
}

interface Pending {
  readonly draft: Draft;
  readonly options: AppendOptions;
  readonly resolve: (entry: LogEntry) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The one writer of a task in this process, and what its readers read.
 *
 * Persist, then publish: an entry is folded, and shown to readers, only when the store has it for good. At most one
 * append of a task is under way; what arrives meanwhile goes into the next one, so a fast agent shares commits with
 * itself as it does with other tasks.
 */
export class TaskLog {
  /** The task as stored. */
  readonly fold: TaskFold;
  /** The newest entries, for readers that keep up. */
  readonly tail: Tail;
  /** Position of the message whose turn is being executed, or was last, in this process. */
  turn = 0;
  /** Up to this position messages have had their turn come to rest, which lets blocking sends of them return. */
  settledTurn: number;
  /** How many hold on to this log: readers, executions, calls. The engine forgets a log that nobody holds. */
  holds = 0;
  /** Messages that were accepted for the task and are not stored yet. */
  messagesOnTheWay = 0;
  /** Whether an execution of the task lives or waits in this process. */
  busy = false;

  readonly #store: TaskStore;
  #head: TaskHead;
  #planned: { state: TaskState; generation: number };
  #queue: Pending[] = [];
  #writing = false;
  #snapshotAt: number;
  #savingSnapshot = false;
  #room: (() => void)[] = [];
  #idle: (() => void)[] = [];
  #waiters = new Set<() => void>();
  #pages: Pages | undefined;

  constructor(options: { store: TaskStore; head: TaskHead; fold: TaskFold; snapshotAt: number }) {
    this.#store = options.store;
    this.#head = options.head;
    this.fold = options.fold;
    this.#snapshotAt = options.snapshotAt;
    this.#planned = { state: options.fold.state, generation: options.fold.generation };
    this.tail = new Tail(options.fold.position);
    this.settledTurn = endsBlockingSend(options.fold.state) ? options.fold.statusPosition : 0;
  }

  get taskId(): string {
    return this.#head.taskId;
  }

  /** The head as stored, with the lease as last set. */
  get head(): TaskHead {
    return this.#head;
  }

  /** State after everything that was accepted, stored or not: what the state table judges by. */
  get plannedState(): TaskState {
    return this.#planned.state;
  }

  /** What the tail has no more, from the store. */
  get pages(): Pages {
    this.#pages ??= new Pages(this.#store, this.taskId);
    return this.#pages;
  }

  /** How many accepted entries are not stored yet. */
  get unstored(): number {
    return this.#queue.length;
  }

  /**
   * Accepts an entry and resolves when it is stored. Entries are stored in the order of the calls.
   * @throws A2AError when nothing may follow the task's state, or a precondition does not hold; StoreError
   * `duplicate` when the send is remembered already.
   */
  append(draft: Draft, options: AppendOptions = {}): Promise<LogEntry> {
    try {
      this.#plan(draft, options);
    } catch (error) {
      return Promise.reject(error);
    }
    const stored = new Promise<LogEntry>((resolve, reject) => {
      this.#queue.push({ draft, options, resolve, reject });
      if (!this.#writing) this.#schedule(draft);
    });
    if (draft.event.case === "message") this.#countUntil(stored);
    return stored;
  }

  #countUntil(stored: Promise<unknown>): void {
    this.messagesOnTheWay++;
    const here = (): void => {
      this.messagesOnTheWay--;
    };
    stored.then(here, here);
  }

  /**
   * A burst of events goes into one append: it begins with the next round of the event loop, or at once when an
   * entry came that nothing is likely to follow.
   */
  #schedule(draft: Draft): void {
    const next = stateAfter(draft.event);
    const last = countsAsGeneration(draft.event) ? next !== undefined && next !== TaskState.WORKING : true;
    if (last) queueMicrotask(() => this.run());
    else if (this.#queue.length === 1) nextRound(this);
  }

  /** Begins to write what waits. */
  run(): void {
    if (!this.#writing && this.#queue.length > 0) void this.#write();
  }

  /** Whether nothing is on its way to the store. */
  get quiet(): boolean {
    return !this.#writing && this.#queue.length === 0;
  }

  /** Resolves when fewer than `limit` entries wait to be stored. */
  async room(limit: number): Promise<void> {
    while (this.#queue.length >= limit) await new Promise<void>((resolve) => this.#room.push(resolve));
  }

  /** Resolves when everything accepted so far is stored, or was given up. */
  async stored(): Promise<void> {
    while (this.#writing || this.#queue.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Sets or ends the lease without an entry. */
  async setLease(holder: string, lease: Lease | null): Promise<void> {
    this.#head = { ...this.#head, lease };
    await this.#store.setLease({ taskId: this.taskId, holder, lease });
  }

  /** Notes that the store prolongs the lease: the next entry is stored together with the lease as it is known here. */
  noteRenewal(until: number): void {
    const { lease } = this.#head;
    if (lease !== null) this.#head = { ...this.#head, lease: { ...lease, until } };
  }

  /** Calls back once, at the next entry or at `wake`. The result takes the wish back. */
  onChange(callback: () => void): () => void {
    this.#waiters.add(callback);
    return () => this.#waiters.delete(callback);
  }

  /** Resolves at the next entry or at `wake`. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.onChange(resolve));
  }

  /** Lets every waiting reader look again. */
  wake(): void {
    if (this.#waiters.size === 0) return;
    const waiters = this.#waiters;
    // Not clear(): V8 would let the table of every wake refer to the next one's (see core/transient.ts).
    this.#waiters = new Set();
    for (const waiter of waiters) waiter();
  }

  /** Whether the store has the task; retention removes it when it is over. */
  async isStored(): Promise<boolean> {
    return (await this.#store.head({ taskId: this.taskId })) !== undefined;
  }

  /** Takes over what other processes appended meanwhile, while nothing of this one is on its way. */
  async catchUp(): Promise<void> {
    if (!this.quiet) return;
    await this.refresh();
    if (this.quiet) this.#planned = { state: this.fold.state, generation: this.fold.generation };
  }

  /** Takes over what other processes appended meanwhile. */
  async refresh(): Promise<void> {
    for (;;) {
      const before = this.fold.position;
      for (const bytes of await this.#store.read({ taskId: this.taskId, after: before, limit: 1_000 })) {
        const entry = decodeEntry(bytes);
        // What was published meanwhile is known already.
        if (entry.position === this.fold.position + 1) this.#publish(entry, bytes.length);
      }
      if (this.fold.position === before) break;
      this.wake();
    }
    const head = await this.#store.head({ taskId: this.taskId });
    if (head !== undefined) this.#head = head;
  }

  /** Judges a draft by what is planned so far, and plans it. */
  #plan(draft: Draft, options: AppendOptions): void {
    const { state, generation } = this.#planned;
    if (options.ifGeneration !== undefined && options.ifGeneration !== generation) {
      throw new A2AError("GENERATION_MISMATCH", `The task is at generation ${generation}.`, {
        metadata: { generation: String(generation) },
      });
    }
    const next = stateAfter(draft.event);
    if (isTerminal(state) || (next !== undefined && draft.event.case === "status" && !mayFollow(state, next))) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The task is over and accepts nothing any more.", {
        metadata: { taskId: this.taskId },
      });
    }
    this.#planned = { state: next ?? state, generation: generation + (countsAsGeneration(draft.event) ? 1 : 0) };
  }

  async #write(): Promise<void> {
    this.#writing = true;
    let conflicts = 0;
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        await this.#store.append(this.#request(batch));
        conflicts = 0;
        this.#stored(batch);
      } catch (error) {
        if (isConflict(error) && ++conflicts <= maxConflicts) await this.#retry(batch, error);
        else this.#failed(batch, error);
      }
    }
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Everything that waits, but a remembered send alone: when it is refused, nothing else may be. */
  #takeBatch(): Pending[] {
    const next = this.#queue.findIndex((pending, index) => index > 0 && pending.options.send !== undefined);
    const first = this.#queue[0]?.options.send === undefined ? next : 1;
    return this.#queue.splice(0, first === -1 ? this.#queue.length : first);
  }

  #entries: LogEntry[] = [];
  #bytes: Uint8Array[] = [];

  #request(batch: readonly Pending[]): Parameters<TaskStore["append"]>[0] {
    const expected = this.fold.position;
    let { state, statusTime, generation, lease } = this.#head;
    let position = expected;
    this.#entries = [];
    for (const { draft, options } of batch) {
      position++;
      if (countsAsGeneration(draft.event)) generation++;
      const next = stateAfter(draft.event);
      if (next !== undefined) {
        state = next;
        statusTime = draft.time;
      }
      if (options.lease !== undefined) lease = options.lease(position, lease);
      this.#entries.push(placeDraft(draft, position, generation));
    }
    this.#bytes = this.#entries.map(encodeEntry);
    if (lease !== this.#head.lease) this.#head = { ...this.#head, lease };
    // Written out, as heads are made for every entry: a spread costs several times as much.
    const { taskId, tenant, owner, contextId } = this.#head;
    const head: TaskHead = { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
    const send = batch[0]?.options.send;
    return {
      head,
      expected,
      entries: this.#bytes,
      ...(send === undefined ? {} : { send: { ...send, taskId: this.taskId, position: expected + 1 } }),
    };
  }

  #stored(batch: readonly Pending[]): void {
    const entries = this.#entries;
    const bytes = this.#bytes;
    batch.forEach((pending, index) => {
      const entry = entries[index];
      if (entry === undefined) return;
      this.#publish(entry, bytes[index]?.length ?? 0);
      pending.options.onStored?.(entry);
      pending.resolve(entry);
    });
    this.wake();
    for (const resolve of this.#room.splice(0)) resolve();
    this.#considerSnapshot();
  }

  #publish(entry: LogEntry, size: number): void {
    this.fold.apply(entry, size);
    this.tail.push(entry, size);
    const state = stateAfter(entry.event);
    const before = this.#head;
    const { taskId, tenant, owner, contextId, lease } = before;
    const { position, generation } = entry;
    const statusTime = state === undefined ? before.statusTime : millisOf(entry.time);
    const now = state ?? before.state;
    this.#head = { taskId, tenant, owner, contextId, state: now, statusTime, position, generation, lease };
    // A pause is that of the turn at work; messages behind it wait for their own. The end is everybody's.
    if (state !== undefined && endsBlockingSend(state)) {
      this.settledTurn = this.busy && !isTerminal(state) ? this.turn : entry.position;
    }
  }

  /** Another process wrote first: take its entries over, then judge what waits once more. */
  async #retry(batch: readonly Pending[], cause: unknown): Promise<void> {
    try {
      await this.refresh();
    } catch {
      return this.#failed(batch, cause);
    }
    const waiting = [...batch, ...this.#queue];
    this.#queue = [];
    this.#planned = { state: this.fold.state, generation: this.fold.generation };
    for (const pending of waiting) {
      try {
        this.#plan(pending.draft, pending.options);
        this.#queue.push(pending);
      } catch (error) {
        pending.reject(error);
      }
    }
  }

  /** A refused send takes nothing with it; trouble with the store takes everything that waits. */
  #failed(batch: readonly Pending[], error: unknown): void {
    const refused = error instanceof StoreError && error.kind === "duplicate";
    const lost = refused ? batch : [...batch, ...this.#queue.splice(0)];
    const reason = refused ? error : unavailable(error);
    this.#planned = { state: this.fold.state, generation: this.fold.generation };
    const waiting = this.#queue;
    this.#queue = [];
    for (const pending of lost) pending.reject(reason);
    for (const pending of waiting) {
      try {
        this.#plan(pending.draft, pending.options);
        this.#queue.push(pending);
      } catch (problem) {
        pending.reject(problem);
      }
    }
    for (const resolve of this.#room.splice(0)) resolve();
  }

  /** Snapshots come at geometric distances, and where a task pauses or ends after enough entries. */
  #considerSnapshot(): void {
    const since = this.fold.position - this.#snapshotAt;
    const distance = endsBlockingSend(this.fold.state) ? this.#snapshotAt / 4 : this.#snapshotAt;
    if (this.#savingSnapshot || since < Math.max(firstSnapshotAfter, distance)) return;
    this.#savingSnapshot = true;
    this.#snapshotAt = this.fold.position;
    const snapshot = { position: this.fold.position, bytes: encodeSnapshot(this.fold) };
    // A snapshot that could not be kept costs time, never an entry.
    const done = (): void => {
      this.#savingSnapshot = false;
    };
    this.#store.saveSnapshot({ taskId: this.taskId, snapshot }).then(done, done);
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && (error.kind === "conflict" || error.kind === "finished");
}

/** Trouble with the store as callers may see it. */
export function unavailable(cause: unknown): A2AError {
  return new A2AError("UNAVAILABLE", "The task store is not available.", { cause, retryAfterMs: 1_000 });
}
