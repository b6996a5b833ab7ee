import { isUtf8 } from "node:buffer";
import { A2AError, toA2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { exceedsJson } from "../wire/count-values.js";
import type { BindingOptions } from "./binding.js";
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
  return jsonBodyOf(await readBytes(exchange, limits.maxRequestBytes, budget), limits);
}

type Bounds = Pick<BindingOptions, "limits" | "budget">;

/** @throws A2AError with reason REQUEST_TOO_LARGE beyond `maxRequestValues`. */
export function jsonBodyOf(body: Uint8Array, { maxRequestValues }: Limits): JsonBody {
  if (body.length === 0) return "empty";
  if (exceedsJson(body, maxRequestValues)) {
    throw new A2AError("REQUEST_TOO_LARGE", `The request has more than ${maxRequestValues} values.`);
  }
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

function readBytes(exchange: HttpExchange, max: number, budget: ByteBudget): Promise<Buffer> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let counted = 0;
    const settle = (error: A2AError | undefined): void => {
      budget.give(counted);
      counted = 0;
      request.off("data", take).off("end", end).off("close", close).off("error", close);
      if (error === undefined) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
      else reject(error);
    };
    const refuse = (error: A2AError): void => {
      settle(error);
      discard(exchange);
    };
    const tooLarge = (): void =>
      refuse(new A2AError("REQUEST_TOO_LARGE", `The body of the request exceeds ${max} bytes.`));
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > max) return tooLarge();
      try {
        budget.take(chunk.length);
        counted += chunk.length;
        chunks.push(chunk);
      } catch (error) {
        refuse(toA2AError(error));
      }
    };
    const end = (): void => settle(undefined);
    const close = (): void => settle(new A2AError("CANCELLED", "The client went away."));
    request.on("data", take).on("end", end).on("close", close).on("error", close);
    if (Number(request.headers["content-length"]) > max) tooLarge();
    else if (request.destroyed) close();
  });
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
