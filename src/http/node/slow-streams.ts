import { constants, type Http2Session, type Http2Stream } from "node:http2";
import type { Limits } from "../../core/limits.js";
import { TransientSet } from "../../core/transient.js";

/** A stream of HTTP/2, with what is noted of it. */
interface Watched extends Http2Stream {
  [openKey]?: TransientSet<Watched>;
  /** When it was first seen that its answer is complete and waits for its reader, in milliseconds. */
  [sinceKey]?: number;
  /** How many bytes waited then. */
  [bytesKey]?: number;
  [completeKey]?: true;
}

const openKey: unique symbol = Symbol("open");
const sinceKey: unique symbol = Symbol("since");
const bytesKey: unique symbol = Symbol("bytes");
const completeKey: unique symbol = Symbol("complete");

/** Looks at the streams of a session within each `stalledReaderMs`. */
const LOOKS = 4;

/**
 * Breaks off streams whose answer is complete here and is not taken: HTTP/2 has flow control for each stream, so a reader
 * may leave any number of answers in memory on a connection that gets on otherwise. For every `minReaderBytes` of what
 * waits it has `stalledReaderMs`. What is still being written is looked after by whoever writes it.
 */
export function watchStreams(
  session: Http2Session,
  { stalledReaderMs, minReaderBytes }: Pick<Limits, "stalledReaderMs" | "minReaderBytes">,
): void {
  const open = new TransientSet<Watched>();
  session.on("stream", (stream: Watched) => {
    stream[openKey] = open;
    open.add(stream);
    stream.once("close", forget);
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const stream of open.values()) {
      const waiting = stream.writableEnded || stream[completeKey] ? stream.bufferSize : 0;
      if (waiting === 0) continue;
      stream[sinceKey] ??= now;
      stream[bytesKey] ??= waiting;
      const allowedMs = stalledReaderMs * Math.max(1, Math.ceil(stream[bytesKey] / minReaderBytes));
      if (now - stream[sinceKey] >= allowedMs) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }, stalledReaderMs / LOOKS).unref();
  session.once("close", () => clearInterval(timer));
}

/** Notes that an answer is complete whose stream is ended by somebody else, when what was written has left. */
export function noteComplete(stream: Watched | undefined): void {
  if (stream !== undefined) stream[completeKey] = true;
}

function forget(this: Watched): void {
  this[openKey]?.delete(this);
}
