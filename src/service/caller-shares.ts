import type { Call } from "../core/call.js";
import { limitReached } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { decrement, increment, TransientMap } from "../core/maps.js";
import { sourceOf } from "../core/net.js";

/** Number of open calls and streams of one caller. */
export class CallerShare {
  calls = 0;
  streams = 0;
}

/** Number of shares beyond which idle ones are evicted. */
const MAX_IDLE = 4_096;

/**
 * The shares of all callers, by owner if authenticated, otherwise by address. A share is kept when its caller has
 * nothing open, because removing and adding it for each call would be most of its cost (core/maps.ts).
 */
export class CallerShares {
  #owners = new Map<string, CallerShare>();
  #addresses = new Map<string, CallerShare>();
  /** Number of shares at which idle ones are evicted next. */
  #most = MAX_IDLE;

  get size(): number {
    return this.#owners.size + this.#addresses.size;
  }

  /** Returns the share of a call's caller; undefined if neither owner nor address is known. */
  of({ caller, peer }: Call): CallerShare | undefined {
    if (caller.authenticated) return this.#owners.get(caller.owner) ?? this.#add(this.#owners, caller.owner);
    if (peer.address === "") return undefined;
    const source = sourceOf(peer.address);
    return this.#addresses.get(source) ?? this.#add(this.#addresses, source);
  }

  #add(shares: Map<string, CallerShare>, key: string): CallerShare {
    const share = new CallerShare();
    shares.set(key, share);
    if (this.size > this.#most) {
      this.#owners = withOpen(this.#owners, share);
      this.#addresses = withOpen(this.#addresses, share);
      this.#most = this.size + MAX_IDLE;
    }
    return share;
  }
}

/** Returns a new table with the shares in use and the added one. */
function withOpen(shares: ReadonlyMap<string, CallerShare>, added: CallerShare): Map<string, CallerShare> {
  return new Map([...shares].filter(([, share]) => share === added || share.calls > 0 || share.streams > 0));
}

/**
 * Returns the key that a call is counted under: the owner of an authenticated caller, otherwise the address (of IPv6
 * the network of 64 bits). Undefined if neither is known, so that callers cannot be distinguished.
 */
export function callerKeyOf({ caller, peer }: Call): string | undefined {
  if (caller.authenticated) return `owner ${caller.owner}`;
  return peer.address === "" ? undefined : `address ${sourceOf(peer.address)}`;
}

/** Limit of subscriptions to one task, without the streams of sends. */
export const taskSubscriptions = { max: 10_000 } as const;

class Subscribers {
  count = 0;
  readonly byCaller = new Map<string, number>();
}

/** Counts the subscriptions of each task in this process. The stream of a send is not a subscription. */
export class Subscriptions {
  readonly #limits: Limits;
  readonly #tasks = new TransientMap<Subscribers>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Counts a subscription to a task until `end`. The caller may see the task.
   *
   * @throws A2AError with reason TOO_MANY_REQUESTS
   */
  begin(call: Call, taskId: string): void {
    const { maxSubscriptionsPerTaskPerCaller } = this.#limits;
    const task = this.#tasks.get(taskId) ?? new Subscribers();
    const caller = callerKeyOf(call);
    const own = caller === undefined ? 0 : (task.byCaller.get(caller) ?? 0);
    if (task.count >= taskSubscriptions.max) {
      throw limitReached("maxSubscriptionsPerTask", `The task has ${taskSubscriptions.max} subscriptions.`);
    }
    if (own >= maxSubscriptionsPerTaskPerCaller) {
      const message = `This caller has ${maxSubscriptionsPerTaskPerCaller} subscriptions to the task.`;
      throw limitReached("maxSubscriptionsPerTaskPerCaller", message);
    }
    if (task.count++ === 0) this.#tasks.set(taskId, task);
    if (caller !== undefined) increment(task.byCaller, caller);
  }

  /** Removes a subscription that `begin` counted. */
  end(call: Call, taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    if (--task.count === 0) this.#tasks.delete(taskId);
    const caller = callerKeyOf(call);
    if (caller !== undefined) decrement(task.byCaller, caller);
  }
}
