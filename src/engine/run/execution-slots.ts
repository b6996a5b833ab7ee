import type { SharedHold } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import { type Limits, withinHeap } from "../../core/limits.js";
import { SharedCount } from "../../signals/shared-count.js";
import type { SignalMember } from "../../signals/signals.js";
import type { QuotaScope } from "../quota-scope.js";

/** Usage of one owner: under one tenant, or under all of them if callers may name any. */
export class OwnerSlots {
  /** Unique name of owner and tenant. */
  readonly key: string;
  /** Running executions, and agents that may reply directly. */
  running = 0;
  waitingBytes = 0;
  readonly waiting: Set<ExecutionSlot> = new Set();
  /** Number of tasks it may still create before its open tasks are counted again. */
  tasksLeft = 0;
  /** Tasks being created. */
  creating = 0;
  /** Pending count of its open tasks. */
  counting: Promise<void> | undefined;
  /** End of its rejection for too many open tasks, by `performance.now()`. */
  fullUntil = 0;

  constructor(key: string) {
    this.key = key;
  }
}

/** The slot of an execution: running or queued. */
export class ExecutionSlot {
  readonly owner: OwnerSlots;
  /** Bytes of the waiting message. */
  readonly bytes: number;
  /** When the execution began or was queued, by `performance.now()`. */
  readonly began: number = performance.now();
  isHeld = false;
  isOver = false;
  /** Memory of the message that started the execution. */
  held: SharedHold | undefined;
  /** Called once when a queued slot becomes held. */
  whenHeld: (() => void) | undefined;
  /** Called when the queue stops. */
  whenStopped: (() => void) | undefined;

  constructor(owner: OwnerSlots, bytes = 0) {
    this.owner = owner;
    this.bytes = bytes;
  }
}

type SlotLimits = Pick<
  Limits,
  "maxExecutions" | "maxExecutionsPerOwner" | "maxQueuedExecutions" | "maxQueuedExecutionsPerOwner"
>;

/**
 * Size of the messages in the queue as JSON; one owner may use half. One more small message of each owner may wait.
 */
export const queuedMessages: { readonly maxBytes: number } = { maxBytes: withinHeap(256 * 1024 * 1024, 8) };

/** Number of idle owners remembered before they are removed. */
const MAX_IDLE = 4_096;

/**
 * Limits concurrent executions, in total and per owner, with a bounded queue. The next free slot goes to the owner that
 * has waited longest for one, however much others have sent, and within an owner to the oldest message. An execution
 * that does not wait costs two counters.
 *
 * An owner's executions in other processes count as well. Each process may still run one execution of each owner, so
 * that its queue never stalls.
 */
export class ExecutionSlots {
  readonly #limits: SlotLimits;
  readonly #quotaScope: QuotaScope;
  #owners = new Map<string, OwnerSlots>();
  #mostOwners = MAX_IDLE;
  #running = 0;
  #waiting = 0;
  #waitingBytes = 0;
  #isStopped = false;
  /** Owners whose next queued execution may start, in the order of their turns. */
  readonly #turns = new Set<OwnerSlots>();
  #lastTenant = "";
  #lastName = "";
  #last: OwnerSlots | undefined;

  readonly #counts: SharedCount<OwnerSlots>;

  /** @param signals to count the executions of all processes that share the store */
  constructor(limits: SlotLimits, quotaScope: QuotaScope, signals?: SignalMember) {
    this.#limits = limits;
    this.#quotaScope = quotaScope;
    this.#counts = new SharedCount({
      ...{ signals, topic: "executions", max: limits.maxExecutionsPerOwner },
      countOf: ({ running }) => running,
      changed: () => this.#serveAll(),
    });
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Returns an owner's usage. Do not keep the result: idle owners are removed. */
  of(tenant: string, owner: string): OwnerSlots {
    if (this.#last !== undefined && tenant === this.#lastTenant && owner === this.#lastName) return this.#last;
    const countedTenant = this.#quotaScope(tenant, owner);
    const key = countedTenant === undefined ? `:${owner}` : `${countedTenant.length}:${countedTenant}${owner}`;
    let slots = this.#owners.get(key);
    if (slots === undefined) {
      slots = new OwnerSlots(key);
      this.#owners.set(key, slots);
      if (this.#owners.size > this.#mostOwners) this.#forgetIdle(slots);
    }
    this.#lastTenant = tenant;
    this.#lastName = owner;
    this.#last = slots;
    return slots;
  }

  /** Takes a running slot if one is free and none of the owner's executions wait. Return it with `release`. */
  tryTake(owner: OwnerSlots): boolean {
    if (this.#running >= this.#limits.maxExecutions || owner.waiting.size > 0 || this.#isFull(owner)) return false;
    this.#run(owner);
    return true;
  }

  /** Frees a running slot, which the next queued execution takes. */
  release(owner: OwnerSlots): void {
    this.#running--;
    owner.running--;
    if (this.#waiting > 0) this.#serve(owner);
  }

  /**
   * Returns a slot for an execution: held at once, or queued.
   *
   * @param bytes size of the message if it has to wait
   * @throws A2AError TOO_MANY_REQUESTS if the queue is full
   */
  enter(owner: OwnerSlots, bytes: number): ExecutionSlot {
    const slot = new ExecutionSlot(owner, bytes);
    if (this.tryTake(owner)) slot.isHeld = true;
    else {
      this.checkCapacity(owner, bytes);
      this.#enqueue(slot);
    }
    return slot;
  }

  /** Returns a slot for an accepted message, which is queued even if the queue is full. */
  enterAccepted(owner: OwnerSlots): ExecutionSlot {
    const slot = new ExecutionSlot(owner);
    if (this.tryTake(owner)) slot.isHeld = true;
    else this.#enqueue(slot);
    return slot;
  }

  /** Returns the slot of an execution whose agent already runs in a slot taken by `tryTake`. */
  adopt(owner: OwnerSlots): ExecutionSlot {
    const slot = new ExecutionSlot(owner);
    slot.isHeld = true;
    return slot;
  }

  /** Releases a held or queued slot. Calling it again does nothing. */
  detach(slot: ExecutionSlot): void {
    if (slot.isOver) return;
    slot.isOver = true;
    slot.whenHeld = undefined;
    slot.held?.release();
    if (slot.isHeld) this.release(slot.owner);
    else this.#dequeue(slot);
  }

  /**
   * Rejects a message if no slot is free and the queue is full.
   *
   * @throws A2AError TOO_MANY_REQUESTS
   */
  checkCapacity(owner: OwnerSlots, bytes = 0): void {
    const { maxExecutions, maxQueuedExecutions, maxQueuedExecutionsPerOwner } = this.#limits;
    if (owner.waiting.size === 0 && this.#running < maxExecutions && !this.#isFull(owner)) return;
    if (owner.waiting.size >= maxQueuedExecutionsPerOwner) {
      const message = `${maxQueuedExecutionsPerOwner} tasks of this caller wait for their turn.`;
      throw limitReached("maxQueuedExecutionsPerOwner", message);
    }
    if (this.#waiting >= maxQueuedExecutions) {
      throw limitReached("maxQueuedExecutions", `${maxQueuedExecutions} tasks wait for their turn.`);
    }
    const { maxBytes } = queuedMessages;
    const isTooMuch = this.#waitingBytes + bytes > maxBytes || owner.waitingBytes + bytes > maxBytes / 2;
    // An owner's first message may wait if it is small, however many owners there are, or if nothing else waits.
    const isFirst = owner.waiting.size === 0 && bytes <= maxBytes / maxQueuedExecutions;
    const fits = owner.waiting.size === 0 && this.#waitingBytes + bytes <= maxBytes;
    if (isTooMuch && !isFirst && !fits && this.#waiting > 0) {
      throw limitReached("maxQueuedBytes", "The messages that wait for their turn are too large.");
    }
  }

  /** Starts nothing from the queue any more, because the server shuts down. */
  stop(): void {
    this.#isStopped = true;
    for (const { waiting } of this.#owners.values()) for (const slot of waiting) slot.whenStopped?.();
  }

  #enqueue(slot: ExecutionSlot): void {
    const { owner, bytes } = slot;
    owner.waiting.add(slot);
    owner.waitingBytes += bytes;
    this.#waiting++;
    this.#waitingBytes += bytes;
    if (!this.#isFull(owner)) this.#turns.add(owner);
  }

  #dequeue(slot: ExecutionSlot): void {
    const { owner, bytes } = slot;
    if (!owner.waiting.delete(slot)) return;
    owner.waitingBytes -= bytes;
    this.#waiting--;
    this.#waitingBytes -= bytes;
    if (owner.waiting.size === 0) this.#turns.delete(owner);
  }

  #isFull(owner: OwnerSlots): boolean {
    const { maxExecutionsPerOwner: max } = this.#limits;
    const { running } = owner;
    if (running >= max) return true;
    return running > 0 && !this.#counts.isAlone && running + this.#counts.elsewhere(owner.key) >= max;
  }

  #run(owner: OwnerSlots): void {
    this.#running++;
    if (++owner.running > this.#counts.publishAbove) this.#counts.publish(owner.key, owner);
  }

  /** Assigns slots that other processes may have freed. */
  #serveAll(): void {
    if (this.#waiting === 0) return;
    for (const owner of this.#owners.values()) if (owner.waiting.size > 0) this.#serve(owner);
  }

  /**
   * Assigns free slots to queued executions. @param freed the owner that freed a slot; it may have been at its own
   * limit
   */
  #serve(freed: OwnerSlots): void {
    if (freed.waiting.size > 0 && !this.#isFull(freed)) this.#turns.add(freed);
    while (!this.#isStopped && this.#running < this.#limits.maxExecutions) {
      const [owner] = this.#turns;
      if (owner === undefined) return;
      this.#turns.delete(owner);
      const [slot] = owner.waiting;
      if (slot === undefined) continue;
      // The owner may have reached its limit since it was added.
      if (this.#isFull(owner)) continue;
      this.#dequeue(slot);
      this.#run(owner);
      if (owner.waiting.size > 0 && !this.#isFull(owner)) this.#turns.add(owner);
      slot.isHeld = true;
      const { whenHeld } = slot;
      slot.whenHeld = undefined;
      whenHeld?.();
    }
  }

  #forgetIdle(added: OwnerSlots): void {
    const busy = ({ running, waiting, creating }: OwnerSlots): boolean => running + waiting.size + creating > 0;
    this.#owners = new Map([...this.#owners].filter(([, owner]) => owner === added || busy(owner)));
    this.#mostOwners = this.#owners.size + MAX_IDLE;
  }
}
