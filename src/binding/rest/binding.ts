import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { type JsonBody, readJson } from "../../http/body.js";
import { eventsResponse } from "../../http/event-stream.js";
import { answerType, checkBodyType, errorType } from "../../http/media-type.js";
import { PiecesBody } from "../../http/pieces.js";
import { callOf, type HttpRequest, serviceParameter } from "../../http/request.js";
import { type HttpResponse, type Rejection, rejectionOf } from "../../http/response.js";
import { pathExplained } from "../../version/mismatch-errors.js";
import type { RestDialect } from "../../version/rest.js";
import { namesTag } from "../../wire/entity-tag.js";
import { weightOf } from "../../wire/marks.js";
import { cachedText } from "../../wire/serialization-cache.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { streamAnswer, unaryAnswer } from "../answer.js";
import type { BindingOptions, HttpBinding } from "../binding.js";
import { errorHeaders, failureOf } from "../failure.js";
import { pathNotFound, type RestChoice, type RestMatch, type RestRoute, RouteTable } from "./routes.js";

const BINDING = "rest";

/** A task can change at any time, and only its owner may see it. */
const headersOfRead = [["cache-control", "no-store"]] as const;

interface RestBinding extends HttpBinding<RestMatch> {
  /** Returns the answer to an unknown path. */
  notFound(request: HttpRequest): HttpResponse;
}

/**
 * Creates the binding of HTTP+JSON (specification 11). Routes, parameters and bodies come from the registered versions.
 */
export function createRestBinding(options: BindingOptions): RestBinding {
  const routes = new RouteTable(options.versions, options.invoke);
  const { rest } = options.versions.native;
  const refuse = (request: HttpRequest, rejection: A2AError, dialect = rest): HttpResponse => {
    request.discard();
    const error = explained(request, rejection, options);
    if (error.metadata.supportedVersions !== undefined) mismatched(request, error, options);
    return { ...errorResponse(request, error, dialect), rejections: rejectionsOf(error) };
  };
  const answer = (request: HttpRequest, chosen: RestChoice): Promise<HttpResponse> => {
    if ("refused" in chosen) return Promise.resolve(refuse(request, chosen.refused, chosen.dialect));
    const { route, values } = chosen;
    return serveCall({ request, route, values, options });
  };
  const answerLater = async (request: HttpRequest, matched: RestMatch): Promise<HttpResponse> => {
    try {
      await options.versions.ready();
      return await answer(request, routes.choose(request, matched) as RestChoice);
    } catch (thrown) {
      return refuse(request, failureOf(thrown, { client: request, logger: options.logger, binding: BINDING }));
    }
  };
  return {
    match: (verb, path) => routes.match(verb, path),
    handle: (request, matched) => {
      const chosen = routes.choose(request, matched);
      return chosen === undefined ? answerLater(request, matched) : answer(request, chosen);
    },
    notFound: (request) => refuse(request, pathNotFound()),
    refuse,
  };
}

interface Serving {
  readonly request: HttpRequest;
  readonly route: RestRoute;
  readonly values: readonly string[];
  readonly options: BindingOptions;
}

async function serveCall(serving: Serving): Promise<HttpResponse> {
  const { request, route } = serving;
  const call = callOf(request, BINDING, route.version);
  let hasCalled = false;
  try {
    const message = route.hasBody ? requestMessage(serving, await jsonBody(serving)) : withoutBody(serving);
    hasCalled = true;
    const answer = await route.invoke({ method: route.method, request: message, call });
    if (!route.isStream) return whole(serving, unaryAnswer(answer), call);
    return await stream(serving, streamAnswer(answer), call);
  } catch (thrown) {
    return failureResponse(serving, thrown, call, hasCalled);
  }
}

/** Returns an answer with one message. */
function whole(serving: Serving, message: Message, call: Call): HttpResponse {
  const { request, route } = serving;
  const type = answerType(request.header("accept"), route.dialect.mediaType);
  const { answerHeaders } = call;
  const headers = answerHeaders.size === 0 ? headersOfRead : [...headersOfRead, ...answerHeaders];
  if (!route.hasBody && hasAlready(request, call)) return { status: 304, headers };
  const { status = 200 } = route;
  if (status === 204) return { status, headers };
  const body = weightOf(message) === undefined ? route.write(message) : large(serving, message, call);
  return { status, type, headers, body };
}

function stream(serving: Serving, messages: AsyncIterable<Message>, call: Call): Promise<HttpResponse> {
  const { request, route } = serving;
  const data = (message: Message): string => cachedText(message, route.write, route.form);
  const failure = (thrown: unknown): string => route.dialect.error(restFailure(serving, thrown, call));
  const format = { data, pieces: route.pieces, failure };
  return eventsResponse(request, { call, messages, format });
}

function failureResponse(serving: Serving, thrown: unknown, call: Call, hasCalled: boolean): HttpResponse {
  const { request, route, options } = serving;
  const known = restFailure(serving, thrown, call);
  const error = explained(request, known, options);
  // The service has already logged the calls that it rejects for their version.
  if (error !== known && error.reason !== "VERSION_NOT_SUPPORTED") mismatched(request, error, options);
  const response = errorResponse(request, error, route.dialect, call);
  return hasCalled ? response : { ...response, rejections: rejectionsOf(error, route.method.name) };
}

function restFailure({ request, route, options }: Serving, thrown: unknown, call: Call): A2AError {
  const { logger } = options;
  return failureOf(thrown, { client: request, logger, binding: BINDING, method: route.method.name, call });
}

/** Returns the error with an explanation, if the request is one of a disabled version. */
function explained(request: HttpRequest, error: A2AError, { versions }: BindingOptions): A2AError {
  const asked = serviceParameter(request, VERSION_PARAMETER);
  return pathExplained(error, { path: request.target.path, asked }, versions);
}

function mismatched(request: HttpRequest, { message: why }: A2AError, options: BindingOptions): void {
  const version = serviceParameter(request, VERSION_PARAMETER);
  const { path, tenant } = request.target;
  const asked = tenant === undefined ? path : `/${encodeURIComponent(tenant)}${path}`;
  options.mismatched?.(request, { binding: BINDING, asked, version, why });
}

/** Returns true if the client already has this content, which only answers with an entity tag support. */
function hasAlready(request: HttpRequest, { answerHeaders }: Call): boolean {
  const etag = answerHeaders.get("etag");
  const known = etag === undefined ? undefined : request.header("if-none-match");
  return etag !== undefined && known !== undefined && namesTag(known, etag);
}

function rejectionsOf(error: A2AError, method?: string): readonly Rejection[] {
  return [rejectionOf(BINDING, error, method)];
}

function large(serving: Serving, message: Message, call: Call): PiecesBody {
  const { route } = serving;
  const pieces = route.pieces(message);
  const failed = (thrown: unknown): void => void restFailure(serving, thrown, call);
  return new PiecesBody({ pieces, written: call.written, failed });
}

function withoutBody({ request, route, values }: Serving): Message {
  return route.read({ values, query: request.target.query, body: undefined });
}

/** @throws A2AError like `readJson()`, and for a media type other than JSON */
function jsonBody({ request, options }: Serving): Promise<JsonBody> {
  try {
    // The media type of an empty body matters only for requests of browsers, whose cross-origin protection depends on
    // it.
    const matters = request.header("content-length") !== "0" || request.header("origin") !== undefined;
    if (matters) checkBodyType(request);
  } catch (error) {
    request.discard();
    throw error;
  }
  return readJson(request, options);
}

function requestMessage({ request, route, values }: Serving, body: JsonBody): Message {
  if (body === "malformed") {
    const error = invalid([{ field: "", description: "the body is not JSON in UTF-8" }]);
    throw route.dialect.malformed === undefined ? error : new A2AError(route.dialect.malformed, error.message);
  }
  // If the path contains all parameters, the body may be missing or null instead of an empty object.
  return route.read({ values, query: request.target.query, body: body === "empty" ? {} : (body.json ?? {}) });
}

function errorResponse(request: HttpRequest, error: A2AError, dialect: RestDialect, call?: Call): HttpResponse {
  const headers = errorHeaders(error, call);
  const status = dialect.statuses?.[error.reason] ?? error.row.http;
  return { status, type: errorType(request, dialect.mediaType), body: dialect.error(error), headers };
}
