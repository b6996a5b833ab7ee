import { yieldToEventLoop } from "../core/event-loop.js";
import type { BodySource, BodyWriter } from "./response.js";

/**
 * Writes a large body at the pace of its reader. It generates a piece after the reader has taken the previous one, and
 * other work of the event loop runs between two pieces. A reader that takes nothing for `slowReader.timeoutMs` is
 * disconnected.
 *
 * @returns true if the whole body was written, false if the reader disconnected.
 * @throws the error of `pieces`. The body is aborted then, because a part of it has already been sent.
 */
export async function writePieces(writer: BodyWriter, pieces: Iterable<Uint8Array | string>): Promise<boolean> {
  try {
    for (const piece of pieces) {
      if (writer.isOver) return false;
      if (!writer.write(piece)) await writer.waitForDrain();
      // A socket that takes everything at once drains before other work of the event loop runs.
      await yieldToEventLoop();
    }
    return !writer.isOver;
  } catch (error) {
    writer.breakOff("failed");
    throw error;
  }
}

/** Puts a text before and after the pieces of a message. */
export function* framed(
  before: string,
  pieces: Iterable<Uint8Array | string>,
  after: string,
): Generator<Uint8Array | string, void, undefined> {
  yield before;
  yield* pieces;
  yield after;
}

interface PiecesOptions {
  readonly pieces: Iterable<Uint8Array | string>;
  /** Approximate size in bytes, if known. */
  readonly bytes?: number;
  /** Called after the body was written or abandoned. */
  readonly written: (() => void) | undefined;
  /** Called if generating the body fails after a part of it was sent, so that the error can only be logged. */
  readonly failed: (thrown: unknown) => void;
}

/** A large message as a body. */
export class PiecesBody implements BodySource {
  readonly pieces: Iterable<Uint8Array | string>;
  readonly bytes: number;
  readonly #options: PiecesOptions;

  constructor(options: PiecesOptions) {
    this.pieces = options.pieces;
    this.bytes = options.bytes ?? 0;
    this.#options = options;
  }

  async writeTo(writer: BodyWriter): Promise<boolean> {
    const { pieces, failed } = this.#options;
    try {
      return await writePieces(writer, pieces);
    } catch (thrown) {
      failed(thrown);
      return false;
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    this.#options.written?.();
  }
}
