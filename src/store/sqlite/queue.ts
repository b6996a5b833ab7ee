import { decrement, increment, TransientMap } from "../../core/maps.js";
import type { StoreError } from "../task-store.js";
import { MessageBuilder } from "./write-codec.js";

/** A message of this many bytes or writes is sent at once instead of at the end of the event loop iteration. */
const FLUSH_BYTES = 1024 * 1024;
const FLUSH_WRITES = 512;

/**
 * An idle writer thread gets a message at this many writes. It then commits while the event loop handles other
 * requests; otherwise the two threads take turns, and 50 callers create a fifth fewer tasks per second.
 */
const IDLE_FLUSH_WRITES = 24;

/** A caller that waits for a write. */
export interface Caller {
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

/** Writes on their way to the thread and back, answered in the order in which they were sent. */
export class WriteQueue {
  /** Callers whose writes were rejected meanwhile keep their position. */
  readonly #callers: Caller[] = [];
  readonly outgoing: MessageBuilder = new MessageBuilder();
  /** Number of unsent writes; their callers are the last of the list. */
  #unsent = 0;

  /** The callers that wait for an answer, in the order of their writes. */
  get callers(): readonly Caller[] {
    return this.#callers;
  }

  /** True if the unsent writes are enough for a message. */
  get isFull(): boolean {
    const isThreadIdle = this.#unsent === this.#callers.length;
    return this.outgoing.size >= FLUSH_BYTES || this.#unsent >= (isThreadIdle ? IDLE_FLUSH_WRITES : FLUSH_WRITES);
  }

  push(caller: Caller): void {
    this.#unsent += 1;
    this.#callers.push(caller);
  }

  /** Marks all writes as sent; returns how many were not before. */
  markSent(): number {
    const unsent = this.#unsent;
    this.#unsent = 0;
    return unsent;
  }

  /** Removes and returns the callers of the first writes, which are answered. */
  takeAnswered(count: number): Caller[] {
    return this.#callers.splice(0, count);
  }

  /** Removes and returns the callers of writes that could not be sent. */
  takeUnsent(count: number): Caller[] {
    return this.#callers.splice(-count);
  }

  /** Removes and returns all callers, and drops unsent writes. */
  takeAll(): Caller[] {
    this.outgoing.take();
    this.#unsent = 0;
    return this.#callers.splice(0);
  }
}

/** Bulk writes and their tasks: later writes of the same task must not overtake them. */
export class BulkQueue extends WriteQueue {
  /** In the order of the callers. */
  #tasks: string[] = [];
  readonly #counts = new TransientMap<number>();

  /** True if a write of this task is unanswered. */
  has(taskId: string): boolean {
    return this.#tasks.length > 0 && this.#counts.has(taskId);
  }

  pushOf(taskId: string, caller: Caller): void {
    this.#tasks.push(taskId);
    increment(this.#counts, taskId);
    this.push(caller);
  }

  override takeAnswered(count: number): Caller[] {
    for (const taskId of this.#tasks.splice(0, count)) decrement(this.#counts, taskId);
    return super.takeAnswered(count);
  }

  override takeUnsent(count: number): Caller[] {
    for (const taskId of this.#tasks.splice(-count)) decrement(this.#counts, taskId);
    return super.takeUnsent(count);
  }

  override takeAll(): Caller[] {
    for (const taskId of this.#tasks.splice(0)) decrement(this.#counts, taskId);
    return super.takeAll();
  }
}
