import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { type Weight, weightOf } from "../wire/weight.js";

/** Lets go of what was held. May be called more than once. */
export type Release = () => void;

/** When an answer that was refused may come again. */
const retryAfterMs = 1_000;

/** What is held, with how many hold it. */
class Held {
  bytes = 0;
  readonly #holders = new Map<object, number>();

  get isEmpty(): boolean {
    return this.#holders.size === 0;
  }

  /** Whether there is room; one that is larger than all of it fits where nothing else is. */
  fits({ bytes, source }: Weight, max: number): boolean {
    return this.isEmpty || this.#holders.has(source) || this.bytes + bytes <= max;
  }

  add({ bytes, source }: Weight): void {
    const holders = this.#holders.get(source) ?? 0;
    if (holders === 0) this.bytes += bytes;
    this.#holders.set(source, holders + 1);
  }

  remove({ bytes, source }: Weight): void {
    const holders = (this.#holders.get(source) ?? 1) - 1;
    if (holders > 0) {
      this.#holders.set(source, holders);
      return;
    }
    this.#holders.delete(source);
    this.bytes -= bytes;
  }
}

/** A task that a stream holds on to, and how it stands. */
interface Opened {
  readonly held: { release(): void };
  readonly now: { readonly task: Message };
}

/** A call that waits for room. */
interface Waiter {
  readonly caller: string;
  readonly weight: Weight;
  readonly go: (release: Release) => void;
}

/**
 * The large tasks and events that are held in memory until their readers have taken them: over all, and for each caller.
 * Small answers do not come here.
 */
export class Outgoing {
  readonly #limits: Limits;
  readonly #all = new Held();
  readonly #callers = new Map<string, Held>();
  readonly #waiters = new Set<Waiter>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts a large answer for its caller; undefined where there is no room. */
  tryAcquire(call: Call, weight: Weight): Release | undefined {
    const caller = callerOf(call);
    return this.#fits(caller, weight) ? this.#add(caller, weight) : undefined;
  }

  /**
   * The same where a call may wait for room.
   * @throws A2AError with reason TOO_MANY_REQUESTS or UNAVAILABLE after `outgoingWaitMs`; CANCELLED when the client goes.
   */
  async acquire(call: Call, weight: Weight): Promise<Release> {
    return this.tryAcquire(call, weight) ?? (await this.#wait(call, weight));
  }

  /**
   * A large answer, as soon as there is room for it: what was read is dropped while it waits, and `again` reads it anew.
   * The binding lets go of it (`Call.written`).
   */
  whole<M extends Message>(call: Call, answer: M, again: () => Promise<M>): M | Promise<M> {
    const weight = weightOf(answer);
    if (weight === undefined) return answer;
    call.written = this.tryAcquire(call, weight);
    return call.written === undefined ? this.#later(call, weight.bytes, again) : answer;
  }

  async #later<M extends Message>(call: Call, bytes: number, again: () => Promise<M>): Promise<M> {
    const reserved = await this.acquire(call, { bytes, source: {} });
    try {
      const answer = await again();
      const weight = weightOf(answer);
      if (weight !== undefined) call.written = this.#add(callerOf(call), weight);
      return answer;
    } finally {
      reserved();
    }
  }

  /** A large message of a stream, which is let go of when the next one is asked for, or none any more. */
  async *inStream<M extends Message>(call: Call, message: M): AsyncGenerator<M, void, undefined> {
    const weight = weightOf(message);
    const release = weight && (await this.acquire(call, weight));
    try {
      yield message;
    } finally {
      release?.();
    }
  }

  /** Opens a task that a stream begins with. Where it is large and there is no room, nothing is held meanwhile. */
  async opened<O extends Opened>(call: Call, open: () => Promise<O>): Promise<O & { readonly release?: Release }> {
    const first = await open();
    const weight = weightOf(first.now.task);
    if (weight === undefined) return first;
    const release = this.tryAcquire(call, weight);
    if (release !== undefined) return { ...first, release };
    // What waits holds nothing: not even this frame, which ends here.
    first.held.release();
    return this.#openedLater(call, weight.bytes, open);
  }

  async #openedLater<O extends Opened>(
    call: Call,
    bytes: number,
    open: () => Promise<O>,
  ): Promise<O & { readonly release?: Release }> {
    const reserved = await this.acquire(call, { bytes, source: {} });
    try {
      const opened = await open();
      const weight = weightOf(opened.now.task);
      return weight === undefined ? opened : { ...opened, release: this.#add(callerOf(call), weight) };
    } finally {
      reserved();
    }
  }

  #wait(call: Call, weight: Weight): Promise<Release> {
    const caller = callerOf(call);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        stay();
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        caller,
        weight,
        go: (release) => {
          end();
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        end();
        reject(this.#refusal(caller, weight));
      }, this.#limits.outgoingWaitMs);
      this.#waiters.add(waiter);
      let stay = (): void => {};
      stay = call.cancellation.onCancel(() => {
        end();
        reject(new A2AError("CANCELLED", "The client went away before its answer."));
      });
    });
  }

  #fits(caller: string, weight: Weight): boolean {
    const { maxOutgoingBytes, maxOutgoingBytesPerCaller } = this.#limits;
    const own = this.#callers.get(caller);
    return (
      this.#all.fits(weight, maxOutgoingBytes) && (own === undefined || own.fits(weight, maxOutgoingBytesPerCaller))
    );
  }

  #add(caller: string, weight: Weight): Release {
    const own = this.#callers.get(caller) ?? new Held();
    this.#callers.set(caller, own);
    this.#all.add(weight);
    own.add(weight);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#all.remove(weight);
      own.remove(weight);
      if (own.isEmpty) this.#callers.delete(caller);
      this.#serve();
    };
  }

  /** Those that wait have their turn in the order in which they came, unless their caller has to wait for itself. */
  #serve(): void {
    for (const waiter of this.#waiters) {
      if (!this.#all.fits(waiter.weight, this.#limits.maxOutgoingBytes)) return;
      if (this.#fits(waiter.caller, waiter.weight)) waiter.go(this.#add(waiter.caller, waiter.weight));
    }
  }

  #refusal(caller: string, { bytes }: Weight): A2AError {
    const own =
      this.#callers.get(caller)?.fits({ bytes, source: {} }, this.#limits.maxOutgoingBytesPerCaller) === false;
    return own
      ? new A2AError("TOO_MANY_REQUESTS", "Large answers to this caller were not read yet; read those first.", {
          retryAfterMs,
        })
      : new A2AError("UNAVAILABLE", "There is no room for a large answer at the moment.", { retryAfterMs });
  }
}

/** Whom bytes count for: an owner who is known, or else the address that the call came from. */
function callerOf({ caller, peer }: Call): string {
  return caller.authenticated ? `owner ${caller.owner}` : `address ${peer.address}`;
}
