import { TransientMap } from "../../core/maps.js";
import type { StoreError } from "../task-store.js";
import { MessageBuilder } from "./message.js";

/** A message of this many bytes, or writes, is sent at once instead of at the end of the event loop's turn. */
const FLUSH_BYTES = 1024 * 1024;
const FLUSH_WRITES = 512;

/**
 * A writer thread that has nothing to do gets a message of this many writes at once. It then commits while the event loop handles the
 * other requests of its turn; without that the two threads take turns, and 50 callers have a fifth fewer tasks a second.
 */
const IDLE_FLUSH_WRITES = 24;

/** A caller that waits for a write. */
export interface Caller {
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

/** Writes on their way to the thread and back, answered in the order in which they were sent. */
export class WriteQueue {
  /** Those that were refused meanwhile keep their place among them. */
  readonly #callers: Caller[] = [];
  readonly outgoing: MessageBuilder = new MessageBuilder();
  /** Writes that are not sent yet, by their callers at the end of the list. */
  #unsent = 0;

  /** The callers that wait for an answer, in the order of their writes. */
  get callers(): readonly Caller[] {
    return this.#callers;
  }

  /** Whether the unsent writes are enough for a message. */
  get isFull(): boolean {
    const isThreadIdle = this.#unsent === this.#callers.length;
    return this.outgoing.size >= FLUSH_BYTES || this.#unsent >= (isThreadIdle ? IDLE_FLUSH_WRITES : FLUSH_WRITES);
  }

  push(caller: Caller): void {
    this.#unsent += 1;
    this.#callers.push(caller);
  }

  /** Notes that all writes are sent; returns how many were not before. */
  markSent(): number {
    const unsent = this.#unsent;
    this.#unsent = 0;
    return unsent;
  }

  /** Takes the callers of the first writes out, which are answered. */
  takeAnswered(count: number): Caller[] {
    return this.#callers.splice(0, count);
  }

  /** Takes the callers of what could not be sent. */
  takeUnsent(count: number): Caller[] {
    return this.#callers.splice(-count);
  }

  /** Takes all callers out, and forgets what is not sent. */
  takeAll(): Caller[] {
    this.outgoing.take();
    this.#unsent = 0;
    return this.#callers.splice(0);
  }
}

/** Bulk writes, and which tasks they are of: what follows them on the same task must not overtake them. */
export class BulkQueue extends WriteQueue {
  /** In the order of the callers. */
  #tasks: string[] = [];
  readonly #counts = new TransientMap<number>();

  /** Whether there is a write of this task that is not answered. */
  has(taskId: string): boolean {
    return this.#tasks.length > 0 && this.#counts.has(taskId);
  }

  pushOf(taskId: string, caller: Caller): void {
    this.#tasks.push(taskId);
    this.#counts.set(taskId, (this.#counts.get(taskId) ?? 0) + 1);
    this.push(caller);
  }

  override takeAnswered(count: number): Caller[] {
    for (const taskId of this.#tasks.splice(0, count)) this.#forget(taskId);
    return super.takeAnswered(count);
  }

  override takeUnsent(count: number): Caller[] {
    for (const taskId of this.#tasks.splice(-count)) this.#forget(taskId);
    return super.takeUnsent(count);
  }

  override takeAll(): Caller[] {
    for (const taskId of this.#tasks.splice(0)) this.#forget(taskId);
    return super.takeAll();
  }

  #forget(taskId: string): void {
    const count = this.#counts.get(taskId) ?? 0;
    if (count > 1) this.#counts.set(taskId, count - 1);
    else this.#counts.delete(taskId);
  }
}
