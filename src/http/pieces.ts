import type { BodySource, BodyWriter } from "./response.js";

/**
 * Writes what is large at the pace of its reader: a piece is asked for when the one before has gone, and others have
 * their turn of the event loop between two. A reader who takes nothing for `stalledMs` milliseconds is cut off.
 *
 * @returns whether all was written; otherwise the reader is gone.
 * @throws what the pieces throw; it is broken off then, because a part of the message is out already.
 */
export async function writePieces(
  writer: BodyWriter,
  pieces: Iterable<Uint8Array | string>,
  stalledMs: number,
): Promise<boolean> {
  try {
    for (const piece of pieces) {
      if (writer.isOver) return false;
      if (!writer.write(piece)) await writer.waitForDrain(stalledMs);
      // A socket that takes all at once drains before the event loop goes on.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return !writer.isOver;
  } catch (error) {
    writer.breakOff("failed");
    throw error;
  }
}

/** What stands around the pieces of a message. */
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
  /** About as many bytes as there will be, where somebody counts them. */
  readonly bytes?: number;
  /** See `writePieces`. */
  readonly stalledMs: number;
  /** Called when it is written, or never will be. */
  readonly written: (() => void) | undefined;
  /** Called when it cannot be made, after a part of it is out: all that can be done is to say so in the log. */
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
    const { pieces, stalledMs, failed } = this.#options;
    try {
      return await writePieces(writer, pieces, stalledMs);
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
