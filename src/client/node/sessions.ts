import { AsyncResource } from "node:async_hooks";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { A2AError } from "../../core/error.js";
import { StreamTables } from "../../core/stream-tables.js";

/** Calls that one connection carries at once; servers that allow fewer say so, and get another connection for more of them. */
const MAX_CALLS = 100;

/**
 * With more calls than this a server gets a second connection. On one alone both sides take turns: each waits while the other works
 * through what came at once, which is a quarter of the time.
 */
const MANY_CALLS = 25;

/** When connections are looked after, in milliseconds. */
export interface SessionTimes {
  /** How often it is seen whether anything came. */
  readonly lookMs: number;
  /** Who was silent for so long is asked for a sign of life: while calls are under way, and before the next one. */
  readonly silenceMs: number;
  /** How long the sign of life may take; then the connection is given up. */
  readonly pingMs: number;
  /** Without an answer in between it is not asked for again sooner. */
  readonly againMs: number;
  /** A connection without calls is closed after so long. */
  readonly idleMs: number;
}

/**
 * Servers of gRPC end a connection (ENHANCE_YOUR_CALM) that has had three pings within five minutes of one another and no answer in
 * between (gRFC A8). What is gone sooner than the next ping is found by TCP.
 */
const usualTimes: SessionTimes = {
  lookMs: 10_000,
  silenceMs: 30_000,
  pingMs: 15_000,
  againMs: 6 * 60_000,
  idleMs: 15 * 60_000,
};

/** Connections to servers of HTTP/2: one for each, a second one where there are many calls, and others where these are full or have ended. */
export class Sessions {
  readonly #reach: (origin: URL) => Socket;
  readonly #times: SessionTimes;
  readonly #servers = new Map<string, Session[]>();
  #isClosed = false;

  /** @param reach makes the socket of a connection */
  constructor(reach: (origin: URL) => Socket, times: SessionTimes = usualTimes) {
    this.#reach = reach;
    this.#times = times;
  }

  /** A connection for a call, which is counted there until it is released. @throws A2AError with reason UNAVAILABLE when all is closed */
  take(origin: string): Session {
    if (this.#isClosed) throw closed();
    const sessions = this.#of(origin);
    let session = roomIn(sessions);
    if (session === undefined) {
      session = new Session(origin, this.#reach, this.#times);
      sessions.push(session);
      this.#forgetAtEnd(origin, session);
    }
    session.take();
    return session;
  }

  close(): void {
    this.#isClosed = true;
    for (const session of [...this.#servers.values()].flat()) session.destroy(closed());
  }

  #of(origin: string): Session[] {
    let sessions = this.#servers.get(origin);
    if (sessions === undefined) {
      sessions = [];
      this.#servers.set(origin, sessions);
    }
    return sessions;
  }

  #forgetAtEnd(origin: string, session: Session): void {
    session.http2.once("close", () => {
      const sessions = this.#of(origin).filter((each) => each !== session);
      if (sessions.length > 0) this.#servers.set(origin, sessions);
      else this.#servers.delete(origin);
    });
  }
}

/** The first connection with few calls, or the one with the fewest; undefined: there has to be another one. */
function roomIn(sessions: readonly Session[]): Session | undefined {
  let least: Session | undefined;
  for (const session of sessions) {
    if (!session.hasRoom) continue;
    if (session.calls < MANY_CALLS) return session;
    if (least === undefined || session.calls < least.calls) least = session;
  }
  return sessions.length < 2 ? undefined : least;
}

function closed(): A2AError {
  return new A2AError("UNAVAILABLE", "The client is closed.");
}

/** One connection of HTTP/2, and how it does. */
export class Session {
  readonly http2: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #times: SessionTimes;
  readonly #tables: StreamTables;
  readonly #timer: ReturnType<typeof setInterval>;
  #calls = 0;
  #mostCalls = MAX_CALLS;
  /** The highest id of a stream that the server takes. */
  #lastTaken = Infinity;
  /** Undefined as soon as there is a connection. */
  #connecting: Promise<boolean> | undefined;
  #asking: Promise<boolean> | undefined;
  #bytes = 0;
  // Times of day: a machine that slept finds that its connections are old.
  #heardAt = Date.now();
  #usedAt = Date.now();
  #askedAt = 0;
  #isAnswered = true;
  /** Bytes that had arrived when a call timed out. More of them show that the connection is alive. */
  #doubtedAt = -1;

  constructor(origin: string, reach: (origin: URL) => Socket, times: SessionTimes) {
    const socket = reach(new URL(origin));
    const http2 = connect(origin, { createConnection: () => socket });
    this.http2 = http2;
    this.#socket = socket;
    this.#times = times;
    this.#tables = new StreamTables(http2);
    this.#connecting = new Promise((resolve, reject) => {
      http2.once("connect", () => {
        this.#connecting = undefined;
        this.#heardAt = Date.now();
        if (this.#calls === 0) http2.unref();
        resolve(true);
      });
      // What fails later is told to the streams.
      http2.on("error", reject);
      http2.once("close", () => reject(cut("the connection was closed at once")));
    });
    // Nobody may wait for it any more.
    this.#connecting.catch(() => {});
    // One call goes where none is allowed: that is to be so for a short time alone (RFC 9113, 6.5.2).
    http2.on("remoteSettings", ({ maxConcurrentStreams = MAX_CALLS }) => {
      this.#mostCalls = Math.min(MAX_CALLS, Math.max(1, maxConcurrentStreams));
    });
    http2.on("goaway", (_, lastTaken) => {
      this.#lastTaken = Math.min(this.#lastTaken, lastTaken);
      // A server that wants no more calls and has none under way: Node.js leaves the connection open.
      if (this.#calls === 0) this.destroy();
    });
    this.#timer = setInterval(() => this.#look(), times.lookMs).unref();
    http2.once("close", () => clearInterval(this.#timer));
  }

  /** How many calls it carries. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether it takes one more call. */
  get hasRoom(): boolean {
    return this.#calls < this.#mostCalls && this.isOpen && this.#doubtedAt !== this.bytesRead;
  }

  /** Bytes that have arrived on the connection. */
  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /**
   * A call has waited in vain since so many bytes had come. Where no more have come on the whole connection it gets no new calls until
   * it gives a sign of life; it is asked for one unless it was a short time ago.
   */
  doubt(since: number): void {
    if (this.#connecting !== undefined || since !== this.bytesRead || !this.isOpen) return;
    this.#doubtedAt = since;
    if (this.#mayBeAsked()) void this.#ask();
  }

  get isOpen(): boolean {
    return !this.http2.closed && !this.http2.destroyed;
  }

  /** Whether a request can be written now. */
  get isReady(): boolean {
    return this.#connecting === undefined && this.#asking === undefined && !this.#isToBeAsked();
  }

  /** Something came that belongs to a call. */
  answered(): void {
    this.#isAnswered = true;
  }

  take(): void {
    // A connection without calls does not keep the process.
    if (this.#calls++ === 0 && this.#connecting === undefined) this.http2.ref();
  }

  release(): void {
    if (--this.#calls > 0) return;
    this.#usedAt = Date.now();
    // Nobody would find out any more whether it is alive.
    if (this.#doubtedAt === this.bytesRead && this.#asking === undefined) this.destroy();
    else if (this.#connecting === undefined) this.http2.unref();
    // It would keep the process until it is there.
    else this.destroy();
  }

  /** Whether the server has said that it did nothing with a request (GOAWAY; RFC 9113, 6.8). */
  hasRefused({ id }: ClientHttp2Stream): boolean {
    return id !== undefined && id > this.#lastTaken;
  }

  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    this.#tables.began();
    return withLightBind(() => this.http2.request(headers));
  }

  /** Waits until it is connected, and for a sign of life of one that was silent; false: it is gone. @throws what the socket failed with */
  isAlive(): Promise<boolean> {
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#asking !== undefined || this.#isToBeAsked()) return this.#ask();
    return Promise.resolve(this.isOpen);
  }

  destroy(reason?: Error): void {
    // Whatever the reason is to its calls, it is no fault of the server, which would be told of one otherwise.
    this.http2.destroy(reason, NO_ERROR);
    // Node.js lets one go on connecting, and waits for the other side to close it as well.
    this.#socket.destroy();
  }

  #isToBeAsked(): boolean {
    return hasPassed(this.#times.silenceMs, this.#heardAt) && this.#mayBeAsked();
  }

  #mayBeAsked(): boolean {
    return this.#isAnswered || hasPassed(this.#times.againMs, this.#askedAt);
  }

  #look(): void {
    if (this.http2.destroyed) {
      // Its last call has ended, and the other side does not close it.
      this.#socket.destroy();
      return;
    }
    const { bytesRead } = this.#socket;
    const now = Date.now();
    if (bytesRead !== this.#bytes) this.#heardAt = now;
    this.#bytes = bytesRead;
    if (this.#connecting !== undefined) return;
    if (this.#calls === 0) {
      if (now - this.#usedAt > this.#times.idleMs) this.http2.close();
    } else if (this.#isToBeAsked()) void this.#ask();
  }

  /** Asks for a sign of life; who gives none is given up. */
  #ask(): Promise<boolean> {
    this.#asking ??= new Promise<boolean>((resolve) => {
      // What came while the program was busy is read first.
      const late = () => setImmediate(() => this.#asking !== undefined && this.destroy(cut("no sign of life in time")));
      const timer = setTimeout(late, this.#times.pingMs).unref();
      this.#askedAt = Date.now();
      this.#isAnswered = false;
      // Also called, with an error, when the connection ends.
      this.http2.ping((error) => {
        clearTimeout(timer);
        this.#asking = undefined;
        if (error === null) this.#heardAt = Date.now();
        resolve(error === null);
      });
    });
    return this.#asking;
  }
}

/** Whether so many milliseconds have passed. Who knows how many it were where the clock was set back. */
function hasPassed(ms: number, since: number): boolean {
  const passed = Date.now() - since;
  return passed > ms || passed < 0;
}

/** NGHTTP2_NO_ERROR */
const NO_ERROR = 0;

/** The error of a server that was there: what was sent to it may have arrived. */
function cut(how: string): Error {
  return Object.assign(new Error(how), { code: "ECONNRESET" });
}

type Bind = AsyncResource["bind"];

/** Returns a function that runs work in the resource's context, as Node's own `bind` does. */
function light(this: AsyncResource, work: (this: unknown, ...args: unknown[]) => unknown, thisArg?: unknown): unknown {
  const resource = this;
  return function (this: unknown, ...args: unknown[]): unknown {
    return resource.runInAsyncScope(work, thisArg === undefined ? this : thisArg, ...args);
  };
}

/**
 * True if `bind` gives each function a property `asyncResource` whose accessors warn of its use (DEP0172), as before Node.js 24.
 * `node:http2` binds a function for each request and never reads the property. Making it was a third of the client's CPU time for a
 * call over gRPC, much of it garbage collection.
 */
const isHeavy: boolean = (() => {
  const isWritable = Object.getOwnPropertyDescriptor(AsyncResource.prototype, "bind")?.writable === true;
  return isWritable && Object.hasOwn(new AsyncResource("parley").bind(noop), "asyncResource");
})();

function noop(): void {}

/** Does synchronous work whose calls of `AsyncResource.bind` make functions without that property. All else they do is the same. */
export function withLightBind<T>(work: () => T): T {
  if (!isHeavy) return work();
  const { prototype } = AsyncResource;
  const own: Bind = prototype.bind;
  prototype.bind = light as Bind;
  try {
    return work();
  } finally {
    prototype.bind = own;
  }
}
