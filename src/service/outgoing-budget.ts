import type { Message } from "@bufbuild/protobuf";
import { forAudit } from "../audit/audit.js";
import { boundedCall } from "../core/async.js";
import type { Call } from "../core/call.js";
import { A2AError, limitReached } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { decrement, increment } from "../core/maps.js";
import { type Weight, weightOf } from "../wire/marks.js";
import { callerKeyOf } from "./caller-shares.js";

/** Releases the acquired bytes. Further calls do nothing. */
type Release = () => void;

/** Time for which a large answer waits for quota before it is rejected, in milliseconds. */
export const outgoingWait = { timeoutMs: 10_000 } as const;

/** Share of `maxOutgoingBytesPerCaller` for one connection of a client, or of an untrusted proxy. */
const CONNECTION_SHARE = 0.5;

/** Delay after which a rejected answer may be requested again, in milliseconds. */
const retryAfterMs = 1_000;

/** Number of bytes held, and number of answers that hold each message. */
class HeldBytes {
  bytes = 0;
  readonly #holders = new Map<object, number>();

  get isEmpty(): boolean {
    return this.#holders.size === 0;
  }

  /** Returns true if the message fits. A message larger than the maximum fits if nothing else is held. */
  fits({ bytes, source }: Weight, max: number): boolean {
    return this.isEmpty || this.#holders.has(source) || this.bytes + bytes <= max;
  }

  add({ bytes, source }: Weight): void {
    if (increment(this.#holders, source) === 1) this.bytes += bytes;
  }

  remove({ bytes, source }: Weight): void {
    if (decrement(this.#holders, source) === 0) this.bytes -= bytes;
  }
}

/** A task that a stream keeps open, and its current state. */
interface OpenedTask {
  readonly handle: { release(): void };
  readonly now: { readonly task: Message };
}

/** The caller and connection that the bytes of an answer are counted for. */
interface Reader {
  /** The owner of an authenticated call, otherwise its address. */
  readonly caller: string;
  /** Undefined if connections cannot be distinguished. */
  readonly connection: string | undefined;
}

/** A call that waits for quota. */
interface Waiter {
  readonly reader: Reader;
  readonly weight: Weight;
  readonly proceed: (release: Release) => void;
}

/**
 * Limits the memory of large tasks and events until their readers have received them: in total, for each caller, and
 * for each connection. Small answers are not counted.
 */
export class OutgoingBudget {
  readonly #limits: Limits;
  readonly #all = new HeldBytes();
  readonly #callers = new Map<string, HeldBytes>();
  readonly #connections = new Map<string, HeldBytes>();
  readonly #waiters = new Set<Waiter>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts a large answer for its caller. Undefined if it does not fit. */
  tryAcquire(call: Call, weight: Weight): Release | undefined {
    const reader = readerOfCall(call);
    return this.#fits(reader, weight) ? this.#add(reader, weight) : undefined;
  }

  /**
   * Counts a large answer, and waits until it fits.
   *
   * @throws A2AError with reason TOO_MANY_REQUESTS or UNAVAILABLE after `outgoingWait.timeoutMs`; CANCELLED if the
   * client leaves
   */
  async acquire(call: Call, weight: Weight): Promise<Release> {
    return this.tryAcquire(call, weight) ?? (await this.#waitForCapacity(call, weight));
  }

  /**
   * Counts a large answer that already exists, and waits until it fits. The binding releases it after writing it
   * (`Call.written`).
   */
  async hold(call: Call, weight: Weight): Promise<void> {
    dropAnswer(call);
    call.written = await this.acquire(call, weight);
  }

  /**
   * Returns a large answer as soon as it fits. While it waits, the answer is dropped from memory; `read` then reads it
   * again. The binding releases it after writing it (`Call.written`).
   */
  admitAnswer<M extends Message>(call: Call, answer: M, read: () => Promise<M>): M | Promise<M> {
    const weight = weightOf(answer);
    if (weight === undefined) return answer;
    dropAnswer(call);
    call.written = this.tryAcquire(call, weight);
    return call.written === undefined ? this.#admitLater(call, weight.bytes, read) : answer;
  }

  async #admitLater<M extends Message>(call: Call, bytes: number, read: () => Promise<M>): Promise<M> {
    const reserved = await this.acquire(call, { bytes, source: {} });
    try {
      const answer = await read();
      const weight = weightOf(answer);
      if (weight !== undefined) call.written = this.#add(readerOfCall(call), weight);
      return answer;
    } finally {
      reserved();
    }
  }

  /** Yields a large message of a stream, and releases it when the reader requests the next one or stops reading. */
  async *admitEvent<M extends Message>(call: Call, message: M): AsyncGenerator<M, void, undefined> {
    const weight = weightOf(message);
    const release = weight && (await this.acquire(call, weight));
    try {
      yield message;
    } finally {
      release?.();
    }
  }

  /** Opens the task that a stream begins with. While a large task waits for quota, none of it is held in memory. */
  async admitOpened<O extends OpenedTask>(
    call: Call,
    open: () => Promise<O>,
  ): Promise<O & { readonly release?: Release }> {
    const first = await open();
    const weight = weightOf(first.now.task);
    if (weight === undefined) return first;
    const release = this.tryAcquire(call, weight);
    if (release !== undefined) return { ...first, release };
    // A waiting call must hold nothing. Even this stack frame, which refers to the task, ends here.
    first.handle.release();
    return this.#openLater(call, weight.bytes, open);
  }

  async #openLater<O extends OpenedTask>(
    call: Call,
    bytes: number,
    open: () => Promise<O>,
  ): Promise<O & { readonly release?: Release }> {
    const reserved = await this.acquire(call, { bytes, source: {} });
    try {
      const opened = await open();
      const weight = weightOf(opened.now.task);
      return weight === undefined ? opened : { ...opened, release: this.#add(readerOfCall(call), weight) };
    } finally {
      reserved();
    }
  }

  #waitForCapacity(call: Call, weight: Weight): Promise<Release> {
    const reader = readerOfCall(call);
    const begin = (proceed: Waiter["proceed"]): (() => void) => {
      const waiter: Waiter = { reader, weight, proceed };
      this.#waiters.add(waiter);
      return () => this.#waiters.delete(waiter);
    };
    const timeout = { ms: outgoingWait.timeoutMs, error: () => this.#refusal(reader, weight) };
    return boundedCall(begin, { cancellation: call.cancellation, timeout });
  }

  #fits(reader: Reader, weight: Weight): boolean {
    return this.#all.fits(weight, this.#limits.maxOutgoingBytes) && this.#fitsShare(reader, weight);
  }

  /** Returns true if the answer fits into the shares of the reader's caller and connection. */
  #fitsShare({ caller, connection = "" }: Reader, weight: Weight): boolean {
    const { maxOutgoingBytesPerCaller } = this.#limits;
    const fits = (held: HeldBytes | undefined, max: number): boolean => held === undefined || held.fits(weight, max);
    return (
      fits(this.#callers.get(caller), maxOutgoingBytesPerCaller) &&
      fits(this.#connections.get(connection), maxOutgoingBytesPerCaller * CONNECTION_SHARE)
    );
  }

  #add({ caller, connection }: Reader, weight: Weight): Release {
    this.#all.add(weight);
    addTo(this.#callers, caller, weight);
    if (connection !== undefined) addTo(this.#connections, connection, weight);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#all.remove(weight);
      removeFrom(this.#callers, caller, weight);
      if (connection !== undefined) removeFrom(this.#connections, connection, weight);
      this.#serveWaiters();
    };
  }

  /** Continues waiting calls in the order of their arrival. Skips readers that have used up their share. */
  #serveWaiters(): void {
    for (const { reader, weight, proceed } of this.#waiters) {
      if (!this.#all.fits(weight, this.#limits.maxOutgoingBytes)) return;
      if (this.#fitsShare(reader, weight)) proceed(this.#add(reader, weight));
    }
  }

  #refusal(reader: Reader, { bytes }: Weight): A2AError {
    if (this.#fitsShare(reader, { bytes, source: {} })) {
      const text = "The server has no memory for a large answer at the moment.";
      const error = new A2AError("UNAVAILABLE", text, { retryAfterMs });
      return forAudit(error, { event: "limit.hit", limit: "maxOutgoingBytes" });
    }
    const message = "Earlier large answers to this caller have not been read yet; read those first.";
    return limitReached("maxOutgoingBytesPerCaller", message);
  }
}

/**
 * Releases the large answer of a call that will not be written: an interceptor requested another one, replaced it, or
 * threw after it.
 */
export function dropAnswer(call: Call): void {
  call.written?.();
  call.written = undefined;
}

function addTo(all: Map<string, HeldBytes>, key: string, weight: Weight): void {
  const held = all.get(key) ?? new HeldBytes();
  all.set(key, held);
  held.add(weight);
}

function removeFrom(all: Map<string, HeldBytes>, key: string, weight: Weight): void {
  const held = all.get(key);
  held?.remove(weight);
  if (held?.isEmpty === true) all.delete(key);
}

function readerOfCall(call: Call): Reader {
  const { peer } = call;
  return {
    caller: callerKeyOf(call) ?? "",
    connection: peer.port === undefined ? undefined : `${peer.address} ${peer.port}`,
  };
}
