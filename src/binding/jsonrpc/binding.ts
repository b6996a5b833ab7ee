import { A2AError } from "../../core/error.js";
import type { BindingOptions, HttpBinding } from "../binding.js";
import { failureOf } from "../failure.js";
import { discard, readJsonBody } from "../http-body.js";
import { HttpExchange } from "../http-exchange.js";
import { checkBodyType, JSON_TYPE } from "../media-type.js";
import { Batch } from "./batch.js";
import { Calls } from "./calls.js";
import { methodsOf } from "./methods.js";
import { failed, invalidRequest, type LargeBody, type Outcome } from "./outcome.js";

/**
 * JSON-RPC 2.0 over HTTP (specification 9): one endpoint at the mount point, whose methods are those of the service by
 * their names. Batches and notifications are served as JSON-RPC defines them.
 */
export function createJsonRpcBinding(options: BindingOptions): HttpBinding {
  const methods = methodsOf(options.service);
  return {
    matches: (_verb, path) => path === "/" || path === "",
    handle: async (request, response, target) => {
      const exchange = new HttpExchange(request, response, target);
      const outcome = await answer(exchange, new Calls(exchange, methods, options), options);
      if (outcome?.large !== undefined) await replyLarge(exchange, outcome, outcome.large, options);
      else if (outcome !== undefined) exchange.reply({ type: JSON_TYPE, ...outcome });
      else if (!response.headersSent) exchange.reply({ status: 204 });
    },
    refuse: (request, response, target, error) => {
      const exchange = new HttpExchange(request, response, target);
      discard(exchange);
      exchange.reply({ type: JSON_TYPE, ...failed(null, error), status: error.row.http });
    },
  };
}

/** The answer as a whole; undefined when there is nothing to say or it has been sent as a stream. */
async function answer(exchange: HttpExchange, calls: Calls, options: BindingOptions): Promise<Outcome | undefined> {
  const { limits, logger } = options;
  try {
    checkRequest(exchange);
  } catch (thrown) {
    discard(exchange);
    return failed(null, failureOf(thrown, { exchange, logger, binding: "jsonrpc" }));
  }
  try {
    const body = await readJsonBody(exchange, options);
    if (body === "empty" || body === "malformed") {
      return failed(null, new A2AError("PARSE_ERROR", "Invalid JSON payload"));
    }
    return Array.isArray(body.json)
      ? await answerBatch(body.json, new Batch(exchange, calls, options), limits.maxBatch)
      : await calls.alone(body.json);
  } catch (thrown) {
    return failed(null, failureOf(thrown, { exchange, logger, binding: "jsonrpc" }));
  }
}

function checkRequest(exchange: HttpExchange): void {
  if (exchange.request.method !== "POST") {
    throw new A2AError("METHOD_NOT_ALLOWED", "JSON-RPC is served with POST.", { headers: { allow: "POST" } });
  }
  checkBodyType(exchange, "CONTENT_TYPE_NOT_SUPPORTED");
}

async function answerBatch(json: readonly unknown[], batch: Batch, maxBatch: number): Promise<Outcome | undefined> {
  if (json.length === 0) return invalidRequest(null, "a batch must not be empty");
  if (json.length > maxBatch) return invalidRequest(null, `a batch has at most ${maxBatch} members`);
  return batch.answer(json);
}

async function replyLarge(
  exchange: HttpExchange,
  { status, headers }: Outcome,
  { pieces, written }: LargeBody,
  { limits, logger }: BindingOptions,
): Promise<void> {
  try {
    await exchange.replyInPieces({ status, headers, pieces, type: JSON_TYPE }, limits.stalledReaderMs);
  } catch (thrown) {
    // A part of it is out: all that can be done is to break off, and to say why in the log.
    failureOf(thrown, { exchange, logger, binding: "jsonrpc" });
  } finally {
    written();
  }
}
