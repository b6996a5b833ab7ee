import { nextRound } from "../core/event-loop.js";
import type { BodySource, BodyWriter } from "./response.js";

/**
 * Writes a large body at the pace of its reader: a piece is made when the one before has been taken, and other work of the
 * event loop runs between two pieces. A reader who takes nothing for `slowReader.timeoutMs` is cut off.
 *
 * @returns whether all was written; otherwise the reader has gone away.
 * @throws what the pieces throw. The body is then broken off, because a part of it has already been sent.
 */
export async function writePieces(writer: BodyWriter, pieces: Iterable<Uint8Array | string>): Promise<boolean> {
  try {
    for (const piece of pieces) {
      if (writer.isOver) return false;
      if (!writer.write(piece)) await writer.waitForDrain();
      // A socket that takes everything at once drains before other work of the event loop runs.
      await nextRound();
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

export interface PiecesOptions {
  readonly pieces: Iterable<Uint8Array | string>;
  /** About how many bytes there will be, where they are counted. */
  readonly bytes?: number;
  /** Called when the body was written, or will never be. */
  readonly written: (() => void) | undefined;
  /** Called when the body cannot be made after a part of it was sent; all that is left is to log the error. */
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
