import { A2AError } from "../../core/error.js";
import { readJson } from "../../http/body.js";
import { checkBodyType } from "../../http/media-type.js";
import type { HttpRequest } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import type { BindingOptions, HttpBinding } from "../binding.js";
import { failureOf } from "../failure.js";
import type { TenantRoutes } from "../tenant-routes.js";
import { answerBatch } from "./batch.js";
import { Methods } from "./methods.js";
import { errorOutcome } from "./outcome.js";
import { RequestHandler } from "./request-handler.js";

/** The answer to a request that contains only notifications. */
const nothing: HttpResponse = { status: 204 };

/**
 * Creates the binding of JSON-RPC 2.0 over HTTP (specification 9): one endpoint at the mount point, with the methods of
 * all registered versions. Batches and notifications work as JSON-RPC defines them.
 */
export function createJsonRpcBinding(options: BindingOptions): HttpBinding<true> & Pick<TenantRoutes, "unserved"> {
  const methods = new Methods(options.versions, options.invoke);
  return {
    // Other verbs at the root may be for a page of the server that embeds this one.
    match: (verb, path) => (verb === "POST" && isRoot(path) ? true : undefined),
    unserved: (request) => (isRoot(request.target.path) ? wrongVerb(request, methods, options) : undefined),
    handle: (request) => answerRequest(request, methods, options),
    refuse: (request, error) => {
      request.discard();
      return { ...errorOutcome(methods.dialect(request).error, null, error), status: error.row.http };
    },
  };
}

function isRoot(path: string): boolean {
  return path === "/" || path === "";
}

function wrongVerb(request: HttpRequest, methods: Methods, { logger }: BindingOptions): HttpResponse {
  request.discard();
  const thrown = new A2AError("METHOD_NOT_ALLOWED", "JSON-RPC is served with POST.", { headers: { allow: "POST" } });
  const error = failureOf(thrown, { client: request, logger, binding: "jsonrpc" });
  return errorOutcome(methods.dialect(request).error, null, error);
}

async function answerRequest(request: HttpRequest, methods: Methods, options: BindingOptions): Promise<HttpResponse> {
  const { logger, versions } = options;
  const handler = new RequestHandler(request, methods, options);
  try {
    checkBodyType(request, "CONTENT_TYPE_NOT_SUPPORTED");
  } catch (thrown) {
    request.discard();
    return errorOutcome(handler.errorShape, null, failureOf(thrown, { client: request, logger, binding: "jsonrpc" }));
  }
  try {
    const body = await readJson(request, options);
    if (body === "empty" || body === "malformed") {
      return errorOutcome(handler.errorShape, null, new A2AError("PARSE_ERROR", "Invalid JSON payload"));
    }
    const { json } = body;
    if (methods.needsOlder(json, request)) await versions.ready();
    return (
      (Array.isArray(json) ? await answerBatch(json, request, handler, options) : await handler.alone(json)) ?? nothing
    );
  } catch (thrown) {
    return errorOutcome(handler.errorShape, null, failureOf(thrown, { client: request, logger, binding: "jsonrpc" }));
  }
}
