import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Cancellation } from "../../core/async.js";
import type { Call } from "../../core/call.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import type { Limits } from "../../core/limits.js";
import { type Logger, logFacts } from "../../core/log.js";
import { NodeWriter } from "../../http/node/writer.js";
import { writePieces } from "../../http/pieces.js";
import { weightOf } from "../../wire/marks.js";
import { cachedEnvelope } from "../../wire/serialization-cache.js";
import type { GrpcExchange } from "./exchange.js";
import { largeEnvelope } from "./message.js";

/** Size at which collected messages are written and other connections are served, in bytes. */
const FLUSH_AT = 32 * 1024;

/** Options for writing the messages of a stream. */
export interface Writing {
  readonly call: Call;
  readonly desc: DescMessage;
  /** Encodes a message with its prefix. */
  readonly write: (message: Message) => Uint8Array;
  readonly limits: Limits;
  readonly logger: Logger;
}

/** A call that takes the messages of a stream. */
export interface StreamSink {
  readonly client: Pick<Cancellation, "canceled" | "onCancel">;
  /** Takes a message. @returns a promise if the next message has to wait */
  take(message: Message): Promise<void> | undefined;
  /** Writes the messages that `take` has kept. */
  flush?(): void;
  /** Ends the call with status OK. */
  end(): void;
}

/**
 * Writes messages to a call, in order and at the client's pace: while written bytes are unsent (HTTP/2 flow control),
 * it does not read from the iterable. Ends the call with status OK after the last message.
 *
 * When the client leaves or its deadline passes, it calls `return()` of the iterable at once, also while a message is
 * awaited, and the promise resolves. It rejects with errors of the iterable or the writing; the call is then still open
 * for its status.
 */
export async function writeAll(messages: AsyncIterable<Message>, sink: StreamSink): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // No caller is left to handle an error of the iterable's cleanup.
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  const forget = sink.client.onCancel(stop);
  try {
    for (;;) {
      let next: IteratorResult<Message> | undefined = await iterator.next();
      if (sink.client.canceled) return;
      if (next.done === true) break;
      try {
        const drained = sink.take(next.value);
        // A waiting stream must not keep its last message in memory.
        next = undefined;
        if (drained !== undefined) await drained;
      } catch (error) {
        stop();
        throw error;
      }
      if (sink.client.canceled) return;
    }
    sink.end();
  } finally {
    sink.flush?.();
    forget();
  }
}

/** Joins messages that become ready in the same tick into one write, which costs more than a message. */
export class MessageSink implements StreamSink {
  readonly client: GrpcExchange;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #writing: Writing;
  readonly #writer: NodeWriter;
  #pending: Uint8Array[] = [];
  #size = 0;

  constructor(exchange: GrpcExchange, writing: Writing) {
    this.client = exchange;
    this.#headers = writing.call.responseHeaders;
    this.#writing = writing;
    this.#writer = new NodeWriter(exchange.stream);
  }

  take(message: Message): Promise<void> | undefined {
    if (weightOf(message) !== undefined) return this.#large(message);
    const envelope = cachedEnvelope(message, this.#writing.write);
    this.#size += envelope.length;
    if (this.#pending.push(envelope) === 1) process.nextTick(this.#flushDue);
    return this.#writer.isBlocked || this.#size >= FLUSH_AT ? this.#waitForDrain() : undefined;
  }

  flush(): void {
    const pending = this.#pending;
    const [first] = pending;
    if (first === undefined) return;
    this.#pending = [];
    const size = this.#size;
    this.#size = 0;
    if (this.client.isOver) return;
    this.client.begin(this.#headers);
    this.#writer.write(pending.length === 1 ? first : Buffer.concat(pending, size));
  }

  end(): void {
    this.flush();
    this.client.end(this.#headers);
  }

  /** Waits until more may be written. A stalled reader is disconnected, as if the client had left. */
  #waitForDrain(): Promise<void> {
    this.flush();
    return this.#writer.isBlocked ? this.#writer.waitForDrain() : yieldToEventLoop();
  }

  async #large(message: Message): Promise<void> {
    const pieces = await largeEnvelope(this.#writing.desc, message, this.#writing);
    this.flush();
    if (this.#writer.isBlocked) await this.#writer.waitForDrain();
    if (this.client.isOver) return;
    await this.client.writeLarge(this.#headers, () => writePieces(this.#writer, pieces));
  }

  readonly #flushDue = (): void => {
    try {
      this.flush();
    } catch (error) {
      // An exception here would end the process.
      const { call, logger } = this.#writing;
      logger.error({ err: error, ...logFacts(call) }, "a stream of gRPC could not be written");
      this.client.breakOff();
    }
  };
}
