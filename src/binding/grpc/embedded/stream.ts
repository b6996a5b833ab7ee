import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../../../core/error.js";
import { slowReader } from "../../../http/response.js";
import { weightOf } from "../../../wire/marks.js";
import { cachedEnvelope } from "../../../wire/serialization-cache.js";
import { wholeEnvelope } from "../message.js";
import type { StreamSink, Writing } from "../stream.js";
import { type GrpcCallStart, type StreamCall, sendHeaders } from "./call.js";
import { withoutPrefix } from "./definition.js";

/** Writes to a call and counts the unsent messages. */
export class GrpcJsSink implements StreamSink {
  readonly client: GrpcCallStart;
  readonly #grpc: StreamCall;
  readonly #writing: Omit<Writing, "logger">;
  #hasStarted = false;
  #pending = 0;
  #left: (() => void) | undefined;

  constructor(grpc: StreamCall, client: GrpcCallStart, writing: Omit<Writing, "logger">) {
    this.#grpc = grpc;
    this.client = client;
    this.#writing = writing;
  }

  take(message: Message): Promise<void> | undefined {
    if (weightOf(message) !== undefined) return this.#large(message);
    return this.#write(cachedEnvelope(message, this.#writing.write)) ? undefined : this.#sent(slowReader.timeoutMs);
  }

  end(): void {
    this.#grpc.end();
  }

  /** Writes a large message and waits until it was sent: until then it counts for its reader. */
  async #large(message: Message): Promise<void> {
    this.#write(await wholeEnvelope(this.#writing.desc, message, this.#writing));
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
      const check = (): void => {
        if (this.#pending === before) {
          reject(new A2AError("CANCELLED", "The client stopped reading."));
          end();
        }
        before = this.#pending;
      };
      const timer = timeoutMs < Number.POSITIVE_INFINITY ? setInterval(check, timeoutMs) : undefined;
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
