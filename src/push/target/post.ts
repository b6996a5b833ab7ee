import type { buildConnector as Connectors, Dispatcher } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { socketFailure } from "../../core/socket-failure.js";
import type { TargetOptions, TargetTls } from "../options.js";
import { type Connection, Connections, type Sending } from "./connections.js";
import { ForbiddenTarget, TargetGuard } from "./guard.js";
import { LookupError } from "./lookup.js";
import type { Target } from "./target-url.js";

/** One POST. */
export interface PostRequest {
  readonly target: Target;
  /** By their names, or names and values by turns. */
  readonly headers: Record<string, string> | string[];
  readonly body: Uint8Array | string;
  /** For all of it, from the look-up of the name to the end of the answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Is told of what can break the request off. */
  readonly watch?: { request: Breakable | undefined };
  /** Asked when there is a connection, right before anything is written to it; false: nothing is, and it has failed. */
  readonly isAllowed?: (() => boolean) | undefined;
}

/** Something under way. */
export interface Breakable {
  /** Ends it as failed, for a reason for people; nothing happens where it is over. */
  breakOff(reason: string): void;
}

/** What became of a POST. */
export type PostOutcome =
  /** A status of 2xx. */
  | { readonly kind: "accepted"; readonly status: number }
  /** Another one; a redirect too, since nobody follows it. `gone` is 410. */
  | { readonly kind: "refused"; readonly status: number; readonly retryAfterMs?: number; readonly gone: boolean }
  /** No whole answer. The reason is a sentence for people, without secrets and without addresses. */
  | { readonly kind: "failed"; readonly reason: string; readonly forbidden: boolean };

/** Sends POSTs to targets that the guard lets through. */
export interface Poster {
  /** Never rejects. */
  post(request: PostRequest): Promise<PostOutcome>;
  /** Ends what is under way, as failed, and closes all connections. */
  close(): Promise<void>;
}

/** Answers with a status of 1xx that may come before the answer itself. */
const MAX_INTERIM = 16;

/** What is read of a receiver's answer, in bytes. The connection of one that has more is closed: nothing in it matters but the status. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** A poster with a guard of its own. */
export function createPoster(options: TargetOptions & { readonly limits: Limits; readonly logger: Logger }): Poster {
  const { limits, logger } = options;
  const guard = new TargetGuard(options);
  const connections = new Connections(guardedConnector(guard, options.tls ?? {}), limits);
  return {
    post: (request) => new Promise((resolve) => new Exchange(request, logger, resolve).begin(connections)),
    close: () => connections.close(),
  };
}

/** One request and its answer, as undici reports it. */
class Exchange implements Dispatcher.DispatchHandler, Breakable, Sending {
  readonly #request: PostRequest;
  readonly #logger: Logger;
  readonly #resolve: (outcome: PostOutcome) => void;
  #timer: NodeJS.Timeout | undefined;
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  isOver = false;
  /** Whether the answer was read to its end. */
  #isWhole = false;
  #status = 0;
  #retryAfter: string | undefined;
  #interim = 0;
  #bytes = 0;

  constructor(request: PostRequest, logger: Logger, resolve: (outcome: PostOutcome) => void) {
    this.#request = request;
    this.#logger = logger;
    this.#resolve = resolve;
  }

  get origin(): string {
    return this.#request.target.origin;
  }

  begin(connections: Connections): void {
    const { timeoutMs, signal, watch } = this.#request;
    if (signal?.aborted) {
      this.breakOff("it was called off");
      return;
    }
    this.#timer = setTimeout(Exchange.#onTimeout, timeoutMs, this);
    signal?.addEventListener("abort", this, { once: true });
    if (watch !== undefined) watch.request = this;
    connections.send(this);
  }

  sendOn(connection: Connection): void {
    const { target, headers, body } = this.#request;
    this.#connection = connection;
    // A connection carries one request at a time: nothing has to be kept from following it before its answer begins.
    connection.dispatch({ path: target.path, method: "POST", headers, body, blocking: false }, this);
  }

  refuse(error: Error): void {
    this.onResponseError(undefined, error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It waited for a connection for so long that nobody wants it any more: nothing of it is sent.
    if (this.isOver) controller.abort(new Error("over"));
    else if (this.#request.isAllowed?.() === false) this.breakOff("it was called off");
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200) {
      this.#interim++;
      if (this.#interim > MAX_INTERIM) this.breakOff(`more than ${MAX_INTERIM} interim answers came`);
      return;
    }
    this.#status = status;
    const retryAfter = headers["retry-after"];
    if (typeof retryAfter === "string") this.#retryAfter = retryAfter;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    // The status has said what there is to know. The rest is not worth its bytes, nor is a connection that still has them on it.
    if (this.#bytes > MAX_ANSWER_BYTES) this.#answered();
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#answered();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.isOver) return;
    const forbidden = error instanceof ForbiddenTarget;
    // The address is in the log alone, where whoever runs the server looks for it.
    if (!forbidden) this.#logger.debug({ err: error, host: this.#request.target.host }, "a push notification failed");
    this.#end({ kind: "failed", reason: reasonOf(error), forbidden });
  }

  #answered(): void {
    const status = this.#status;
    if (status >= 200 && status < 300) this.#end({ kind: "accepted", status });
    else this.#end({ kind: "refused", status, ...retryAfterMs(this.#retryAfter), gone: status === 410 });
  }

  static #onTimeout(this: void, exchange: Exchange): void {
    const when = exchange.#status === 0 ? "there was no answer" : "the answer did not end";
    exchange.breakOff(`${when} within ${exchange.#request.timeoutMs} ms`);
  }

  /** Of the signal. */
  handleEvent(): void {
    this.breakOff("it was called off");
  }

  breakOff(reason: string): void {
    this.#end({ kind: "failed", reason, forbidden: false });
  }

  #end(outcome: PostOutcome): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener("abort", this);
    this.#resolve(outcome);
    // Where the answer is not complete its connection ends.
    if (!this.#isWhole) this.#controller?.abort(new Error("over"));
    this.#connection?.release(this.#isWhole);
  }
}

/** `Retry-After` (RFC 9110, 10.2.3) as a time from now, as long as it says: seconds, or a date that begins with its day. */
function retryAfterMs(text = ""): { readonly retryAfterMs?: number } {
  if (/^\d{1,10}$/.test(text)) return { retryAfterMs: Number(text) * 1000 };
  const ms = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, ms) };
}

/** Why a request failed, in a sentence without addresses and secrets. */
function reasonOf(error: unknown): string {
  // Made here, so that what they say is known.
  if (error instanceof ForbiddenTarget || error instanceof LookupError) return error.message;
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED") return "the server is shutting down";
  return socketFailure(error);
}

/** Time for a connection to a receiver in milliseconds: look-up, TCP and TLS. */
export const pushConnect = { timeoutMs: 5_000 } as const;

/** How long one address of several is tried before the next one, in milliseconds. */
const ATTEMPT_MS = 1_000;

/**
 * Connects sockets to where the guard lets them, and to nothing else: names through its look-up, addresses (which have no look-up)
 * before, and each socket by the address that it got in the end. A connection is only ever used for the host that it was
 * made for, and the rules do not change, so that a request on one that is open needs no other judgement.
 */
export function guardedConnector(guard: TargetGuard, tls: TargetTls): Connectors.connector {
  const { ca, cert, key } = tls;
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  const connect = buildConnector({
    ...Object.fromEntries(given),
    lookup: guard.lookup,
    timeout: pushConnect.timeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    minVersion: "TLSv1.2",
    // Said here, as the environment may say otherwise.
    rejectUnauthorized: true,
    allowH2: false,
  });
  return (options, callback) => {
    try {
      guard.admit(options.hostname);
    } catch (error) {
      // Not before the caller has its answer, which is that nothing has happened yet.
      queueMicrotask(() => callback(error as Error, null));
      return;
    }
    connect(options, (...[error, socket]) => {
      // With an error there is no socket: undefined, whatever the types say.
      if (error !== null) return callback(error, null);
      const fault = faultOf(guard, options.hostname, socket.remoteAddress);
      if (fault === undefined) callback(null, socket);
      else {
        socket.destroy();
        callback(fault, null);
      }
    });
  };
}

function faultOf(guard: TargetGuard, name: string, address: string | undefined): Error | undefined {
  // It was closed meanwhile, which its user finds out.
  if (address === undefined) return undefined;
  try {
    guard.judge(address, name);
    return undefined;
  } catch (error) {
    return error as ForbiddenTarget;
  }
}
