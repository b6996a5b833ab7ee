import { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { type BodyWriter, slowReader } from "../response.js";

/** Target of a body: an HTTP/1.1 or HTTP/2 response, or an HTTP/2 stream. */
interface WriteTarget {
  write(piece: Uint8Array | string): boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
  destroy(): unknown;
  readonly destroyed?: boolean;
  /** The stream of an HTTP/2 response. */
  readonly stream?: { readonly destroyed: boolean; close(code: number): void } | undefined;
  /** Closes an HTTP/2 stream. */
  close?(code: number): void;
  /** Added by compression middleware, which would buffer the chunks of a stream without it. */
  flush?(): void;
}

/** Error codes of an aborted stream (RFC 9113, 7). */
const codes = { stalled: constants.NGHTTP2_ENHANCE_YOUR_CALM, failed: constants.NGHTTP2_INTERNAL_ERROR };

/** Writes a body to a response of Node. */
export class NodeWriter implements BodyWriter {
  readonly #target: WriteTarget;
  #isBlocked = false;
  #isBrokenOff = false;
  /** True after it was blocked for the first time and listens for "drain". */
  #isListening = false;

  constructor(target: object) {
    // All of these classes have the methods, but with overloads that the type checker cannot unify.
    this.#target = target as WriteTarget;
  }

  get isOver(): boolean {
    return this.#isBrokenOff || (this.#target.destroyed ?? this.#target.stream?.destroyed ?? true);
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  write(piece: string | Uint8Array): boolean {
    const target = this.#target;
    const takesMore = target.write(piece);
    target.flush?.();
    if (takesMore) return true;
    this.#isBlocked = true;
    if (!this.#isListening) {
      this.#isListening = true;
      target.on("drain", () => {
        this.#isBlocked = false;
      });
    }
    return false;
  }

  waitForDrain(): Promise<void> {
    if (this.isOver || !this.#isBlocked) return Promise.resolve();
    const target = this.#target;
    return new Promise((resolve) => {
      const end = (): void => {
        clearInterval(timer);
        target.off("drain", end);
        target.off("close", end);
        resolve();
      };
      const check = (): void => {
        // Still waiting for an earlier answer on the connection.
        if (target instanceof ServerResponse && target.socket === null && !this.isOver) return;
        this.breakOff("stalled");
        end();
      };
      const timer = setInterval(check, slowReader.timeoutMs);
      target.on("drain", end);
      target.on("close", end);
    });
  }

  breakOff(why: "stalled" | "failed"): void {
    const target = this.#target;
    this.#isBrokenOff = true;
    if (target.stream !== undefined) target.stream.close(codes[why]);
    else if (target.close !== undefined) target.close(codes[why]);
    else target.destroy();
  }
}
