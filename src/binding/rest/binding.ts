import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { readJsonBody } from "../../http/body.js";
import { answerType, checkBodyType, errorType } from "../../http/media-type.js";
import { PiecesBody } from "../../http/pieces.js";
import { callOf, type HttpRequest } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import { eventsResponse } from "../../http/sse.js";
import { jsonPieces } from "../../wire/large/large.js";
import { restError } from "../../wire/rest-error.js";
import { type RouteMatch, Router } from "../../wire/router.js";
import { routesOf } from "../../wire/routes.js";
import { cachedText } from "../../wire/serialization-cache.js";
import { weightOf } from "../../wire/weight.js";
import { messageOf, messagesOf } from "../answer.js";
import type { BindingOptions, HttpBinding } from "../binding.js";
import { errorHeaders, failureOf } from "../failure.js";
import { type Endpoint, endpointOf } from "./endpoint.js";

const BINDING = "rest";

/** Paths of this form exist since 1.0, so they tell the version without doubt (specification 3.6.2). */
const IMPLIED_VERSION = "1.0";

/** A task is another one a moment later, and it is nobody else's business. */
const headersOfRead = [["cache-control", "no-store"]] as const;

/** What a verb and a path lead to: a route with the values in its path, or verbs that would lead to one. */
export type RestMatch = RouteMatch<Endpoint>;

export interface RestBinding extends HttpBinding<RestMatch> {
  /** The answer to a path that nobody serves. */
  notFound(request: HttpRequest): HttpResponse;
}

/** HTTP+JSON (specification 11): routes, parameters and bodies follow the `google.api.http` rules of the service. */
export function createRestBinding(options: BindingOptions): RestBinding {
  const endpoints = routesOf(options.service).map(endpointOf);
  // Whatever can be read at once can be asked about without its body (RFC 9110, 9.3.2).
  const readable = endpoints.filter(({ verb, isStream }) => verb === "GET" && !isStream);
  const router = new Router([...endpoints, ...readable.map((endpoint) => ({ ...endpoint, verb: "HEAD" }))]);
  return {
    match: (verb, path) => router.match(verb, path),
    handle: async (request, match) => {
      if ("route" in match) return serve({ request, ...match, options });
      const allow = match.allow.filter((verb) => verb !== "HEAD").join(", ");
      const message = `This path is served with ${allow}.`;
      return refuse(request, new A2AError("METHOD_NOT_ALLOWED", message, { headers: { allow } }));
    },
    notFound: (request) => refuse(request, new A2AError("METHOD_NOT_FOUND", "Nothing is served under this path.")),
    refuse,
  };
}

function refuse(request: HttpRequest, error: A2AError): HttpResponse {
  request.discard();
  return errorResponse(request, error);
}

interface Serving {
  readonly request: HttpRequest;
  readonly route: Endpoint;
  readonly values: readonly string[];
  readonly options: BindingOptions;
}

async function serve(serving: Serving): Promise<HttpResponse> {
  const { request, route, options } = serving;
  const { invoke, limits, logger } = options;
  const call = callOf(request, BINDING, IMPLIED_VERSION);
  const failed = (thrown: unknown): A2AError =>
    failureOf(thrown, { client: request, logger, binding: BINDING, method: route.method.name, call });
  try {
    const answer = await invoke({ method: route.method, request: await read(serving), call });
    if (!route.isStream) {
      const message = messageOf(answer);
      const type = answerType(request.header("accept"));
      const headers = [...headersOfRead, ...call.responseHeaders];
      const body = weightOf(message) === undefined ? route.write(message) : large(serving, message, call, failed);
      return { status: 200, type, headers, body };
    }
    const data = (message: Message): string => cachedText(message, route.write);
    const pieces = (message: Message) => jsonPieces(route.method.output, message);
    const format = { data, pieces, failure: (thrown: unknown) => restError(failed(thrown)) };
    return await eventsResponse(request, { call, messages: messagesOf(answer), format, limits });
  } catch (thrown) {
    return errorResponse(request, failed(thrown), call);
  }
}

function large(
  { route, options }: Serving,
  message: Message,
  call: Call,
  failed: (thrown: unknown) => void,
): PiecesBody {
  const pieces = jsonPieces(route.method.output, message);
  return new PiecesBody({ pieces, stalledMs: options.limits.stalledReaderMs, written: call.written, failed });
}

async function read({ request, route, values, options }: Serving): Promise<Message> {
  const { query } = request.target;
  if (!route.hasBody) return route.read({ values, query, body: undefined });
  try {
    // Without a body its type does not matter, unless it is what keeps pages of others out.
    const matters = request.header("content-length") !== "0" || request.header("origin") !== undefined;
    if (matters) checkBodyType(request);
  } catch (error) {
    request.discard();
    throw error;
  }
  const body = await readJsonBody(request, options);
  if (body === "malformed") throw invalid([{ field: "", description: "the body is not JSON in UTF-8" }]);
  // Where the path says all there is to say, a client need not send an empty object; some write null for nothing.
  return route.read({ values, query, body: body === "empty" ? {} : (body.json ?? {}) });
}

function errorResponse(request: HttpRequest, error: A2AError, call?: Call): HttpResponse {
  const headers = errorHeaders(error, call);
  return { status: error.row.http, type: errorType(request), body: restError(error), headers };
}
