import type { buildConnector as Connectors, Dispatcher } from "undici";
import { concat } from "../../core/bytes.js";
import type { Limits } from "../../core/limits.js";
import { membersOf } from "../../core/members.js";
import { type Connection, ConnectionPools, type Sending } from "../../outgoing/connections.js";
import { connectorOf, tlsOptions } from "../../outgoing/connector.js";
import { socketFailure } from "../../outgoing/socket-failure.js";
import { ANSWER_BYTES, type AnswerBody } from "../attempt-history.js";
import type { TargetOptions, TargetTls } from "../options.js";
import { ForbiddenTarget, TargetGuard } from "./guard.js";
import { LookupError } from "./lookup.js";
import type { Target } from "./target-url.js";

export interface PostRequest {
  readonly target: Target;
  /** An object, or names and values that alternate. */
  readonly headers: Record<string, string> | string[];
  readonly body: Uint8Array | string;
  /** Timeout of the whole exchange, from the look-up to the end of the response, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives the handle that can abort the request. */
  readonly watch?: { request: Breakable | undefined };
  /** Called once connected, right before the request is written; false aborts it as failed. */
  readonly isAllowed?: (() => boolean) | undefined;
  /** Receives the error of a request without a complete response, for the log: it may name the address. */
  readonly noteError?: (error: Error) => void;
}

/** A request in progress. */
export interface Breakable {
  /** Fails it with a reason for people; ignored after its end. */
  breakOff(reason: string): void;
}

/** Outcome of a POST. `answer` is the beginning of the response's body; undefined if it is empty. */
export type PostOutcome =
  /** A status of 2xx. */
  | { readonly kind: "accepted"; readonly status: number; readonly answer?: AnswerBody }
  /** Any other status, including redirects, which are not followed. `gone` is 410. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly retryAfterMs?: number;
      readonly gone: boolean;
      readonly answer?: AnswerBody;
    }
  /**
   * No complete response; `status` is that of one which began. The reason is a sentence for people, without secrets and
   * addresses.
   */
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly forbidden: boolean;
      readonly status?: number;
      readonly answer?: AnswerBody;
    };

/** Sends POSTs to targets that the guard lets through. */
export interface Poster {
  /** Never rejects. */
  post(request: PostRequest): Promise<PostOutcome>;
  /** Fails requests in progress, and closes all connections. */
  close(): Promise<void>;
}

/** Limits of unused connections to a receiver, in milliseconds. */
export const pushConnection = {
  /** Idle time: shorter than the keep-alive of most servers. */
  idleMs: 4_000,
  /** Age: a new connection resolves and checks the host again. */
  maxAgeMs: 300_000,
} as const;

/** Maximum size of the headers of a response, in bytes. */
const MAX_HEADERS = 16 * 1024;

/** Maximum number of interim responses (1xx). */
const MAX_INTERIM = 16;

/** Bytes read of a receiver's response. Beyond it the connection is closed: only the status matters. */
const MAX_ANSWER_BYTES = 64 * 1024;

export function createPoster(options: TargetOptions & { readonly limits: Limits }): Poster {
  const { limits } = options;
  const guard = new TargetGuard(options);
  const { idleMs, maxAgeMs } = pushConnection;
  const connections = new ConnectionPools({
    max: limits.maxDeliveriesPerHost,
    maxAgeMs,
    connect: guardedConnector(guard, options.tls ?? {}),
    idleMs,
    maxHeaderSize: MAX_HEADERS,
  });
  return {
    post: (request) => new Promise((resolve) => new WebhookPost(request, resolve).begin(connections)),
    close: () => connections.close(),
  };
}

/** One request and its answer, as undici reports it. */
class WebhookPost implements Dispatcher.DispatchHandler, Breakable, Sending {
  readonly #request: PostRequest;
  readonly #resolve: (outcome: PostOutcome) => void;
  #timer: NodeJS.Timeout | undefined;
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  isOver = false;
  /** True if the response was read to its end. */
  #isWhole = false;
  #status = 0;
  #retryAfter: string | undefined;
  #interim = 0;
  #bytes = 0;
  /** The first `ANSWER_BYTES` of the body. */
  #begun: Uint8Array | undefined;

  constructor(request: PostRequest, resolve: (outcome: PostOutcome) => void) {
    this.#request = request;
    this.#resolve = resolve;
  }

  begin(connections: ConnectionPools): void {
    const { target, timeoutMs, signal, watch } = this.#request;
    if (signal?.aborted) {
      this.breakOff("it was called off");
      return;
    }
    this.#timer = setTimeout(WebhookPost.#onTimeout, timeoutMs, this);
    signal?.addEventListener("abort", this, { once: true });
    if (watch !== undefined) watch.request = this;
    connections.send(target.origin, this);
  }

  sendOn(connection: Connection): void {
    const { target, headers, body } = this.#request;
    this.#connection = connection;
    // A connection carries one request at a time, so undici need not block later ones until the response begins.
    connection.dispatch({ path: target.path, method: "POST", headers, body, blocking: false }, this);
  }

  refuse(error: Error): void {
    this.onResponseError(undefined, error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request was cancelled while it waited for a connection: nothing is sent.
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
    if (this.#bytes < ANSWER_BYTES) this.#keep(chunk.subarray(0, ANSWER_BYTES - this.#bytes));
    this.#bytes += chunk.byteLength;
    // The status is enough. The connection is closed instead of reading the rest.
    if (this.#bytes > MAX_ANSWER_BYTES) this.#answered();
  }

  /** Copies bytes, because a view would keep the whole buffer of the socket. */
  #keep(bytes: Uint8Array): void {
    this.#begun = this.#begun === undefined ? Uint8Array.from(bytes) : concat([this.#begun, bytes]);
  }

  /** The response, as far as there is one. */
  get #answer(): { readonly status?: number; readonly answer?: AnswerBody } {
    const status = this.#status;
    if (status === 0) return {};
    if (this.#begun === undefined) return { status };
    return { status, answer: { bytes: this.#begun, isWhole: this.#isWhole && this.#bytes <= ANSWER_BYTES } };
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#answered();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.isOver) return;
    const forbidden = error instanceof ForbiddenTarget;
    if (!forbidden) this.#request.noteError?.(error);
    this.#end({ kind: "failed", reason: describedError(error), forbidden, ...this.#answer });
  }

  #answered(): void {
    const status = this.#status;
    if (status >= 200 && status < 300) this.#end({ kind: "accepted", ...this.#answer, status });
    else
      this.#end({ kind: "refused", ...this.#answer, status, ...retryAfterMs(this.#retryAfter), gone: status === 410 });
  }

  static #onTimeout(this: void, exchange: WebhookPost): void {
    const when = exchange.#status === 0 ? "there was no answer" : "the answer did not end";
    exchange.breakOff(`${when} within ${exchange.#request.timeoutMs} ms`);
  }

  /** Handles the signal's abort. */
  handleEvent(): void {
    this.breakOff("it was called off");
  }

  breakOff(reason: string): void {
    this.#end({ kind: "failed", reason, forbidden: false, ...this.#answer });
  }

  #end(outcome: PostOutcome): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener("abort", this);
    this.#resolve(outcome);
    // A connection with an incomplete response is closed.
    if (!this.#isWhole) this.#controller?.abort(new Error("over"));
    this.#connection?.release(this.#isWhole);
  }
}

/** `Retry-After` (RFC 9110, 10.2.3) as a delay: seconds, or a date that begins with its day. */
function retryAfterMs(text = ""): { readonly retryAfterMs?: number } {
  if (/^\d{1,10}$/.test(text)) return { retryAfterMs: Number(text) * 1000 };
  const ms = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, ms) };
}

/** The reason of a failed request, in a sentence without addresses and secrets. */
function describedError(error: unknown): string {
  // Our own errors, whose messages are safe.
  if (error instanceof ForbiddenTarget || error instanceof LookupError) return error.message;
  const { code } = membersOf(error);
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED") return "the server is shutting down";
  return socketFailure(error);
}

/** Timeout of connecting to a receiver in milliseconds: look-up, TCP and TLS. */
export const pushConnect = { timeoutMs: 5_000 } as const;

/**
 * Connects sockets to permitted targets only: checks names in the look-up, literal addresses before, and the final
 * address of each socket. A connection serves only its host, and the rules do not change, so that requests on an open
 * one need no further check.
 */
export function guardedConnector(guard: TargetGuard, tls: TargetTls): Connectors.connector {
  const connect = connectorOf({ ...tlsOptions(tls), lookup: guard.lookup, timeout: pushConnect.timeoutMs });
  return (options, callback) => {
    try {
      guard.admit(options.hostname);
    } catch (error) {
      // Deferred until the caller has its result.
      queueMicrotask(() => callback(error as Error, null));
      return;
    }
    connect(options, (...[error, socket]) => {
      // With an error the socket is undefined, contrary to the types.
      if (error !== null) return callback(error, null);
      const fault = addressFault(guard, options.hostname, socket.remoteAddress);
      if (fault === undefined) callback(null, socket);
      else {
        socket.destroy();
        callback(fault, null);
      }
    });
  };
}

function addressFault(guard: TargetGuard, name: string, address: string | undefined): Error | undefined {
  // The socket was closed meanwhile, which its user detects.
  if (address === undefined) return undefined;
  try {
    guard.judge(address, name);
    return undefined;
  } catch (error) {
    return error as ForbiddenTarget;
  }
}
