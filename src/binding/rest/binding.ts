import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { jsonPieces } from "../../wire/large/large.js";
import { restError } from "../../wire/rest-error.js";
import { type RouteMatch, Router } from "../../wire/router.js";
import { routesOf } from "../../wire/routes.js";
import { sharedText } from "../../wire/shared.js";
import { weightOf } from "../../wire/weight.js";
import { messageOf, messagesOf } from "../answer.js";
import type { BindingOptions, HttpBinding, Target } from "../binding.js";
import { errorHeaders, failureOf } from "../failure.js";
import { discard, readJsonBody } from "../http-body.js";
import { HttpExchange } from "../http-exchange.js";
import { answerType, checkBodyType, errorType } from "../media-type.js";
import { sendEvents } from "../sse-response.js";
import { type Endpoint, endpointOf } from "./endpoint.js";

const BINDING = "rest";

/** Paths of this form exist since 1.0, so they tell the version without doubt (specification 3.6.2). */
const IMPLIED_VERSION = "1.0";

/** A task is another one a moment later, and it is nobody else's business. */
const headersOfRead = [["cache-control", "no-store"]] as const;

/** HTTP+JSON (specification 11): routes, parameters and bodies follow the `google.api.http` rules of the service. */
export function createRestBinding(options: BindingOptions): HttpBinding {
  const router = new Router(routesOf(options.service).map(endpointOf));
  const find = (verb: string, path: string): RouteMatch<Endpoint> | undefined => {
    const match = router.match(verb, path);
    // Whatever can be read at once can be asked about without its body (RFC 9110, 9.3.2).
    const read = verb === "HEAD" ? router.match("GET", path) : undefined;
    return read !== undefined && "route" in read && !read.route.isStream ? read : match;
  };
  return {
    matches: (verb, path) => find(verb, path) !== undefined,
    handle: async (request, response, target) => {
      const exchange = new HttpExchange(request, response, target);
      const match = find(request.method ?? "", target.path);
      if (match !== undefined && "route" in match) await serve({ exchange, ...match, target, options });
      else refuse(exchange, match?.allow);
    },
    refuse: (request, response, target, error) => {
      const exchange = new HttpExchange(request, response, target);
      discard(exchange);
      replyError(exchange, error);
    },
  };
}

/** A path that is served by no route, or not with this verb. */
function refuse(exchange: HttpExchange, allow: readonly string[] | undefined): void {
  discard(exchange);
  const error =
    allow === undefined
      ? new A2AError("METHOD_NOT_FOUND", "Nothing is served under this path.")
      : new A2AError("METHOD_NOT_ALLOWED", `This path is served with ${allow.join(", ")}.`, {
          headers: { allow: allow.join(", ") },
        });
  replyError(exchange, error);
}

interface Serving {
  readonly exchange: HttpExchange;
  readonly route: Endpoint;
  readonly values: readonly string[];
  readonly target: Target;
  readonly options: BindingOptions;
}

async function serve(serving: Serving): Promise<void> {
  const { exchange, route, options } = serving;
  const { invoke, limits, logger } = options;
  const call = exchange.call(BINDING, IMPLIED_VERSION);
  const failed = (thrown: unknown): A2AError =>
    failureOf(thrown, { exchange, logger, binding: BINDING, method: route.method.name, call });
  try {
    const request = await read(serving);
    const answer = await invoke({ method: route.method, request, call });
    if (!route.isStream) {
      const sent = reply(serving, call, messageOf(answer));
      if (sent !== undefined) await sent;
      return;
    }
    const data = (message: Message): string => sharedText(message, route.write);
    const pieces = (message: Message) => jsonPieces(route.method.output, message);
    const format = { data, pieces, failure: (thrown: unknown) => restError(failed(thrown)) };
    await sendEvents(exchange, { call, messages: messagesOf(answer), format, limits });
  } catch (thrown) {
    replyError(exchange, failed(thrown), call);
  }
}

async function read({ exchange, route, values, target, options }: Serving): Promise<Message> {
  const { query } = target;
  if (!route.hasBody) return route.read({ values, query, body: undefined });
  try {
    // Without a body its type does not matter, unless it is what keeps pages of others out.
    const matters = exchange.header("content-length") !== "0" || exchange.header("origin") !== undefined;
    if (matters) checkBodyType(exchange);
  } catch (error) {
    discard(exchange);
    throw error;
  }
  const body = await readJsonBody(exchange, options);
  if (body === "malformed") throw invalid([{ field: "", description: "the body is not JSON in UTF-8" }]);
  // Where the path says all there is to say, a client need not send an empty object; some write null for nothing.
  return route.read({ values, query, body: body === "empty" ? {} : (body.json ?? {}) });
}

function reply({ exchange, route, options }: Serving, call: Call, answer: Message): Promise<void> | undefined {
  const type = answerType(exchange.header("accept"));
  const headers = [...headersOfRead, ...call.responseHeaders];
  if (weightOf(answer) !== undefined) {
    const pieces = jsonPieces(route.method.output, answer);
    const sent = exchange.replyInPieces({ status: 200, type, pieces, headers }, options.limits.stalledReaderMs);
    return sent.finally(call.written);
  }
  const body = route.write(answer);
  exchange.reply({ status: 200, type, body, headers });
  return undefined;
}

function replyError(exchange: HttpExchange, error: A2AError, call?: Call): void {
  const type = errorType(exchange);
  exchange.reply({ status: error.row.http, type, body: restError(error), headers: errorHeaders(error, call) });
}
