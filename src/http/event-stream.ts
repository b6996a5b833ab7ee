import type { Message } from "@bufbuild/protobuf";
import { bounded } from "../core/async.js";
import type { Call } from "../core/call.js";
import { yieldToEventLoop } from "../core/event-loop.js";
import { onOneLine } from "../wire/json-text.js";
import { generationOf, weightOf } from "../wire/marks.js";
import { SSE_HEARTBEAT, sseFrame } from "../wire/sse.js";
import { framed, writePieces } from "./pieces.js";
import type { HttpRequest } from "./request.js";
import type { BodySource, BodyWriter, HttpResponse } from "./response.js";

/** Encodes the events of a binding's stream. */
export interface EventFormat {
  /** Encodes a message as JSON on one line (`onOneLine`). */
  readonly data: (message: Message) => string;
  /** Encodes a large message in pieces. */
  readonly pieces: (message: Message) => Iterable<Uint8Array | string>;
  /** Encodes an error as JSON: the last event of a stream that fails after its first event. */
  readonly failure: (thrown: unknown) => string;
}

interface EventStream {
  readonly call: Call;
  readonly messages: AsyncIterable<Message>;
  readonly format: EventFormat;
}

/** Time between two comments on a silent stream; common clients give up after five seconds of silence. */
export const heartbeat = { intervalMs: 4_000 } as const;

/** Maximum number of buffered characters before they are written and other connections get their turn. */
const FLUSH_AT = 32 * 1024;

/** Headers that prevent caches and proxies from buffering or changing an event stream. */
const streamHeaders: readonly (readonly [string, string])[] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  ["x-accel-buffering", "no"],
];

/**
 * Answers with a stream of server-sent events (specification 9.4.2, 11.7), at the pace of the client: a message is read
 * from the log when it can be written, so a slow reader costs no memory. The answer begins with the first message.
 *
 * @throws the stream's error before its first message, so that the answer can be an ordinary error; CANCELLED if the
 * client disconnects before it.
 */
export async function eventsResponse(request: HttpRequest, stream: EventStream): Promise<HttpResponse> {
  const iterator = stream.messages[Symbol.asyncIterator]();
  let first: IteratorResult<Message> | undefined;
  try {
    first = await bounded(iterator.next(), { cancellation: request });
  } finally {
    if (first === undefined) void close(iterator);
  }
  const headers = [...stream.call.answerHeaders, ...streamHeaders];
  return { status: 200, headers, body: new EventsBody(request, iterator, first, stream) };
}

/** Converts a JSON answer to a stream with a single event. */
export function singleEvent({
  body,
  headers = [],
  ...response
}: HttpResponse & { readonly body: string }): HttpResponse {
  const { type: _json, ...rest } = response;
  return { ...rest, headers: [...headers, ...streamHeaders], body: sseFrame(onOneLine(body)) };
}

/** The body of an event stream. */
class EventsBody implements BodySource {
  readonly #request: HttpRequest;
  readonly #iterator: AsyncIterator<Message>;
  /** The received result that is not written yet. */
  #next: IteratorResult<Message> | undefined;
  readonly #stream: EventStream;

  constructor(
    request: HttpRequest,
    iterator: AsyncIterator<Message>,
    first: IteratorResult<Message>,
    stream: EventStream,
  ) {
    this.#request = request;
    this.#iterator = iterator;
    this.#next = first;
    this.#stream = stream;
  }

  /** Ends at once if the client disconnects, without waiting for the next message. */
  writeTo(writer: BodyWriter): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let forget = (): void => {};
      const sink = new EventSink(writer, (error) => {
        forget();
        if (!sink.isComplete) void close(this.#iterator);
        if (error === undefined) resolve(!writer.isOver && !this.#request.canceled);
        else reject(error);
      });
      forget = this.#request.onCancel(() => sink.end());
      void this.#pump(sink);
    });
  }

  cancel(): void {
    void close(this.#iterator);
  }

  async #pump(sink: EventSink): Promise<void> {
    const { format } = this.#stream;
    try {
      try {
        while (!sink.isOver) {
          this.#next ??= await this.#iterator.next();
          if (this.#next.done === true) {
            sink.isComplete = true;
            break;
          }
          const large = this.#write(this.#next.value, sink);
          // A waiting stream must not keep its last message in memory.
          this.#next = undefined;
          if (large !== undefined) await large;
          if (sink.isFull) await sink.waitForDrain();
        }
      } catch (thrown) {
        if (!sink.isOver) sink.write(sseFrame(onOneLine(format.failure(thrown))));
      }
      sink.flush();
      sink.end();
    } catch (error) {
      sink.end(error);
    }
  }

  /** @returns a promise if the message is large, because it is written at the pace of the client */
  #write(message: Message, sink: EventSink): Promise<void> | undefined {
    const { format } = this.#stream;
    const id = generationOf(message);
    if (weightOf(message) === undefined) return void sink.write(sseFrame(format.data(message), id));
    return sink.writeLarge(sseFrameAround(format.pieces(message), id));
  }
}

function sseFrameAround(data: Iterable<Uint8Array | string>, id: number | undefined): Iterable<Uint8Array | string> {
  const [before = "", after = ""] = sseFrame("\0", id).split("\0");
  return framed(before, data, after);
}

/** Closes an iterator. */
async function close(iterator: AsyncIterator<Message>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The stream is over, so the error cannot be sent.
  }
}

/** Joins frames that become ready in the same tick, writes them, and keeps a silent connection open with comments. */
class EventSink {
  /** True after the end: nothing more is written. */
  isOver = false;
  /** True if the iterator has ended and need not be closed. */
  isComplete = false;
  readonly #writer: BodyWriter;
  readonly #ended: (error?: unknown) => void;
  /**
   * Timer of the comments. In some runtimes it is a number, which cannot be refreshed: comments then have fixed times.
   */
  readonly #timer: NodeJS.Timeout;
  #pending = "";
  #isFlushDue = false;
  /** True while a large frame is being written. */
  #isInside = false;

  /** @param ended is called once, with the stream's error, if any */
  constructor(writer: BodyWriter, ended: (error?: unknown) => void) {
    this.#writer = writer;
    this.#ended = ended;
    this.#timer = setInterval(EventSink.#heartbeat, heartbeat.intervalMs, this);
  }

  get isFull(): boolean {
    return this.#writer.isBlocked || this.#pending.length >= FLUSH_AT;
  }

  write(frame: string): void {
    this.#pending += frame;
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    process.nextTick(EventSink.#flushDue, this);
  }

  /** Writes the buffered frames, then a large frame at the pace of the client, without comments in between. */
  async writeLarge(frame: Iterable<Uint8Array | string>): Promise<void> {
    this.flush();
    this.#isInside = true;
    await writePieces(this.#writer, frame);
    this.#isInside = false;
    this.#timer.refresh?.();
  }

  /**
   * Waits until more may be written, and lets other work of the event loop run meanwhile. A client that does not take
   * the written bytes within `slowReader.timeoutMs` is disconnected.
   */
  waitForDrain(): Promise<void> {
    this.flush();
    return this.#writer.isBlocked ? this.#writer.waitForDrain() : yieldToEventLoop();
  }

  end(error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    clearInterval(this.#timer);
    this.#ended(error);
  }

  flush(): void {
    if (this.#pending === "" || this.isOver) return;
    this.#writer.write(this.#pending);
    this.#pending = "";
    this.#timer.refresh?.();
  }

  // An exception in a timer or a tick must end only its stream, not the process.

  static #flushDue(sink: EventSink): void {
    sink.#isFlushDue = false;
    try {
      sink.flush();
    } catch (error) {
      sink.end(error);
    }
  }

  static #heartbeat(sink: EventSink): void {
    try {
      if (!sink.#writer.isBlocked && !sink.#isInside) sink.#writer.write(SSE_HEARTBEAT);
    } catch (error) {
      sink.end(error);
    }
  }
}
