import type { Http2Stream } from "node:http2";
import type { ServerInterceptingCall, ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import { type Deferred, defer } from "../../core/defer.js";
import { A2AError, toA2AError } from "../../core/error.js";
import type { Account, Arrivals } from "../../http/arrivals.js";
import { addressOf } from "./call.js";
import { statusOf } from "./error.js";

export interface IncomingLimits {
  /** A request must be here within this time, in milliseconds, and a quarter of it. */
  readonly timeoutMs: number;
  /** Where it is counted until it is. */
  readonly arrivals: Arrivals;
}

/**
 * Ends calls whose request is not complete in time, or for which there is no room. Methods that take a stream of
 * requests are served as long as they last; none of ours does. Most requests are here in the round of the event loop in
 * which they begin; only the others are watched.
 */
export function limitIncoming(limits: IncomingLimits): ServerInterceptor {
  const waiting = new Waiting(limits);
  let begun: ServerInterceptingCallInterface[] = [];
  const round: Deferred = {
    run: () => {
      const calls = begun;
      begun = [];
      for (const call of calls) {
        try {
          waiting.add(call);
        } catch {
          // A call that cannot be looked at is served as it is; the others of the round are not its business.
        }
      }
    },
    failed: () => {},
  };
  return (method, call) => {
    if (!method.requestStream && begun.push(call) === 1) defer(round);
    // Looked at from outside: an intercepting call in between, or anything that lives as long as the stream, would
    // cost more than the rest of the binding.
    return call as ServerInterceptingCall;
  };
}

/** The requests that are not here as a whole, those that began first in front. */
class Waiting {
  readonly #limits: IncomingLimits;
  readonly #all = new Set<Incoming>();
  #sweep: NodeJS.Timeout | undefined;

  constructor(limits: IncomingLimits) {
    this.#limits = limits;
  }

  /** Watches a call whose request is not here. */
  add(call: ServerInterceptingCallInterface): void {
    const stream: Read | undefined = streamOf(call);
    if (stream === undefined || stream.readableEnded || stream.destroyed) return;
    const { timeoutMs, arrivals } = this.#limits;
    this.#sweep ??= setInterval(() => this.#look(timeoutMs), Math.ceil(timeoutMs / 4)).unref();
    const incoming = new Incoming(call, stream, () => this.#all.delete(incoming));
    this.#all.add(incoming);
    incoming.begin(arrivals);
  }

  #look(timeoutMs: number): void {
    const since = performance.now() - timeoutMs;
    for (const request of this.#all) {
      if (request.began > since) break;
      request.late(timeoutMs);
    }
    if (this.#all.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/** Where a stream keeps its request: listeners without a closure of their own find it there. */
const requestKey: unique symbol = Symbol("request");

type Read = Http2Stream & { [requestKey]?: Incoming };

/** What grpc-js needs for a piece of a message, beside its bytes. */
const PIECE_BYTES = 128;

/** A request that is not here as a whole. */
class Incoming {
  readonly began: number = performance.now();
  readonly #call: ServerInterceptingCallInterface;
  readonly #stream: Read;
  readonly #over: () => void;
  #account: Account | undefined;
  #isOver = false;

  constructor(call: ServerInterceptingCallInterface, stream: Read, over: () => void) {
    this.#call = call;
    this.#stream = stream;
    this.#over = over;
    stream[requestKey] = this;
    stream.on("data", onData).on("end", onEnd).on("close", onEnd);
  }

  begin(arrivals: Arrivals): void {
    try {
      this.#account = arrivals.open(addressOf(this.#call.getPeer()));
      this.#account.take(heldBy(this.#call));
    } catch (error) {
      this.#refuse(toA2AError(error));
    }
  }

  take(bytes: number): void {
    if (this.#isOver) return;
    try {
      this.#account?.take(bytes + PIECE_BYTES);
    } catch (error) {
      this.#refuse(toA2AError(error));
    }
  }

  /** It is here, or nobody waits for it any more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#account?.close();
    this.#over();
  }

  late(timeoutMs: number): void {
    this.#refuse(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`));
  }

  #refuse(error: A2AError): void {
    this.end();
    try {
      this.#call.sendStatus(statusOf(error));
    } catch {
      // This may be a timer's doing, and the stream may be over in a way that the library has not noticed.
    }
    // That what the client still sends is not wanted can only be said by the stream.
    setImmediate(() => this.#stream.close());
  }
}

function onData(this: Read, chunk: Buffer): void {
  this[requestKey]?.take(chunk.length);
}

function onEnd(this: Read): void {
  this[requestKey]?.end();
}

/** What grpc-js has of a message that is not whole, in bytes; 0 where it does not show that. */
function heldBy(call: ServerInterceptingCallInterface): number {
  const { decoder } = call as { decoder?: { readPartialMessage?: unknown } };
  const pieces = decoder?.readPartialMessage;
  if (!Array.isArray(pieces)) return 0;
  return pieces.reduce((sum: number, piece: Buffer) => sum + piece.length + PIECE_BYTES, 0);
}

/** grpc-js has no other way to the bytes of a call and their end. Where it hides the stream, nothing is limited. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream | undefined {
  const { stream } = call as { stream?: Http2Stream };
  return typeof stream?.on === "function" ? stream : undefined;
}
