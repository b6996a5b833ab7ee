import type { HttpBinding } from "../binding/binding.js";
import type { A2AError } from "../core/error.js";
import type { Cors } from "../http/cors.js";
import type { Dispatch, StaticRoute } from "../http/dispatch.js";
import type { HostCheck } from "../http/hosts.js";
import type { HttpRequest, RequestTarget } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import { RESOURCE_METADATA_PATH } from "./resource-route.js";

/** Answers requests that no route or binding matches. */
export interface Fallback {
  notFound(request: HttpRequest): HttpResponse;
  refuse(request: HttpRequest, error: A2AError): HttpResponse;
}

export interface DispatchOptions {
  /** Checked before everything else. */
  readonly hosts: HostCheck;
  /** Tried in this order, before the bindings. */
  readonly routes: readonly StaticRoute[];
  /** Tried in this order; the first one that matches answers. */
  readonly bindings: readonly HttpBinding[];
  readonly fallback: Fallback;
  /** Prefix of every request's path, without a trailing slash, if the framework does not remove it. */
  readonly basePath: string;
  readonly cors?: Cors | undefined;
  /** More headers of every answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Headers of answers to requests that a trusted proxy received over TLS; undefined if answers do not depend on that.
   */
  readonly forwarded?:
    | { readonly headers: Readonly<Record<string, string>>; readonly isSecure: (request: HttpRequest) => boolean }
    | undefined;
}

type ResponseOrPromise = HttpResponse | Promise<HttpResponse>;

/** Finds the static route or binding that answers a request. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const headers = ["x-content-type-options", "nosniff", ...Object.entries(options.headers ?? {}).flat()];
  const { cors, basePath, hosts, fallback, forwarded } = options;
  const secureHeaders = [...headers, ...Object.entries(forwarded?.headers ?? {}).flat()];
  return {
    answer: (request) => {
      const own = forwarded?.isSecure(request) === true ? secureHeaders : headers;
      const all = cors === undefined ? own : [...own, ...cors.headersFor(request)];
      const target = mountedTarget(request, basePath, all);
      // No binding matches the path `*`.
      request.target = target ?? { path: "*", query: "", mount: basePath, headers: all };
      const fault = hosts(request);
      if (fault !== undefined) return refuseByBinding(options, request, fault);
      return target === undefined ? undefined : handle(options, request);
    },
    notFound: (request) => {
      const fault = hosts(request);
      if (fault === undefined && request.url === "*" && request.method === "OPTIONS") return optionsAnswer;
      return fault === undefined ? fallback.notFound(request) : fallback.refuse(request, fault);
    },
  };
}

/** Refuses a request in the form of the binding that would have answered it. Returns undefined for other requests. */
function refuseByBinding(
  { bindings, routes, fallback }: DispatchOptions,
  request: HttpRequest,
  error: A2AError,
): ResponseOrPromise | undefined {
  const binding = bindings.find((each) => each.match(request.method, request.target.path) !== undefined);
  if (binding !== undefined) return binding.refuse(request, error);
  return routes.some((route) => route(request) !== undefined) ? fallback.refuse(request, error) : undefined;
}

/** Answers with the first route or binding that matches; undefined if none does. */
function handle({ bindings, cors, routes }: DispatchOptions, request: HttpRequest): ResponseOrPromise | undefined {
  const asked = cors?.preflight(request);
  for (const route of routes) {
    const content = route(request);
    if (content === undefined) continue;
    if (asked !== undefined) return cors?.answer(request);
    return request.method === "GET" || request.method === "HEAD" ? content : methodNotAllowed;
  }
  const verb = asked ?? request.method;
  for (const binding of bindings) {
    const match = binding.match(verb, request.target.path);
    if (match === undefined) continue;
    if (asked !== undefined) return cors?.answer(request);
    request.prepare();
    return binding.handle(request, match);
  }
  return undefined;
}

/** The answer to `OPTIONS *`, which concerns the whole server (RFC 9110, 9.3.7). */
const optionsAnswer: HttpResponse = { status: 204, headers: [["allow", "GET, HEAD, POST, DELETE, OPTIONS"]] };

/** The answer to writing methods on static routes. */
const methodNotAllowed: HttpResponse = { status: 405, headers: [["allow", "GET, HEAD"]] };

/** Returns the target below the mount path, or undefined if the request is for another path. */
function mountedTarget(request: HttpRequest, basePath: string, headers: readonly string[]): RequestTarget | undefined {
  const url = originForm(request.url);
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at + 1);
  const mount = request.baseUrl + basePath;
  if (basePath === "") return { path, query, mount, headers };
  if (path === basePath) return { path: "/", query, mount, headers };
  if (path.startsWith(`${basePath}/`)) return { path: path.slice(basePath.length), query, mount, headers };
  // The only document above the mount path: its path contains the whole path of the resource (RFC 9728, 3.1).
  const isMetadata = `${path}/`.startsWith(`${RESOURCE_METADATA_PATH}${basePath}/`);
  return isMetadata ? { path, query, mount, headers } : undefined;
}

/** Removes the origin of a target, because a server has to accept a whole URL (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1];
  if (rest === undefined) return url;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
