import type { SharedHold } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { CountedTenant } from "../counted-tenant.js";

/** What one owner has running, waiting and begun: under one tenant, or under all of them where any may be named. */
export class OwnerSlots {
  /** Executions that run, and agents that are about to answer directly. */
  running = 0;
  /** Bytes of the messages that wait. */
  waitingBytes = 0;
  readonly waiting: Set<Place> = new Set();
  /** How many tasks it may still create before its open ones are counted again. */
  tasksLeft = 0;
  /** Tasks that it is creating. */
  creating = 0;
  /** While its open tasks are counted. */
  counting: Promise<void> | undefined;
  /** Until when it has too many, by `performance.now()`. */
  fullUntil = 0;
}

/** The place of an execution: among those that run, or in the queue. */
export class Place {
  readonly owner: OwnerSlots;
  /** Bytes of the message that waits. */
  readonly bytes: number;
  /** Whether it is one of those that run. */
  isHeld = false;
  isOver = false;
  /** The memory of the message that its execution began with. */
  held: SharedHold | undefined;
  /** Called once when it is held, unless it was from the beginning. */
  whenHeld: (() => void) | undefined;
  /** Called when nothing that waits is begun any more. */
  whenStopped: (() => void) | undefined;

  constructor(owner: OwnerSlots, bytes = 0) {
    this.owner = owner;
    this.bytes = bytes;
  }
}

/** Which limits there are. */
export type SlotLimits = Pick<
  Limits,
  "maxExecutions" | "maxExecutionsPerOwner" | "maxQueuedExecutions" | "maxQueuedExecutionsPerOwner" | "maxQueuedBytes"
>;

/** So many owners with nothing under way are remembered before they are looked through. */
const MAX_IDLE = 4_096;

/**
 * How many executions run at once, in all and of each owner, and the bounded queue behind them. Owners take turns: the next place is
 * given to the owner who has waited longest for one, whatever the others have sent, and within an owner to the message that came
 * first. An execution that need not wait costs two counters.
 */
export class ExecutionSlots {
  readonly #limits: SlotLimits;
  readonly #counted: CountedTenant;
  #owners = new Map<string, OwnerSlots>();
  #mostOwners = MAX_IDLE;
  #running = 0;
  #waiting = 0;
  #waitingBytes = 0;
  #isStopped = false;
  /** Owners that have something waiting and may begin it, in the order of their turns. */
  readonly #turns = new Set<OwnerSlots>();
  #lastTenant = "";
  #lastName = "";
  #last: OwnerSlots | undefined;

  constructor(limits: SlotLimits, counted: CountedTenant) {
    this.#limits = limits;
    this.#counted = counted;
  }

  /** How many run. */
  get running(): number {
    return this.#running;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** What an owner has. Ask for it where it is used: one that has nothing may be forgotten. */
  of(tenant: string, owner: string): OwnerSlots {
    if (this.#last !== undefined && tenant === this.#lastTenant && owner === this.#lastName) return this.#last;
    const counted = this.#counted(tenant, owner);
    const key = counted === undefined ? `:${owner}` : `${counted.length}:${counted}${owner}`;
    let slots = this.#owners.get(key);
    if (slots === undefined) {
      slots = new OwnerSlots();
      this.#owners.set(key, slots);
      if (this.#owners.size > this.#mostOwners) this.#forgetIdle(slots);
    }
    this.#lastTenant = tenant;
    this.#lastName = owner;
    this.#last = slots;
    return slots;
  }

  /** Takes a place among those that run, where there is one and none of the owner waits; `release` gives it back. */
  tryTake(owner: OwnerSlots): boolean {
    const { maxExecutions, maxExecutionsPerOwner } = this.#limits;
    if (this.#running >= maxExecutions || owner.running >= maxExecutionsPerOwner || owner.waiting.size > 0)
      return false;
    this.#running++;
    owner.running++;
    return true;
  }

  /** Gives back what `tryTake` took, or what a place held; the next one in the queue has it then. */
  release(owner: OwnerSlots): void {
    this.#running--;
    owner.running--;
    if (this.#waiting > 0) this.#serve(owner);
  }

  /**
   * A place for an execution: held at once, or in the queue.
   *
   * @param bytes of the message that it would keep waiting
   * @throws A2AError TOO_MANY_REQUESTS when the queue has no room.
   */
  enter(owner: OwnerSlots, bytes: number): Place {
    const place = new Place(owner, bytes);
    if (this.tryTake(owner)) place.isHeld = true;
    else {
      this.checkRoom(owner, bytes);
      this.#enqueue(place);
    }
    return place;
  }

  /** The same for what was accepted before: it waits whether there is room or not. */
  enterAccepted(owner: OwnerSlots): Place {
    const place = new Place(owner);
    if (this.tryTake(owner)) place.isHeld = true;
    else this.#enqueue(place);
    return place;
  }

  /** The place of an execution whose agent runs already, on what `tryTake` took. */
  adopt(owner: OwnerSlots): Place {
    const place = new Place(owner);
    place.isHeld = true;
    return place;
  }

  /** Gives a place back, whether it was held or waits. Calling it again does nothing. */
  leave(place: Place): void {
    if (place.isOver) return;
    place.isOver = true;
    place.whenHeld = undefined;
    place.held?.release();
    if (place.isHeld) this.release(place.owner);
    else this.#dequeue(place);
  }

  /**
   * Refuses where neither a place is free nor the queue has room.
   *
   * @throws A2AError TOO_MANY_REQUESTS
   */
  checkRoom(owner: OwnerSlots, bytes = 0): void {
    const { maxExecutions, maxExecutionsPerOwner, maxQueuedExecutions, maxQueuedExecutionsPerOwner, maxQueuedBytes } =
      this.#limits;
    if (owner.waiting.size === 0 && this.#running < maxExecutions && owner.running < maxExecutionsPerOwner) return;
    if (owner.waiting.size >= maxQueuedExecutionsPerOwner) {
      const message = `${maxQueuedExecutionsPerOwner} tasks of this caller wait for their turn.`;
      throw limitReached("maxQueuedExecutionsPerOwner", message);
    }
    if (this.#waiting >= maxQueuedExecutions) {
      throw limitReached("maxQueuedExecutions", `${maxQueuedExecutions} tasks wait for their turn.`);
    }
    const isTooMuch = this.#waitingBytes + bytes > maxQueuedBytes || owner.waitingBytes + bytes > maxQueuedBytes / 2;
    // The first one of an owner may wait where it is small, however many owners there are, or where nothing else waits.
    const isFirst = owner.waiting.size === 0 && bytes <= maxQueuedBytes / maxQueuedExecutions;
    const hasRoom = owner.waiting.size === 0 && this.#waitingBytes + bytes <= maxQueuedBytes;
    if (isTooMuch && !isFirst && !hasRoom && this.#waiting > 0) {
      throw limitReached("maxQueuedBytes", "The messages that wait for their turn are too large.");
    }
  }

  /** Begins nothing that waits any more: the server ends. */
  stop(): void {
    this.#isStopped = true;
    for (const { waiting } of this.#owners.values()) for (const place of waiting) place.whenStopped?.();
  }

  #enqueue(place: Place): void {
    const { owner, bytes } = place;
    owner.waiting.add(place);
    owner.waitingBytes += bytes;
    this.#waiting++;
    this.#waitingBytes += bytes;
    if (owner.running < this.#limits.maxExecutionsPerOwner) this.#turns.add(owner);
  }

  #dequeue(place: Place): void {
    const { owner, bytes } = place;
    if (!owner.waiting.delete(place)) return;
    owner.waitingBytes -= bytes;
    this.#waiting--;
    this.#waitingBytes -= bytes;
    if (owner.waiting.size === 0) this.#turns.delete(owner);
  }

  /** Gives what is free to those that wait. @param freed whose place it was: it may have reached its own limit before */
  #serve(freed: OwnerSlots): void {
    const { maxExecutions, maxExecutionsPerOwner } = this.#limits;
    if (freed.waiting.size > 0 && freed.running < maxExecutionsPerOwner) this.#turns.add(freed);
    while (!this.#isStopped && this.#running < maxExecutions) {
      const [owner] = this.#turns;
      if (owner === undefined) return;
      this.#turns.delete(owner);
      const [place] = owner.waiting;
      if (place === undefined) continue;
      this.#dequeue(place);
      this.#running++;
      owner.running++;
      if (owner.waiting.size > 0 && owner.running < maxExecutionsPerOwner) this.#turns.add(owner);
      place.isHeld = true;
      const { whenHeld } = place;
      place.whenHeld = undefined;
      whenHeld?.();
    }
  }

  #forgetIdle(added: OwnerSlots): void {
    const busy = ({ running, waiting, creating }: OwnerSlots): boolean => running + waiting.size + creating > 0;
    this.#owners = new Map([...this.#owners].filter(([, owner]) => owner === added || busy(owner)));
    this.#mostOwners = this.#owners.size + MAX_IDLE;
  }
}
