import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";
import type { Limits } from "../core/limits.js";
import { generationOf } from "../wire/generation.js";
import { onOneLine } from "../wire/json-text.js";
import { SSE_HEARTBEAT, sseFrame } from "../wire/sse.js";
import { weightOf } from "../wire/weight.js";
import type { HttpExchange } from "./http-exchange.js";
import { framed, type PieceTarget, writePieces } from "./piecewise.js";

/** What a binding puts into the events of a stream. */
export interface EventFormat {
  /** One message, as JSON that stays on one line (`onOneLine`). */
  readonly data: (message: Message) => string;
  /** The same of a large message, in pieces. */
  readonly pieces: (message: Message) => Iterable<Uint8Array | string>;
  /** What is said, as JSON, when the stream fails after its first event. */
  readonly failure: (thrown: unknown) => string;
}

export interface EventStream {
  readonly call: Call;
  readonly messages: AsyncIterable<Message>;
  readonly format: EventFormat;
  /** Between two signs of life on a silent stream, in milliseconds. */
  readonly limits: Pick<Limits, "heartbeatMs" | "stalledReaderMs">;
}

/** Characters that are put together at most before they are written, and other connections get their turn. */
const FLUSH_AT = 32 * 1024;

/** Neither caches nor proxies may hold back or change a stream of events. */
const streamHeaders: readonly (readonly [string, string])[] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  ["x-accel-buffering", "no"],
];

/**
 * Writes a stream as server-sent events (specification 9.4.2, 11.7), at the pace of the client: a message is asked for
 * when there is room for it, so a slow reader costs no memory. Nothing is sent before the first message is there.
 *
 * @returns when the stream has ended or the client is gone; the iterator has been told of either.
 * @throws whatever the stream throws before its first message, for then an ordinary error reply can still be sent.
 */
export async function sendEvents(exchange: HttpExchange, stream: EventStream): Promise<void> {
  const iterator = stream.messages[Symbol.asyncIterator]();
  const sink = new EventSink(exchange, stream.limits.heartbeatMs);
  const gone = new Promise<void>((resolve) => {
    if (exchange.gone) resolve();
    else exchange.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const pumping = pump(iterator, sink, stream);
  try {
    await Promise.race([pumping, gone]);
  } finally {
    sink.stop();
    // Where the race was lost, the message that is still waited for comes for nobody.
    pumping.catch(() => {});
    if (!sink.isComplete) void close(iterator);
  }
}

async function pump(iterator: AsyncIterator<Message>, sink: EventSink, stream: EventStream): Promise<void> {
  const {
    format,
    call,
    limits: { stalledReaderMs },
  } = stream;
  try {
    for (;;) {
      const next = await iterator.next();
      if (sink.isStopped) return;
      if (next.done === true) break;
      const { value } = next;
      const large = weightOf(value) !== undefined;
      const frame = large ? "" : sseFrame(format.data(value), generationOf(value));
      sink.begin(call);
      if (large) await sink.writeLarge(sseFrameAround(format.pieces(value), generationOf(value)), stalledReaderMs);
      else sink.write(frame);
      if (sink.isFull) await sink.room();
      if (sink.isStopped) return;
    }
    sink.isComplete = true;
  } catch (thrown) {
    if (!sink.hasBegun) throw thrown;
    sink.write(sseFrame(onOneLine(format.failure(thrown))));
  }
  sink.begin(call);
  sink.end();
}

function sseFrameAround(data: Iterable<Uint8Array | string>, id: number | undefined): Iterable<Uint8Array | string> {
  const [before = "", after = ""] = sseFrame("\0", id).split("\0");
  return framed(before, data, after);
}

/** Tells an iterator that nobody reads on. */
async function close(iterator: AsyncIterator<Message>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The reader is gone; there is nobody to tell.
  }
}

/** Puts frames together that become ready in the same tick, writes them, and keeps a silent connection open. */
class EventSink {
  hasBegun = false;
  /** Nothing is written any more. */
  isStopped = false;
  /** The iterator has come to its end and need not be closed. */
  isComplete = false;
  readonly #exchange: HttpExchange;
  readonly #heartbeatMs: number;
  #timer: NodeJS.Timeout | undefined;
  #pending = "";
  #isFlushDue = false;
  /** The connection takes no more for the moment. */
  #isBlocked = false;
  /** A frame has begun and not ended. */
  #isInside = false;

  constructor(exchange: HttpExchange, heartbeatMs: number) {
    this.#exchange = exchange;
    this.#heartbeatMs = heartbeatMs;
  }

  get isFull(): boolean {
    return this.#isBlocked || this.#pending.length >= FLUSH_AT;
  }

  /** Sends the headers, the first time. */
  begin(call: Call): void {
    if (this.hasBegun || this.isStopped) return;
    this.hasBegun = true;
    this.#exchange.begin(200, [...call.responseHeaders, ...streamHeaders]);
    this.#exchange.response.on("drain", () => {
      this.#isBlocked = false;
    });
    this.#timer = setInterval(this.#heartbeat, this.#heartbeatMs);
  }

  write(frame: string): void {
    this.#pending += frame;
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    process.nextTick(this.#flushDue);
  }

  /** Writes a large frame behind what is there, at the pace of the client; meanwhile no comment comes between. */
  async writeLarge(frame: Iterable<Uint8Array | string>, stalledMs: number): Promise<void> {
    this.#flush();
    this.#isInside = true;
    await writePieces(this.#exchange.response as PieceTarget, frame, stalledMs);
    this.#isInside = false;
    this.#timer?.refresh();
  }

  /** Waits until more may be written, and lets others have their turn meanwhile. */
  async room(): Promise<void> {
    this.#flush();
    const { response } = this.#exchange;
    if (!this.#isBlocked) return new Promise((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => {
      const proceed = (): void => {
        response.off("drain", proceed).off("close", proceed);
        resolve();
      };
      response.on("drain", proceed).on("close", proceed);
    });
  }

  end(): void {
    this.#flush();
    if (!this.isStopped) this.#exchange.end();
    this.stop();
  }

  stop(): void {
    this.isStopped = true;
    clearInterval(this.#timer);
  }

  readonly #flushDue = (): void => {
    this.#isFlushDue = false;
    try {
      this.#flush();
    } catch (error) {
      this.#fail(error);
    }
  };

  /** What is thrown outside of the stream's own course is the end of this stream, not of the process. */
  #fail(error: unknown): void {
    this.stop();
    this.#exchange.fail(error);
  }

  #flush(): void {
    if (this.#pending === "" || this.isStopped) return;
    this.#isBlocked = !this.#exchange.write(this.#pending);
    this.#pending = "";
    this.#timer?.refresh();
  }

  readonly #heartbeat = (): void => {
    try {
      if (!this.#isBlocked && !this.#isInside) this.#isBlocked = !this.#exchange.write(SSE_HEARTBEAT);
    } catch (error) {
      this.#fail(error);
    }
  };
}
