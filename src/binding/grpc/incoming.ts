import type { Http2Stream } from "node:http2";
import type { ServerInterceptingCall, ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import { A2AError, toA2AError } from "../../core/error.js";
import { type NextRound, nextRound } from "../../core/next-round.js";
import type { ByteBudget } from "../byte-budget.js";
import { statusOf } from "./error.js";

export interface IncomingLimits {
  /** A request must be here within this time, in milliseconds, and a quarter of it. */
  readonly timeoutMs: number;
  /** Where its bytes are counted until it is. */
  readonly budget: ByteBudget;
}

/**
 * Ends calls whose request is not complete in time, or for whose bytes there is no room. Methods that take a stream of
 * requests are served as long as they last; none of ours does. Most requests are here in the round of the event loop in
 * which they begin; only the others are watched, and each counts as one window of flow control at least: what came of it
 * before is not known.
 */
export function limitIncoming(limits: IncomingLimits): ServerInterceptor {
  const arriving = new Set<Arriving>();
  let sweep: NodeJS.Timeout | undefined;
  const look = (): void => {
    const since = performance.now() - limits.timeoutMs;
    // Those that began first come first.
    for (const request of arriving) {
      if (request.began > since) break;
      request.late(limits.timeoutMs);
    }
    if (arriving.size > 0) return;
    clearInterval(sweep);
    sweep = undefined;
  };
  const watch = (call: ServerInterceptingCallInterface): void => {
    const stream = streamOf(call);
    if (stream === undefined || stream.readableEnded || stream.destroyed) return;
    sweep ??= setInterval(look, Math.ceil(limits.timeoutMs / 4)).unref();
    new Arriving(call, stream, limits.budget, arriving);
  };
  let begun: ServerInterceptingCallInterface[] = [];
  const round: NextRound = {
    run: () => {
      const calls = begun;
      begun = [];
      for (const call of calls) {
        try {
          watch(call);
        } catch {
          // A call that cannot be looked at is served as it is; the others of the round are not its business.
        }
      }
    },
    failed: () => {},
  };
  return (method, call) => {
    if (!method.requestStream && begun.push(call) === 1) nextRound(round);
    // Looked at from outside: an intercepting call in between, or anything that lives as long as the stream, would
    // cost more than the rest of the binding.
    return call as ServerInterceptingCall;
  };
}

/** Where a stream keeps its request: listeners without a closure of their own find it there. */
const requestKey: unique symbol = Symbol("request");

type Read = Http2Stream & { [requestKey]?: Arriving };

/** What a client may send on a stream before it hears from the server, in bytes (RFC 9113, 6.9.2). */
const WINDOW_BYTES = 65_535;

/** A request that is not here as a whole. */
class Arriving {
  readonly began: number = performance.now();
  readonly #call: ServerInterceptingCallInterface;
  readonly #stream: Read;
  readonly #budget: ByteBudget;
  readonly #all: Set<Arriving>;
  #seen = 0;
  #counted = 0;

  constructor(call: ServerInterceptingCallInterface, stream: Read, budget: ByteBudget, all: Set<Arriving>) {
    this.#call = call;
    this.#stream = stream;
    this.#budget = budget;
    this.#all = all;
    stream[requestKey] = this;
    stream.on("data", onData).on("end", onEnd).on("close", onEnd);
    all.add(this);
    this.#count(WINDOW_BYTES);
  }

  take(bytes: number): void {
    this.#seen += bytes;
    if (this.#all.has(this) && this.#seen > this.#counted) this.#count(this.#seen - this.#counted);
  }

  #count(bytes: number): void {
    try {
      this.#budget.take(bytes);
      this.#counted += bytes;
    } catch (error) {
      this.#refuse(toA2AError(error));
    }
  }

  /** It is here, or nobody waits for it any more. */
  end(): void {
    if (!this.#all.delete(this)) return;
    this.#budget.give(this.#counted);
  }

  late(timeoutMs: number): void {
    this.#refuse(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`));
  }

  #refuse(error: A2AError): void {
    this.end();
    this.#call.sendStatus(statusOf(error));
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

/** grpc-js has no other way to the bytes of a call and their end. Where it hides the stream, nothing is limited. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream | undefined {
  const { stream } = call as { stream?: Http2Stream };
  return typeof stream?.on === "function" ? stream : undefined;
}
