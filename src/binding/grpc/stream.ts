import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { NodeWriter } from "../../http/node/writer.js";
import { writePieces } from "../../http/pieces.js";
import { weightOf } from "../../wire/marks.js";
import { cachedEnvelope } from "../../wire/serialization-cache.js";
import type { Exchange } from "./exchange.js";
import { largeEnvelope } from "./message.js";

/** The most bytes that are collected before they are written and other connections get their turn. */
const FLUSH_AT = 32 * 1024;

/** How the messages of a stream are written. */
export interface Writing {
  readonly desc: DescMessage;
  /** A message behind its envelope. */
  readonly write: (message: Message) => Uint8Array;
  readonly limits: Limits;
  readonly logger: Logger;
}

/**
 * Writes messages to a call, in their order, at the pace of the client: while what was written has not left (HTTP/2
 * flow control), nothing further is taken from the iterable. Ends the call with status OK after the last one.
 *
 * When the client leaves or its deadline passes, `return()` of the iterable is called at once, also while a message
 * is awaited, and the promise resolves. It rejects with what the iterable or the writing throws; the call is then
 * open, for its status to be set.
 */
export async function writeAll(messages: AsyncIterable<Message>, sink: MessageSink): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // No caller is left that could be given an error of the iterable's cleanup.
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  const forget = sink.exchange.onCancel(stop);
  try {
    for (;;) {
      let next: IteratorResult<Message> | undefined = await iterator.next();
      if (sink.exchange.canceled) return;
      if (next.done === true) break;
      try {
        const room = sink.take(next.value);
        // A stream that waits must not keep its last message in memory.
        next = undefined;
        if (room !== undefined) await room;
      } catch (error) {
        stop();
        throw error;
      }
      if (sink.exchange.canceled) return;
    }
    sink.end();
  } finally {
    sink.flush();
    forget();
  }
}

/** Joins messages that become ready in the same tick and writes them: a write costs more than a message does. */
export class MessageSink {
  readonly exchange: Exchange;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #writing: Writing;
  readonly #writer: NodeWriter;
  #pending: Uint8Array[] = [];
  #size = 0;

  constructor(exchange: Exchange, headers: ReadonlyMap<string, string>, writing: Writing) {
    this.exchange = exchange;
    this.#headers = headers;
    this.#writing = writing;
    this.#writer = new NodeWriter(exchange.stream);
  }

  /** Takes a message. @returns a promise where the next one has to wait. */
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
    if (this.exchange.isOver) return;
    this.exchange.begin(this.#headers);
    this.#writer.write(pending.length === 1 ? first : Buffer.concat(pending, size));
  }

  end(): void {
    this.flush();
    this.exchange.end(this.#headers);
  }

  /** A reader that does not take what was written is cut off, and then treated as a client that has left. */
  #waitForDrain(): Promise<void> {
    this.flush();
    return this.#writer.isBlocked ? this.#writer.waitForDrain() : new Promise((resolve) => setImmediate(resolve));
  }

  async #large(message: Message): Promise<void> {
    const { desc, limits } = this.#writing;
    const pieces = await largeEnvelope(desc, message, limits);
    this.flush();
    if (this.#writer.isBlocked) await this.#writer.waitForDrain();
    if (this.exchange.isOver) return;
    await this.exchange.writeLarge(this.#headers, () => writePieces(this.#writer, pieces));
  }

  readonly #flushDue = (): void => {
    try {
      this.flush();
    } catch (error) {
      // Thrown from here it would end the process.
      this.#writing.logger.error({ err: error }, "a stream of gRPC could not be written");
      this.exchange.breakOff();
    }
  };
}
