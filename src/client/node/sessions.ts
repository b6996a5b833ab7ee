import { AsyncResource } from "node:async_hooks";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { A2AError } from "../../core/error.js";
import { StreamTables } from "../../core/maps.js";

/**
 * Maximum number of concurrent calls per connection. A server that allows fewer gets further connections for the rest.
 */
const MAX_CALLS = 100;

/**
 * Number of calls above which a server gets a second connection. With a single one, each side idles while the other
 * processes a burst, which takes a quarter of the time.
 */
const MANY_CALLS = 25;

/** Times of connection checks, in milliseconds. */
export interface SessionTimes {
  /** Interval of checks for received bytes. */
  readonly checkMs: number;
  /** Silence after which the server is pinged, during calls and before the next one. */
  readonly silenceMs: number;
  /** Timeout of a ping; then the connection is closed. */
  readonly pingMs: number;
  /** Minimum interval between pings without an answer to a call in between. */
  readonly againMs: number;
  /** Idle time after which a connection without calls is closed. */
  readonly idleMs: number;
}

/**
 * gRPC servers end a connection (ENHANCE_YOUR_CALM) after three pings within five minutes of one another and without an
 * answer in between (gRFC A8). TCP detects peers that disappear sooner.
 */
const usualTimes: SessionTimes = {
  checkMs: 10_000,
  silenceMs: 30_000,
  pingMs: 15_000,
  againMs: 6 * 60_000,
  idleMs: 15 * 60_000,
};

/**
 * HTTP/2 connections: one per server, a second one for many calls, and further ones if these are full or have ended.
 */
export class Sessions {
  readonly #reach: (origin: URL) => Socket;
  readonly #times: SessionTimes;
  readonly #servers = new Map<string, Session[]>();
  #isClosed = false;

  /** @param reach opens the socket of a connection */
  constructor(reach: (origin: URL) => Socket, times: SessionTimes = usualTimes) {
    this.#reach = reach;
    this.#times = times;
  }

  /** Returns a connection for a call, which counts until it is released. @throws A2AError UNAVAILABLE after `close` */
  take(origin: string): Session {
    if (this.#isClosed) throw clientClosed();
    const sessions = this.#of(origin);
    let session = sessionWithCapacity(sessions);
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
    for (const session of [...this.#servers.values()].flat()) session.destroy(clientClosed());
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

/** Returns the first connection with few calls, or the one with the fewest; undefined if another one is needed. */
function sessionWithCapacity(sessions: readonly Session[]): Session | undefined {
  let least: Session | undefined;
  for (const session of sessions) {
    if (!session.hasCapacity) continue;
    if (session.calls < MANY_CALLS) return session;
    if (least === undefined || session.calls < least.calls) least = session;
  }
  return sessions.length < 2 ? undefined : least;
}

function clientClosed(): A2AError {
  return new A2AError("UNAVAILABLE", "The client is closed.");
}

/** One HTTP/2 connection and its health. */
export class Session {
  readonly http2: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #times: SessionTimes;
  readonly #tables: StreamTables;
  readonly #timer: ReturnType<typeof setInterval>;
  #calls = 0;
  #mostCalls = MAX_CALLS;
  /** Highest stream id that the server accepts. */
  #lastTaken = Infinity;
  /** Undefined once connected. */
  #connecting: Promise<boolean> | undefined;
  #asking: Promise<boolean> | undefined;
  #bytes = 0;
  // Wall-clock times, so that after sleep the machine sees that its connections are old.
  #heardAt = Date.now();
  #usedAt = Date.now();
  #askedAt = 0;
  #isAnswered = true;
  /** Bytes received when a call timed out. More bytes show that the connection is alive. */
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
      // Later errors go to the streams.
      http2.on("error", reject);
      http2.once("close", () => reject(cut("the connection was closed at once")));
    });
    // Handled here in case no call waits for it.
    this.#connecting.catch(() => {});
    // Allows one call if the server allows none, which should only be temporary (RFC 9113, 6.5.2).
    http2.on("remoteSettings", ({ maxConcurrentStreams = MAX_CALLS }) => {
      this.#mostCalls = Math.min(MAX_CALLS, Math.max(1, maxConcurrentStreams));
    });
    http2.on("goaway", (_, lastTaken) => {
      this.#lastTaken = Math.min(this.#lastTaken, lastTaken);
      // After GOAWAY without open calls, Node.js would leave the connection open.
      if (this.#calls === 0) this.destroy();
    });
    this.#timer = setInterval(() => this.#check(), times.checkMs).unref();
    http2.once("close", () => clearInterval(this.#timer));
  }

  /** Number of calls. */
  get calls(): number {
    return this.#calls;
  }

  /** True if it can take another call. */
  get hasCapacity(): boolean {
    return this.#calls < this.#mostCalls && this.isOpen && (this.#doubtedAt < 0 || this.#doubtedAt !== this.bytesRead);
  }

  /** Bytes received on the connection. */
  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /**
   * Notes a call that timed out. If the connection has received no more bytes than `since`, it gets no new calls until
   * a ping is answered; it is pinged unless that was done recently.
   */
  doubt(since: number): void {
    if (this.#connecting !== undefined || since !== this.bytesRead || !this.isOpen) return;
    this.#doubtedAt = since;
    if (this.#mayBeAsked()) void this.#ask();
  }

  get isOpen(): boolean {
    return !this.http2.closed && !this.http2.destroyed;
  }

  /** True if a request can be written now. */
  get isReady(): boolean {
    return this.#connecting === undefined && this.#asking === undefined && !this.#isToBeAsked();
  }

  /** Notes that a call received something. */
  answered(): void {
    this.#isAnswered = true;
  }

  take(): void {
    // A connection without calls must not keep the process alive.
    if (this.#calls++ === 0 && this.#connecting === undefined) this.http2.ref();
  }

  release(): void {
    if (--this.#calls > 0) return;
    this.#usedAt = Date.now();
    // Without calls, its health would not be checked any more.
    if (this.#doubtedAt === this.bytesRead && this.#asking === undefined) this.destroy();
    else if (this.#connecting === undefined) this.http2.unref();
    // A pending connection would keep the process alive.
    else this.destroy();
  }

  /** True if the server reported that it has not processed a request (GOAWAY; RFC 9113, 6.8). */
  hasRefused({ id }: ClientHttp2Stream): boolean {
    return id !== undefined && id > this.#lastTaken;
  }

  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    this.#tables.began();
    return isHeavy ? withLightBind(() => this.http2.request(headers)) : this.http2.request(headers);
  }

  /**
   * Waits until it is connected, and after silence for an answer to a ping; false if it is dead. @throws the socket's
   * error
   */
  isAlive(): Promise<boolean> {
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#asking !== undefined || this.#isToBeAsked()) return this.#ask();
    return Promise.resolve(this.isOpen);
  }

  destroy(reason?: Error): void {
    // The reason concerns the calls and is not an error of the server, to which another code would be sent.
    this.http2.destroy(reason, NO_ERROR);
    // Node.js would let a pending socket connect, and would wait for the peer to close it.
    this.#socket.destroy();
  }

  #isToBeAsked(): boolean {
    return hasPassed(this.#times.silenceMs, this.#heardAt) && this.#mayBeAsked();
  }

  #mayBeAsked(): boolean {
    return this.#isAnswered || hasPassed(this.#times.againMs, this.#askedAt);
  }

  #check(): void {
    if (this.http2.destroyed) {
      // Its last call has ended, and the peer does not close it.
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

  /** Pings the server and closes the connection if it does not answer. */
  #ask(): Promise<boolean> {
    this.#asking ??= new Promise<boolean>((resolve) => {
      // Bytes that arrived while the event loop was blocked are read first.
      const onTimeout = () =>
        setImmediate(() => this.#asking !== undefined && this.destroy(cut("no answer to a ping in time")));
      const timer = setTimeout(onTimeout, this.#times.pingMs).unref();
      this.#askedAt = Date.now();
      this.#isAnswered = false;
      // The callback is also called, with an error, when the connection ends.
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

/** True if the time has passed, or if it is unknown because the clock was set back. */
function hasPassed(ms: number, since: number): boolean {
  const passed = Date.now() - since;
  return passed > ms || passed < 0;
}

/** NGHTTP2_NO_ERROR */
const NO_ERROR = 0;

/** Returns the error of a server that was connected: the request may have arrived. */
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
 * True if `bind` gives each function a property `asyncResource` whose accessors warn of its use (DEP0172), as before
 * Node.js 24. `node:http2` binds a function for each request and never reads the property. Creating it took a third of
 * the client's CPU time for a gRPC call, much of it garbage collection.
 */
const isHeavy: boolean = (() => {
  const isWritable = Object.getOwnPropertyDescriptor(AsyncResource.prototype, "bind")?.writable === true;
  return isWritable && Object.hasOwn(new AsyncResource("parley").bind(noop), "asyncResource");
})();

function noop(): void {}

/**
 * Runs synchronous work in which `AsyncResource.bind` creates functions without that property, and is otherwise
 * unchanged.
 */
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
