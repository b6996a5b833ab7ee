import { isUtf8 } from "node:buffer";
import { A2AError, toA2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { exceedsJson } from "../wire/count-values.js";
import type { BindingOptions, NodeServerRequest } from "./binding.js";
import type { ByteBudget } from "./byte-budget.js";
import type { HttpExchange } from "./http-exchange.js";

/** A body: a JSON value, nothing, or something that is no JSON in UTF-8 (RFC 8259, section 8.1). */
export type JsonBody = { readonly json: unknown } | "empty" | "malformed";

/**
 * Reads the JSON body of a request.
 *
 * @throws A2AError with reason REQUEST_TOO_LARGE beyond `maxRequestBytes` and `maxRequestValues`, as soon as that is known;
 * TOO_MANY_REQUESTS where the budget is used up; CANCELLED when the client goes away before the end.
 */
export async function readJsonBody(exchange: HttpExchange, { limits, budget }: Bounds): Promise<JsonBody> {
  return jsonBodyOf(await readBody(exchange, limits.maxRequestBytes, budget), limits);
}

type Bounds = Pick<BindingOptions, "limits" | "budget">;

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
 * Reads the body of a request of at most `max` bytes.
 *
 * @throws A2AError as `readJsonBody`, but for values.
 */
export function readBody(exchange: HttpExchange, max: number, budget: ByteBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    new BodyReader(exchange, max, budget, resolve, reject).start();
  });
}

/** Where a request keeps its reader: listeners without a closure of their own find it there. */
const readerKey: unique symbol = Symbol("reader");

type Read = NodeServerRequest & { [readerKey]?: BodyReader };

/** Collects a body. Its listeners stay when it is done: taking them off costs more than all the rest. */
class BodyReader {
  readonly #exchange: HttpExchange;
  readonly #max: number;
  readonly #budget: ByteBudget;
  readonly #resolve: (bytes: Buffer) => void;
  readonly #reject: (error: A2AError) => void;
  #chunks: Buffer[] = [];
  #size = 0;
  #done = false;

  constructor(
    exchange: HttpExchange,
    max: number,
    budget: ByteBudget,
    resolve: (bytes: Buffer) => void,
    reject: (error: A2AError) => void,
  ) {
    this.#exchange = exchange;
    this.#max = max;
    this.#budget = budget;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const request: Read = this.#exchange.request;
    request[readerKey] = this;
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
    if (Number(request.headers["content-length"]) > this.#max) this.#refuse(tooLarge(this.#max));
    else if (request.destroyed) this.close();
  }

  take(chunk: Buffer): void {
    if (this.#done) return;
    if (this.#size + chunk.length > this.#max) return this.#refuse(tooLarge(this.#max));
    try {
      this.#budget.take(chunk.length);
    } catch (error) {
      return this.#refuse(toA2AError(error));
    }
    this.#size += chunk.length;
    this.#chunks.push(chunk);
  }

  end(): void {
    if (this.#done) return;
    const chunks = this.#end();
    this.#resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
  }

  /** Every request closes in the end; what matters is one that does before it is read. */
  close(): void {
    if (this.#done) return;
    this.#end();
    this.#reject(new A2AError("CANCELLED", "The client went away."));
  }

  #refuse(error: A2AError): void {
    this.#end();
    this.#reject(error);
    discard(this.#exchange);
  }

  /** What has arrived counts as arriving no more. */
  #end(): Buffer[] {
    const chunks = this.#chunks;
    this.#done = true;
    this.#budget.give(this.#size);
    this.#size = 0;
    this.#chunks = [];
    return chunks;
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
