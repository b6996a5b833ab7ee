import { cors as connect } from "@connectrpc/connect";
import type { HttpRequest } from "./request.js";
import type { HttpResponse } from "./response.js";

/** Time for which a browser may cache the answer to a preflight, in seconds: the maximum that any browser accepts. */
const REMEMBER_SECONDS = 86_400;

/** Headers that scripts may send: those of A2A, Connect and gRPC-Web, and those for tracing and caching. */
const requestHeaders: readonly string[] = [
  ...connect.allowedHeaders,
  "Accept",
  "Authorization",
  "A2A-Version",
  "A2A-Extensions",
  "Idempotency-Key",
  "Last-Event-ID",
  "If-None-Match",
  "Traceparent",
  "Tracestate",
  "X-Request-Id",
];

/** Headers that scripts may read. */
const responseHeaders: string = [
  ...connect.exposedHeaders,
  "A2A-Extensions",
  "A2A-Version",
  "ETag",
  "Retry-After",
  "WWW-Authenticate",
  "X-Request-Id",
].join(", ");

/** Lets scripts of other origins call the server (WHATWG Fetch, 3.2). */
export interface Cors {
  /** Headers that let an allowed origin read an answer: names and values alternate. */
  headersFor(request: HttpRequest): readonly string[];
  /** Returns the HTTP method that a preflight request asks for; undefined for any other request. */
  preflight(request: HttpRequest): string | undefined;
  /** The answer to a preflight request. */
  answer(request: HttpRequest): HttpResponse;
}

/**
 * @param origins that may call, such as `https://app.example.org`; true for all. No origin may send cookies, because
 * answers never depend on them.
 * @param more names of request headers that agents declare for their API keys.
 * @param both names of headers that versions of the protocol have in requests and in answers.
 */
export function createCors(
  origins: true | readonly string[],
  more: readonly string[],
  both: readonly string[] = [],
): Cors {
  const exposed = [responseHeaders, ...both].join(", ");
  const allowed = origins === true ? undefined : new Set(origins);
  const headers = [...requestHeaders, ...more, ...both];
  const known = new Set(headers.map((name) => name.toLowerCase()));
  const allows = (origin: string | undefined): origin is string =>
    origin !== undefined && allowed?.has(origin) !== false;
  return {
    headersFor: (request) => {
      const vary = allowed === undefined ? [] : ["vary", "Origin"];
      const origin = request.header("origin");
      if (!allows(origin)) return vary;
      const allow = ["access-control-allow-origin", allowed === undefined ? "*" : origin];
      return [...vary, ...allow, "access-control-expose-headers", exposed];
    },
    preflight: (request) =>
      request.method === "OPTIONS" && request.header("origin") !== undefined
        ? request.header("access-control-request-method")
        : undefined,
    answer: (request) => {
      const answer: [string, string][] = [["vary", "Access-Control-Request-Headers"]];
      if (allows(request.header("origin"))) {
        const asked = request.header("access-control-request-headers") ?? "";
        // The service parameters of extensions are not known in advance, so they cannot be listed.
        const ours = asked.split(",").filter((name) => /^\s*(?:a2a|parley)-[\w-]+\s*$/i.test(name));
        const unknown = ours.map((name) => name.trim()).filter((name) => !known.has(name.toLowerCase()));
        answer.push(
          ["access-control-allow-methods", "GET, HEAD, POST, DELETE"],
          ["access-control-allow-headers", [...headers, ...unknown].join(", ")],
          ["access-control-max-age", `${REMEMBER_SECONDS}`],
        );
      }
      return { status: 204, headers: answer };
    },
  };
}
