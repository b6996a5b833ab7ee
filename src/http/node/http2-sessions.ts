import * as http2 from "node:http2";
import type { Socket } from "node:net";
import type { Limits } from "../../core/limits.js";
import { watchStreams } from "./slow-streams.js";
import { renewStreamTables } from "./stream-tables.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";

export interface Http2Options {
  readonly handler: (request: NodeServerRequest, response: NodeServerResponse) => void;
  /** A request's body must be here within this time, and so must the answer to a ping, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Between two questions whether the client is still there, in milliseconds. */
  readonly keepAliveMs: number;
  /** A connection without a stream is closed after this time, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** How quickly answers have to be taken. */
  readonly limits: Pick<Limits, "stalledReaderMs" | "minReaderBytes">;
  /** Streams that one client may have open at once. */
  readonly maxStreams: number;
}

/** The HTTP/2 side of a port that somebody else listens on. */
export interface Http2Sessions {
  /** Takes a connection over, with whatever was put back into it. */
  accept(socket: Socket): void;
  /** Tells every client that it may end its streams and begin none (GOAWAY, RFC 9113, 6.8). */
  drain(): void;
}

/** HTTP/2 on connections that are handed over one by one. */
export function createHttp2Sessions(options: Http2Options): Http2Sessions {
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer(
    {
      settings: { maxConcurrentStreams: options.maxStreams },
      // Requests and streams are limited by our own counts. Node's behaviour at its own limit is to refuse streams of
      // a session whose other streams happen to hold much data, and it counts idle ones in.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    },
    options.handler,
  );
  server.on("stream", (stream) => limitBody(stream, options.requestTimeoutMs));
  const begin = (session: http2.ServerHttp2Session, socket: Socket): void => {
    sessions.add(session);
    // The connection's end is certain; that of a session that was destroyed is not.
    socket.once("close", () => sessions.delete(session));
    closeWhenIdle(session, socket, options.idleTimeoutMs);
    closeWhenGone(session, socket, options);
    renewStreamTables(session);
    watchStreams(session, options.limits);
  };
  return {
    accept: (socket) => {
      // HTTP/1.1 answers whoever has stopped sending; of HTTP/2 this is the end, and streams would go on for nobody.
      socket.allowHalfOpen = false;
      // The session comes into being within the call, if it does. It does not give its socket away.
      const begun = (session: http2.ServerHttp2Session): void => begin(session, socket);
      server.once("session", begun);
      server.emit("connection", socket);
      server.off("session", begun);
    },
    drain: () => {
      for (const session of sessions) session.close();
    },
  };
}

/**
 * Ends a session and its connection. `destroy()` alone waits until what is on its way has left, which may be never
 * where the other side does not read; until then the session is destroyed but not closed, and throws at whoever uses it.
 */
function end(session: http2.ServerHttp2Session, socket: Socket): void {
  session.destroy();
  socket.destroy();
}

function closeWhenIdle(session: http2.ServerHttp2Session, socket: Socket, idleTimeoutMs: number): void {
  let open = 0;
  let cutOff: NodeJS.Timeout | undefined;
  const idle = setTimeout(() => {
    if (open > 0 || cutOff !== undefined) return;
    session.close();
    // A stream whose headers do not end is none for us, but Node waits for it.
    cutOff = setTimeout(() => open === 0 && end(session, socket), CLOSE_MS);
  }, idleTimeoutMs);
  session.on("stream", (stream) => {
    open++;
    stream.once("close", () => {
      open--;
      idle.refresh();
    });
  });
  socket.once("close", () => {
    clearTimeout(idle);
    clearTimeout(cutOff);
  });
}

/** A client that vanished without a word does not answer pings; its streams would wait for it for a long time. */
function closeWhenGone(
  session: http2.ServerHttp2Session,
  socket: Socket,
  { keepAliveMs, requestTimeoutMs }: Http2Options,
): void {
  let pongTimer: NodeJS.Timeout | undefined;
  const answered = (): void => {
    clearTimeout(pongTimer);
    pongTimer = undefined;
  };
  const ask = setInterval(() => {
    if (pongTimer !== undefined) return;
    pongTimer = setTimeout(() => end(session, socket), requestTimeoutMs);
    // Node throws where a session is destroyed, and a timer's exception ends the process.
    if (!session.destroyed) session.ping(answered);
  }, keepAliveMs);
  socket.once("close", () => {
    clearInterval(ask);
    answered();
  });
}

/** What a connection without a stream gets to hear that it is closed, in milliseconds. */
const CLOSE_MS = 1_000;

/** What HTTP/1.1 has a server-wide check for, HTTP/2 leaves to us: a body that comes too slowly or not at all. */
function limitBody(stream: http2.ServerHttp2Stream, requestTimeoutMs: number): void {
  // Missing from the types; true when HEADERS carried END_STREAM, so that there is no body to wait for.
  if ((stream as { endAfterHeaders?: boolean }).endAfterHeaders === true) return;
  const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM), requestTimeoutMs);
  const stop = (): void => clearTimeout(timer);
  stream.once("end", stop).once("close", stop);
}
