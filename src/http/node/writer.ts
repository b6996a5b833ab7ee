import { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { BodyWriter } from "../response.js";

/** What bodies are written to: a response of either version of HTTP, or a stream of HTTP/2. */
export interface WriteTarget {
  write(piece: Uint8Array | string): boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
  destroy(): unknown;
  readonly destroyed?: boolean;
  /** The stream of a response over HTTP/2. */
  readonly stream?: { readonly destroyed: boolean; close(code: number): void } | undefined;
  /** Closes a stream of HTTP/2. */
  close?(code: number): void;
  /** What middleware that compresses adds: without it the pieces of a stream would be held back. */
  flush?(): void;
}

/** The code of a stream that is broken off (RFC 9113, 7). */
const codes = { stalled: constants.NGHTTP2_ENHANCE_YOUR_CALM, failed: constants.NGHTTP2_INTERNAL_ERROR };

/** Writes a body to a response of Node. */
export class NodeWriter implements BodyWriter {
  readonly #target: WriteTarget;
  #isBlocked = false;
  #isBrokenOff = false;
  /** It listens for "drain" from the first time that it is blocked. */
  #isListening = false;

  constructor(target: object) {
    // All classes have these forms, among overloads that the type checker cannot unite.
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

  waitForDrain(stalledMs: number): Promise<void> {
    if (this.isOver || !this.#isBlocked) return Promise.resolve();
    const target = this.#target;
    return new Promise((resolve) => {
      const end = (): void => {
        clearInterval(timer);
        target.off("drain", end);
        target.off("close", end);
        resolve();
      };
      const look = (): void => {
        // It is not its turn yet: there is another answer before it on the connection.
        if (target instanceof ServerResponse && target.socket === null && !this.isOver) return;
        this.breakOff("stalled");
        end();
      };
      const timer = setInterval(look, stalledMs);
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
