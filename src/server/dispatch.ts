import type { HttpBinding } from "../binding/binding.js";
import type { A2AError } from "../core/error.js";
import type { Cors } from "../http/cors.js";
import type { Dispatch } from "../http/dispatch.js";
import type { HostCheck } from "../http/hosts.js";
import type { HttpRequest, RequestTarget } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";

/** A place that is answered without a binding; undefined when the path is another one. */
export type StaticRoute = (request: HttpRequest) => HttpResponse | undefined;

/** Answers what belongs to nobody. */
export interface Fallback {
  notFound(request: HttpRequest): HttpResponse;
  refuse(request: HttpRequest, error: A2AError): HttpResponse;
}

export interface DispatchOptions {
  /** Asked before all others. */
  readonly hosts: HostCheck;
  /** Asked in this order, before the bindings. */
  readonly routes: readonly StaticRoute[];
  /** Asked in this order; the first that matches answers. */
  readonly bindings: readonly HttpBinding[];
  readonly fallback: Fallback;
  /** Path that every request begins with, without a slash at the end, where the framework does not take it away. */
  readonly basePath: string;
  readonly cors: Cors | undefined;
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
}

type Answer = HttpResponse | Promise<HttpResponse>;

/** Finds who answers a request: a static route, a binding, or nobody. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const headers = Object.entries(options.headers).flat();
  const { cors, basePath, hosts, fallback } = options;
  return {
    answer: (request) => {
      const all = cors === undefined ? headers : [...headers, ...cors.headersFor(request)];
      const target = targetOf(request, basePath, all);
      // None of the bindings has a target like the other one.
      request.target = target ?? { path: "*", query: "", mount: basePath, headers: all };
      const fault = hosts(request);
      if (fault !== undefined) return refuse(options, request, fault);
      return target === undefined ? undefined : answer(options, request);
    },
    notFound: (request) => {
      const fault = hosts(request);
      if (fault === undefined && request.url === "*" && request.method === "OPTIONS") return optionsAnswer;
      return fault === undefined ? fallback.notFound(request) : fallback.refuse(request, fault);
    },
  };
}

/** Refuses what somebody here would have answered, as they would; what is for others is none of our business. */
function refuse(
  { bindings, routes, fallback }: DispatchOptions,
  request: HttpRequest,
  error: A2AError,
): Answer | undefined {
  const binding = bindings.find((each) => each.match(request.method, request.target.path) !== undefined);
  if (binding !== undefined) return binding.refuse(request, error);
  return routes.some((route) => route(request) !== undefined) ? fallback.refuse(request, error) : undefined;
}

/** Answers by the first who knows the target; undefined when nobody does. */
function answer({ bindings, cors, routes }: DispatchOptions, request: HttpRequest): Answer | undefined {
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

/** What `OPTIONS *` is told, which asks about the server and no place in it (RFC 9110, 9.3.7). */
const optionsAnswer: HttpResponse = { status: 204, headers: [["allow", "GET, HEAD, POST, DELETE, OPTIONS"]] };

/** A static route can be read and nothing else. */
const methodNotAllowed: HttpResponse = { status: 405, headers: [["allow", "GET, HEAD"]] };

/** The target below the mount point, or undefined when the request is for another one. */
function targetOf(request: HttpRequest, basePath: string, headers: readonly string[]): RequestTarget | undefined {
  const url = originForm(request.url);
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at + 1);
  const mount = request.baseUrl + basePath;
  if (basePath === "") return { path, query, mount, headers };
  if (path === basePath) return { path: "/", query, mount, headers };
  return path.startsWith(`${basePath}/`) ? { path: path.slice(basePath.length), query, mount, headers } : undefined;
}

/** A server has to accept a whole URL as the target, too (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1];
  if (rest === undefined) return url;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
