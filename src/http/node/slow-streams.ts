import { constants, type Http2Session, type Http2Stream } from "node:http2";
import { TransientSet } from "../../core/maps.js";
import { slowReader } from "../response.js";

/** The open streams of a session. */
export interface OpenStreams {
  readonly size: number;
  /** Called whenever the last one has ended. */
  onNone: () => void;
}

class Streams extends TransientSet<Watched> implements OpenStreams {
  onNone: () => void = () => {};
}

/** An HTTP/2 stream, with notes about it. */
interface Watched extends Http2Stream {
  [openKey]?: Streams;
  /** When its complete answer was first seen waiting for its reader, in milliseconds. */
  [sinceKey]?: number;
  /** How many bytes waited then. */
  [bytesKey]?: number;
}

const openKey: unique symbol = Symbol("open");
const sinceKey: unique symbol = Symbol("since");
const bytesKey: unique symbol = Symbol("bytes");

/** How often the streams of a session are checked within `slowReader.timeoutMs`. */
const LOOKS = 4;

/**
 * Ends streams whose complete answer is not read. HTTP/2 has flow control for each stream, so a client can leave any number
 * of answers in memory on a connection that otherwise works. A reader has `slowReader.timeoutMs` for each `slowReader.minBytes` that
 * wait. Answers that are still being written are checked by the code that writes them.
 */
export function watchStreams(session: Http2Session): OpenStreams {
  const { timeoutMs, minBytes } = slowReader;
  const open = new Streams();
  session.on("stream", (stream: Watched) => {
    stream[openKey] = open;
    open.add(stream);
    stream.on("close", forget);
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const stream of open.values()) {
      const waiting = stream.writableEnded ? stream.bufferSize : 0;
      if (waiting === 0) continue;
      stream[sinceKey] ??= now;
      stream[bytesKey] ??= waiting;
      const allowedMs = timeoutMs * Math.max(1, Math.ceil(stream[bytesKey] / minBytes));
      if (now - stream[sinceKey] >= allowedMs) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }, timeoutMs / LOOKS).unref();
  session.once("close", () => clearInterval(timer));
  return open;
}

function forget(this: Watched): void {
  const open = this[openKey];
  if (open?.delete(this) && open.size === 0) open.onNone();
}
