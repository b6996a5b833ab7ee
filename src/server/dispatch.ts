import type { HttpBinding, NodeServerRequest, NodeServerResponse, Target } from "../binding/binding.js";
import { setHeaders } from "../binding/headers.js";
import type { A2AError } from "../core/error.js";
import type { Logger } from "../core/log.js";
import { send, type WholeAnswer } from "./answer.js";
import type { Cors } from "./cors.js";
import type { HostCheck } from "./hosts.js";
import { withBody } from "./parsed-body.js";

/** Called when a request is for nobody here, as in Express. */
export type NextHandler = (error?: unknown) => void;

/** A request handler for node:http, node:http2, and what is built on them. */
export type NodeHandler = (request: NodeServerRequest, response: NodeServerResponse, next?: NextHandler) => void;

/** A place that is answered without a binding; undefined when the path is another one. */
export type Page = (target: Target, request: NodeServerRequest) => WholeAnswer | undefined;

export interface DispatchOptions {
  /** Asked before all others. */
  readonly hosts: HostCheck;
  /** Asked in this order, before the bindings. */
  readonly pages: readonly Page[];
  /** Asked in this order; the first that matches answers. */
  readonly bindings: readonly HttpBinding[];
  /** Writes the "not found" of everything else, unless there is somebody else to ask. */
  readonly fallback: HttpBinding;
  /** Path that every request begins with, without a slash at the end, where the framework does not take it away. */
  readonly basePath: string;
  readonly cors: Cors | undefined;
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** Finds who answers a request: a page, a binding, or nobody. */
export function createDispatch(options: DispatchOptions): NodeHandler {
  const headers = Object.entries(options.headers).flat();
  const dispatch: NodeHandler = (request, response, next) => {
    const all = options.cors === undefined ? headers : [...headers, ...options.cors.headersFor(request)];
    const target = targetOf(request, options, all);
    const fault = options.hosts(request);
    if (fault !== undefined) return refuse(options, { request, response, target, headers: all }, fault, next);
    let answered = target === undefined ? undefined : answer(options, request, response, target);
    if (answered === undefined) {
      if (next !== undefined) return next();
      answered = options.fallback.handle(request, response, target ?? nowhere(options, all));
    }
    void settle(answered, options.logger, response, all);
  };
  return (request, response, next) => {
    try {
      dispatch(request, response, next);
    } catch (error) {
      // Here it is one request; in the listener of a server it would be the process.
      void settle(Promise.reject(error), options.logger, response, headers);
    }
  };
}

/** Stands for every target beside the base path: none of the bindings has such a one. */
function nowhere({ basePath, logger }: DispatchOptions, headers: readonly string[]): Target {
  return { path: "*", query: "", mount: basePath, headers, logger };
}

interface Refused {
  readonly request: NodeServerRequest;
  readonly response: NodeServerResponse;
  readonly target: Target | undefined;
  readonly headers: readonly string[];
}

/** Refuses what somebody here would have answered, as they would; what is for others is none of our business. */
function refuse(options: DispatchOptions, refused: Refused, error: A2AError, next: NextHandler | undefined): void {
  const { request, response, target = nowhere(options, refused.headers) } = refused;
  const binding = options.bindings.find(({ matches }) => matches(request.method ?? "", target.path));
  const isPage = (): boolean => options.pages.some((page) => page(target, request) !== undefined);
  if (binding === undefined && next !== undefined && !isPage()) return next();
  (binding ?? options.fallback).refuse(request, response, target, error);
}

/** Answers by the first who knows the target; undefined when nobody does. */
function answer(
  options: DispatchOptions,
  request: NodeServerRequest,
  response: NodeServerResponse,
  target: Target,
): Promise<void> | undefined {
  const { bindings, cors, pages } = options;
  const asked = cors?.preflight(request);
  for (const page of pages) {
    const content = page(target, request);
    if (content === undefined) continue;
    if (asked !== undefined) return preflight(options, request, response, target);
    const read = request.method === "GET" || request.method === "HEAD";
    return sendPage(request, setHeaders(response, target.headers), read ? content : onlyRead);
  }
  const verb = asked ?? request.method ?? "";
  for (const binding of bindings) {
    if (!binding.matches(verb, target.path)) continue;
    if (asked !== undefined) return preflight(options, request, response, target);
    const readable = withBody(request);
    return readable === undefined ? unreadable(options, target) : binding.handle(readable, response, target);
  }
  return undefined;
}

async function sendPage(request: NodeServerRequest, response: NodeServerResponse, content: WholeAnswer): Promise<void> {
  send(request, response, content);
}

async function preflight(
  { cors }: DispatchOptions,
  request: NodeServerRequest,
  response: NodeServerResponse,
  target: Target,
): Promise<void> {
  cors?.answer(request, setHeaders(response, target.headers));
}

async function unreadable({ logger }: DispatchOptions, { path }: Target): Promise<void> {
  const why = "the body of a request was read before its handler saw it: mount the handler before body parsers";
  logger.error({ path }, why);
  throw new Error(why);
}

/** A page can be read and nothing else. */
const onlyRead: WholeAnswer = { status: 405, headers: { allow: "GET, HEAD" } };

/** Bindings write their own errors; this is for what they did not foresee. */
async function settle(
  answered: Promise<void>,
  logger: Logger,
  response: NodeServerResponse,
  headers: readonly string[],
): Promise<void> {
  try {
    await answered;
  } catch (error) {
    logger.error({ err: error }, "a request could not be answered");
    if (response.headersSent) {
      response.destroy();
      return;
    }
    try {
      setHeaders(response, headers).statusCode = 500;
      response.end();
    } catch {
      // Nobody can be told any more.
      response.destroy();
    }
  }
}

/** The target below the mount point, or undefined when the request is for another one. */
function targetOf(
  request: NodeServerRequest,
  options: DispatchOptions,
  headers: readonly string[],
): Target | undefined {
  const { basePath, logger } = options;
  const url = originForm(request.url ?? "/");
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at + 1);
  const mount = mountOf(request, basePath);
  if (basePath === "") return { path, query, mount, headers, logger };
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return undefined;
  return { path: path.slice(basePath.length) || "/", query, mount, headers, logger };
}

/** Where the handler is mounted; Express tells in `baseUrl` what it took away from the path. */
function mountOf(request: NodeServerRequest, basePath: string): string {
  const { baseUrl } = request as { baseUrl?: unknown };
  return typeof baseUrl === "string" ? baseUrl + basePath : basePath;
}

/** A server has to accept a whole URL as the target, too (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1];
  if (rest === undefined) return url;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
