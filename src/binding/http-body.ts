import { isUtf8 } from "node:buffer";
import { A2AError, toA2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { exceedsJson } from "../wire/count-values.js";
import type { Account, Arrivals, Arriving } from "./arrivals.js";
import type { BindingOptions, NodeServerRequest } from "./binding.js";
import { type HttpExchange, peerOf } from "./http-exchange.js";

/** A body: a JSON value, nothing, or something that is no JSON in UTF-8 (RFC 8259, section 8.1). */
export type JsonBody = { readonly json: unknown } | "empty" | "malformed";

/**
 * Reads the JSON body of a request.
 *
 * @throws A2AError with reason REQUEST_TOO_LARGE beyond `maxRequestBytes` and `maxRequestValues`, as soon as that is known;
 * TOO_MANY_REQUESTS where too much is arriving; CANCELLED when the client goes away before the end.
 */
export async function readJsonBody(exchange: HttpExchange, { limits, arrivals }: Bounds): Promise<JsonBody> {
  return jsonBodyOf(await readBody(exchange, { max: limits.maxRequestBytes, framing: 0 }, arrivals), limits);
}

type Bounds = Pick<BindingOptions, "limits" | "arrivals">;

/** @throws A2AError with reason REQUEST_TOO_LARGE beyond `maxRequestValues`. */
export function jsonBodyOf(body: Uint8Array, { maxRequestValues }: Limits): JsonBody {
  if (body.length === 0) return "empty";
  if (exceedsJson(body, maxRequestValues)) throw tooManyValues(maxRequestValues);
  if (!isUtf8(body)) return "malformed";
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // A byte order mark may be ignored instead of refused.
  const start = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  try {
    return { json: JSON.parse(bytes.toString("utf8", start)) };
  } catch {
    return "malformed";
  }
}

/**
 * Reads the bytes of a request.
 *
 * @throws A2AError as `readJsonBody` does.
 */
export function readBody(exchange: Exchange, size: BodySize, arrivals: Arrivals): Promise<Buffer> {
  return new BodyReader(exchange, size, arrivals).read();
}

/** How large a body may be, in bytes. */
export interface BodySize {
  /** The largest request. */
  readonly max: number;
  /** What may stand around it. */
  readonly framing: number;
}

/** A request and the response to it. */
export type Exchange = Pick<HttpExchange, "request" | "response">;

/** Where a request keeps its reader: listeners without a closure of their own find it there. */
const readerKey: unique symbol = Symbol("reader");

type Read = NodeServerRequest & { [readerKey]?: BodyReader };

/** Collects a body. Its listeners stay when it is done: taking them off costs more than all the rest. */
class BodyReader implements Arriving {
  readonly #exchange: Exchange;
  readonly #max: number;
  readonly #framing: number;
  readonly #arrivals: Arrivals;
  #resolve: (bytes: Buffer) => void = () => {};
  #reject: (error: A2AError) => void = () => {};
  #first: Buffer | undefined;
  /** What came after the first piece; most bodies are one. */
  #more: Pieces | undefined;
  #size = 0;
  #account: Account | undefined;
  #done = false;

  constructor(exchange: Exchange, { max, framing }: BodySize, arrivals: Arrivals) {
    this.#exchange = exchange;
    this.#max = max;
    this.#framing = framing;
    this.#arrivals = arrivals;
  }

  read(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#start();
    });
  }

  #start(): void {
    const request: Read = this.#exchange.request;
    request[readerKey] = this;
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
    if (Number(request.headers["content-length"]) > this.#max + this.#framing) this.#refuse(tooLarge(this.#max));
    else if (request.destroyed) this.close();
    else this.#arrivals.begin(this);
  }

  get isHere(): boolean {
    return this.#done;
  }

  wait(): void {
    this.#count(this.#size);
  }

  take(chunk: Buffer): void {
    if (this.#done) return;
    if (this.#size + chunk.length > this.#max + this.#framing) return this.#refuse(tooLarge(this.#max));
    if (this.#account !== undefined && !this.#count(chunk.length)) return;
    this.#size += chunk.length;
    if (this.#first === undefined) this.#first = chunk;
    else {
      this.#more ??= new Pieces();
      this.#more.add(chunk);
    }
  }

  end(): void {
    if (this.#done) return;
    const first = this.#first ?? EMPTY;
    this.#resolve(this.#more === undefined ? first : Buffer.concat([first, ...this.#more.all()]));
    this.#end();
  }

  /** Every request closes in the end; what matters is one that does before it is read. */
  close(): void {
    if (this.#done) return;
    this.#end();
    this.#reject(new A2AError("CANCELLED", "The client went away."));
  }

  #count(bytes: number): boolean {
    try {
      this.#account ??= this.#arrivals.open(peerOf(this.#exchange.request).address);
      this.#account.take(bytes);
      return true;
    } catch (error) {
      this.#refuse(toA2AError(error));
      return false;
    }
  }

  #refuse(error: A2AError): void {
    this.#end();
    this.#reject(error);
    discard(this.#exchange);
  }

  /** What has arrived counts as arriving no more. */
  #end(): void {
    this.#done = true;
    this.#first = undefined;
    this.#more = undefined;
    this.#account?.close();
  }
}

const EMPTY = Buffer.alloc(0);

/** Pieces that are smaller are put together, in bytes: each by itself costs some hundred more. */
const LEAST_PIECE = 1_024;

/** What they are put together in, in bytes. */
const GATHERED = 16 * 1024;

/** Bytes as they come. */
class Pieces {
  readonly #pieces: Buffer[] = [];
  #gathered: Buffer | undefined;
  #used = 0;

  add(piece: Buffer): void {
    const small = piece.length < LEAST_PIECE;
    if (!small || this.#used + piece.length > GATHERED) this.#seal();
    if (small) {
      this.#gathered ??= Buffer.allocUnsafe(GATHERED);
      this.#used += piece.copy(this.#gathered, this.#used);
    } else this.#pieces.push(piece);
  }

  all(): readonly Buffer[] {
    this.#seal();
    return this.#pieces;
  }

  #seal(): void {
    if (this.#gathered !== undefined) this.#pieces.push(this.#gathered.subarray(0, this.#used));
    this.#gathered = undefined;
    this.#used = 0;
  }
}

/** The error of a body beyond `maxRequestBytes`. */
export function tooLarge(max: number): A2AError {
  return new A2AError("REQUEST_TOO_LARGE", `The body of the request exceeds ${max} bytes.`);
}

/** The error of a request beyond `maxRequestValues`. */
export function tooManyValues(max: number): A2AError {
  return new A2AError("REQUEST_TOO_LARGE", `The request has more than ${max} values.`);
}

function onData(this: Read, chunk: Buffer): void {
  this[readerKey]?.take(chunk);
}

function onEnd(this: Read): void {
  this[readerKey]?.end();
}

function onClose(this: Read): void {
  this[readerKey]?.close();
}

/** What a client may still send, in bytes, of a body that nobody wants. */
const MAX_DISCARDED = 1024 * 1024;

/**
 * Reads on without keeping anything, so that a client that sends before it listens gets to hear the answer. One that
 * does not end is cut off when the answer is out.
 */
export function discard({ request, response }: Pick<HttpExchange, "request" | "response">): void {
  let left = MAX_DISCARDED;
  request.on("error", () => {});
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0) return;
    if (response.writableFinished) request.destroy();
    else response.once("finish", () => request.destroy());
    left = Number.POSITIVE_INFINITY;
  });
}
