import { SharedHold } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import { nextRound } from "../../core/event-loop.js";
import type { Limits } from "../../core/limits.js";
import { callerKeyOf } from "../caller-key.js";
import type { Interceptor } from "../invoke.js";
import { requestWeight } from "../request-weight.js";

/** Requests of less memory are not counted, in bytes. */
const SMALL_BYTES = 4 * 1024;

/** A request of so much memory, in bytes, continues in the next round of the event loop. */
const HEAVY_BYTES = 512 * 1024;

/**
 * Limits the memory of the large requests in progress, in total and for each caller. A request counts until it is answered, and a
 * message until its execution has ended (`Call.held`).
 */
export function requestMemory({ maxOpenRequestBytes }: Limits): Interceptor {
  const budget = new Budget(maxOpenRequestBytes);
  return (next) => (invocation) => {
    const { request, call } = invocation;
    const bytes = requestWeight(request);
    if (bytes < SMALL_BYTES) return next(invocation);
    call.held = budget.hold(callerKeyOf(call), bytes);
    return bytes < HEAVY_BYTES ? next(invocation) : nextRound().then(() => next(invocation));
  };
}

class Budget {
  readonly #max: number;
  readonly #callers = new Map<string, number>();
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws A2AError with reason TOO_MANY_REQUESTS */
  hold(caller: string | undefined, bytes: number): SharedHold {
    const max = this.#max;
    const own = caller === undefined ? 0 : (this.#callers.get(caller) ?? 0);
    // A request larger than the share of a caller, or than the whole, is served where nothing else is held.
    const exceedsShare = own > 0 && own + bytes > max / 2;
    if (exceedsShare || (this.#bytes > 0 && this.#bytes + bytes > max)) {
      const whose = exceedsShare ? "The large requests of this caller" : "The large requests";
      throw limitReached("maxOpenRequestBytes", `${whose} in progress exceed the memory that they may take.`);
    }
    this.#add(caller, bytes);
    return new SharedHold(() => this.#add(caller, -bytes));
  }

  #add(caller: string | undefined, bytes: number): void {
    this.#bytes += bytes;
    if (caller === undefined) return;
    const own = (this.#callers.get(caller) ?? 0) + bytes;
    if (own > 0) this.#callers.set(caller, own);
    else this.#callers.delete(caller);
  }
}
