import { ServerResponse } from "node:http";
import { constants } from "node:http2";

/** What pieces are written to: a response of either version of HTTP, or a stream of HTTP/2. */
export interface PieceTarget {
  write(piece: Uint8Array | string): boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
  destroy(): unknown;
  readonly destroyed?: boolean;
  /** The stream of a response over HTTP/2. */
  readonly stream?: { readonly destroyed: boolean; close(code: number): void } | undefined;
  /** Closes a stream of HTTP/2. */
  close?(code: number): void;
}

/** Breaks off what has begun, so that its reader cannot take it for the whole (RFC 9113, 7: the code). */
export function breakOff(target: PieceTarget, code: number): void {
  if (target.stream !== undefined) target.stream.close(code);
  else if (target.close !== undefined) target.close(code);
  else target.destroy();
}

/** The code of a stream that is broken off because its reader takes nothing. */
export const STALLED: number = constants.NGHTTP2_ENHANCE_YOUR_CALM;

function isOver(target: PieceTarget): boolean {
  return target.destroyed ?? target.stream?.destroyed ?? true;
}

/**
 * Writes what is large at the pace of its reader: a piece is asked for when the one before has gone, and others have
 * their turn of the event loop between two. A reader who takes nothing for `stalledMs` milliseconds is cut off.
 *
 * @returns whether all was written; otherwise the reader is gone.
 * @throws what the pieces throw; the target is destroyed then, because a part of the message is out already.
 */
export async function writePieces(
  target: PieceTarget,
  pieces: Iterable<Uint8Array | string>,
  stalledMs: number,
): Promise<boolean> {
  try {
    for (const piece of pieces) {
      if (isOver(target)) return false;
      if (!target.write(piece)) await drained(target, stalledMs);
      // A socket that takes all at once drains before the event loop goes on.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return !isOver(target);
  } catch (error) {
    breakOff(target, constants.NGHTTP2_INTERNAL_ERROR);
    throw error;
  }
}

/** Until the target takes more, or is closed, by its reader or because that has stalled. */
function drained(target: PieceTarget, stalledMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      // It is not its turn yet: there is another answer before it on the connection.
      if (target instanceof ServerResponse && target.socket === null && !isOver(target)) return;
      breakOff(target, STALLED);
      end();
    }, stalledMs);
    const end = (): void => {
      clearInterval(timer);
      target.off("drain", end);
      target.off("close", end);
      resolve();
    };
    target.on("drain", end);
    target.on("close", end);
  });
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
