import * as http2 from "node:http2";
import { constants, type Http2Session, type Http2Stream } from "node:http2";
import type { Socket } from "node:net";
import { StreamTables, TransientSet } from "../../core/maps.js";
import { slowReader } from "../response.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";

/** Time between the pings that check a connection. */
export const keepAlive = { intervalMs: 15_000 } as const;

/** Limit of concurrent calls and streams of one connection, on either port. */
export const connectionStreams = { max: 256 } as const;

interface Http2Options {
  /** Serves requests as those of HTTP/1.1; their bodies must arrive within `requestTimeoutMs`. */
  readonly handler?: (request: NodeServerRequest, response: NodeServerResponse) => void;
  /** Called with each session, for a caller that serves its streams itself. */
  readonly begun?: (session: http2.ServerHttp2Session, socket: Socket) => void;
  /** Timeout of pings and request bodies, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** A connection without a stream is closed after this time, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** The HTTP/2 side of a port whose HTTP/1.1 server listens. */
export interface Http2Sessions {
  /** Takes over a connection, including the bytes that were unshifted into it. */
  accept(socket: Socket): void;
  /**
   * Asks clients to begin their next streams on another connection. A client gets a GOAWAY while one of its streams is
   * open: at once, or when it begins its next stream, which is still served. Node.js answers no stream that arrives
   * after a GOAWAY. A client with one stream at a time, such as nginx, has read the GOAWAY before it begins another
   * stream. Other clients learn from it which of their streams to repeat (RFC 9113, 6.8).
   */
  announceDrain(): void;
  /** Tells every client to finish its streams and start no new ones (GOAWAY, RFC 9113, 6.8). */
  drain(): void;
}

/** HTTP/2 on connections that are handed over one by one. */
export function createHttp2Sessions(options: Http2Options): Http2Sessions {
  const sessions = new Map<http2.ServerHttp2Session, { readonly open: OpenStreams; readonly end: () => void }>();
  let isDraining = false;
  const server = http2.createServer({
    settings: { maxConcurrentStreams: connectionStreams.max },
    // Parley limits requests and streams itself. Node's limit would refuse streams because other streams of the session
    // buffer much data, and it counts idle streams too.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  if (options.handler !== undefined) {
    server.on("request", options.handler);
    server.on("stream", (stream) => limitBody(stream, options.requestTimeoutMs));
  }
  const begin = (session: http2.ServerHttp2Session, socket: Socket): void => {
    // A connection always emits "close"; a session that was destroyed may not.
    socket.once("close", () => sessions.delete(session));
    closeWhenGone(session, socket, options);
    const tables = new StreamTables(session);
    session.on("stream", () => tables.began());
    const open = watchStreams(session, socket);
    const end = closeWhenIdle(session, socket, { open, idleTimeoutMs: options.idleTimeoutMs });
    sessions.set(session, { open, end });
    // Runs before the listeners that answer the stream.
    session.prependListener("stream", () => isDraining && end());
    options.begun?.(session, socket);
  };
  return {
    accept: (socket) => {
      // In HTTP/1.1 a client that has stopped sending still gets its answer; in HTTP/2 the session is over then.
      socket.allowHalfOpen = false;
      // Node creates the session synchronously, if at all. It does not expose its socket, so it is paired here.
      const begun = (session: http2.ServerHttp2Session): void => begin(session, socket);
      server.once("session", begun);
      server.emit("connection", socket);
      server.off("session", begun);
    },
    announceDrain: () => {
      isDraining = true;
      for (const { open, end } of sessions.values()) if (open.size > 0) end();
    },
    drain: () => {
      for (const { end } of sessions.values()) end();
    },
  };
}

/**
 * Ends a session and its connection. `destroy()` alone waits until pending bytes have been sent, possibly without end if
 * the other side does not read. Until then the session is destroyed but not closed, and its methods throw.
 */
function destroySession(session: http2.ServerHttp2Session, socket: Socket): void {
  session.destroy();
  socket.destroy();
}

interface Idle {
  readonly open: OpenStreams;
  readonly idleTimeoutMs: number;
}

/** Ends a session that has had no stream for a time. @returns a function that ends it after its open streams */
function closeWhenIdle(session: http2.ServerHttp2Session, socket: Socket, { open, idleTimeoutMs }: Idle): () => void {
  let isEnding = false;
  let cutOff: NodeJS.Timeout | undefined;
  // Node waits for clients that do not close their side, and for a stream whose headers never end. It does not report
  // such a stream.
  const cut = (): void => {
    if (open.size > 0) return;
    clearTimeout(cutOff);
    cutOff = setTimeout(() => open.size === 0 && destroySession(session, socket), CLOSE_MS);
  };
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    session.close();
    cut();
  };
  const idle = setTimeout(() => open.size === 0 && end(), idleTimeoutMs);
  open.onNone = () => (isEnding ? cut() : idle.refresh());
  socket.once("close", () => {
    clearTimeout(idle);
    clearTimeout(cutOff);
  });
  return end;
}

/** Ends the session of a client that does not answer pings. Its streams would stay open for a long time otherwise. */
function closeWhenGone(session: http2.ServerHttp2Session, socket: Socket, { requestTimeoutMs }: Http2Options): void {
  let pongTimer: NodeJS.Timeout | undefined;
  const answered = (): void => {
    clearTimeout(pongTimer);
    pongTimer = undefined;
  };
  const ask = setInterval(() => {
    if (pongTimer !== undefined) return;
    pongTimer = setTimeout(() => destroySession(session, socket), requestTimeoutMs);
    // Node.js throws for a destroyed session, and an exception in a timer ends the process.
    if (!session.destroyed) session.ping(answered);
  }, keepAlive.intervalMs);
  socket.once("close", () => {
    clearInterval(ask);
    answered();
  });
}

/** Time for a client without a stream to close its side of a connection, in milliseconds. */
const CLOSE_MS = 1_000;

/** Ends a stream whose body arrives too slowly or not at all; for HTTP/1.1 Node checks this itself. */
function limitBody(stream: http2.ServerHttp2Stream, requestTimeoutMs: number): void {
  // Missing from the types. True if HEADERS had END_STREAM, so that the request has no body.
  if ((stream as { endAfterHeaders?: boolean }).endAfterHeaders === true) return;
  const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM), requestTimeoutMs);
  const stop = (): void => clearTimeout(timer);
  stream.once("end", stop).once("close", stop);
}

/** The open streams of a session. */
interface OpenStreams {
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
  /** Time at which its complete answer was first seen waiting for the reader, in milliseconds. */
  [sinceKey]?: number;
  /** Number of bytes that waited then. */
  [bytesKey]?: number;
}

const openKey: unique symbol = Symbol("open");
const sinceKey: unique symbol = Symbol("since");
const bytesKey: unique symbol = Symbol("bytes");

/** Number of checks of a session's streams per `slowReader.timeoutMs`. */
const LOOKS = 4;

/**
 * Ends streams whose complete answer is not read. HTTP/2 has flow control per stream, so a client could leave any
 * number of answers in memory on a working connection. A reader has `slowReader.timeoutMs` for each
 * `slowReader.minBytes` that wait. The writer of an answer checks it while it is being written.
 */
function watchStreams(session: Http2Session, socket: Socket): OpenStreams {
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
  socket.once("close", () => clearInterval(timer));
  return open;
}

function forget(this: Watched): void {
  const open = this[openKey];
  if (open?.delete(this) && open.size === 0) open.onNone();
}
