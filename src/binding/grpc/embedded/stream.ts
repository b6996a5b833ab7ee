import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Call } from "../../../core/call.js";
import { A2AError } from "../../../core/error.js";
import type { Limits } from "../../../core/limits.js";
import { slowReader } from "../../../http/response.js";
import { weightOf } from "../../../wire/marks.js";
import { cachedEnvelope } from "../../../wire/serialization-cache.js";
import { wholeEnvelope } from "../message.js";
import { type StreamCall, sendHeaders } from "./call.js";
import { withoutPrefix } from "./definition.js";

/** Options for writing the messages of a stream. */
export interface Writing {
  readonly call: Call;
  readonly desc: DescMessage;
  /** Encodes a message with its prefix. */
  readonly write: (message: Message) => Uint8Array;
  readonly limits: Limits;
}

/**
 * Writes messages to a call, in order and at the client's pace: while written bytes are unsent (HTTP/2 flow control),
 * it does not read from the iterable. Ends the call with status OK after the last message.
 *
 * When the client leaves or its deadline passes, it calls `return()` of the iterable at once, also while a message is
 * awaited, and the promise resolves. It rejects with errors of the iterable or the writing; the call is then still open
 * for its status.
 */
export async function writeAll(grpc: StreamCall, messages: AsyncIterable<Message>, writing: Writing): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const stop = (): void => {
    // No caller is left to handle an error of the iterable's cleanup.
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  if (grpc.cancelled) return stop();
  grpc.once("cancelled", stop);
  const sink = new Sink(grpc, writing);
  try {
    for (;;) {
      let next: IteratorResult<Message> | undefined = await iterator.next();
      if (grpc.cancelled) return;
      if (next.done === true) break;
      try {
        const room = sink.take(next.value);
        // A waiting stream must not keep its last message in memory.
        next = undefined;
        if (room !== undefined) await room;
      } catch (error) {
        stop();
        throw error;
      }
      if (grpc.cancelled) return;
    }
  } finally {
    grpc.off("cancelled", stop);
  }
  grpc.end();
}

/** Writes to a call and counts the unsent messages. */
class Sink {
  readonly #grpc: StreamCall;
  readonly #writing: Writing;
  #hasStarted = false;
  #pending = 0;
  #left: (() => void) | undefined;

  constructor(grpc: StreamCall, writing: Writing) {
    this.#grpc = grpc;
    this.#writing = writing;
  }

  /** Takes a message. @returns a promise if the next message has to wait */
  take(message: Message): Promise<void> | undefined {
    if (weightOf(message) !== undefined) return this.#large(message);
    return this.#write(cachedEnvelope(message, this.#writing.write)) ? undefined : this.#sent(slowReader.timeoutMs);
  }

  /** Writes a large message and waits until it was sent: until then it counts for its reader. */
  async #large(message: Message): Promise<void> {
    const { desc, limits } = this.#writing;
    this.#write(await wholeEnvelope(desc, message, limits));
    // grpc-js does not tell a slow reader of one message from a stalled one.
    await this.#sent(Number.POSITIVE_INFINITY);
  }

  #write(envelope: Uint8Array): boolean {
    if (!this.#hasStarted) sendHeaders(this.#grpc, this.#writing.call);
    this.#hasStarted = true;
    this.#pending++;
    return this.#grpc.write(withoutPrefix(envelope), this.#written);
  }

  readonly #written = (): void => {
    if (--this.#pending === 0) this.#left?.();
  };

  /**
   * Resolves when everything written was sent, or the call has ended.
   *
   * @throws A2AError if no message could be sent to the client for `timeoutMs` milliseconds
   */
  #sent(timeoutMs: number): Promise<void> {
    const grpc = this.#grpc;
    if (this.#pending === 0 || grpc.cancelled) return Promise.resolve();
    return new Promise((resolve, reject) => {
      let before = this.#pending;
      const look = (): void => {
        if (this.#pending === before) {
          reject(new A2AError("CANCELLED", "The client stopped reading."));
          end();
        }
        before = this.#pending;
      };
      const timer = timeoutMs < Number.POSITIVE_INFINITY ? setInterval(look, timeoutMs) : undefined;
      const end = (): void => {
        clearInterval(timer);
        grpc.off("close", end);
        resolve();
      };
      this.#left = end;
      grpc.once("close", end);
    });
  }
}
