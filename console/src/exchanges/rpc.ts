import { type DescMethod, fromBinary, type JsonValue, toJson } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { essenceOf } from "../../../src/wire/media-type.js";
import { Router } from "../../../src/wire/router.js";
import { type Route, routesOf } from "../../../src/wire/routes.js";
import { VERSION_PARAMETER } from "../../../src/wire/service-params.js";
import type { Exchange } from "../api/exchanges.js";
import { decodeBody, parsed } from "./bytes.js";
import { framesOf } from "./frames.js";

/** The call that an exchange carries. */
export interface Rpc {
  /** Name of the method, as the exchange's version of the protocol has it. */
  readonly name: string;
  /** Protocol on the wire. */
  readonly wire: "JSON-RPC" | "HTTP+JSON" | "Connect" | "gRPC-Web";
  /** The method of A2A 1.0; undefined for methods of older versions. */
  readonly method: DescMethod | undefined;
}

const router = new Router<Route>(routesOf(A2AService));
const byName = new Map(A2AService.methods.map((method) => [method.name, method]));

/** Calls by requests, because lists ask for them with each event of a stream. */
const known = new WeakMap<Exchange["request"], Rpc | undefined>();

/** Returns the call of an exchange; undefined for other requests, such as for the card. */
export function rpcOf(exchange: Exchange): Rpc | undefined {
  const { request } = exchange;
  if (!known.has(request)) known.set(request, readRpc(exchange));
  return known.get(request);
}

function readRpc(exchange: Exchange): Rpc | undefined {
  const { method, url } = exchange;
  const { pathname } = new URL(url);
  const [, service, name = ""] = /\/([\w.]+Service)\/(\w+)$/.exec(pathname) ?? [];
  if (method === "POST" && service !== undefined) {
    const wire = typeOf(exchange.requestHeaders).startsWith("application/grpc-web") ? "gRPC-Web" : "Connect";
    return { name, wire, method: service === A2AService.typeName ? byName.get(name) : undefined };
  }
  return jsonRpcOf(exchange) ?? restOf(exchange, pathname);
}

function jsonRpcOf({ method, request }: Exchange): Rpc | undefined {
  if (method !== "POST") return undefined;
  // The name stands within the first bytes, also of a request that was cut.
  const json = parsed(decodeBody(request.bytes));
  const named = isObject(json) && "jsonrpc" in json ? json.method : undefined;
  return typeof named === "string" ? { name: named, wire: "JSON-RPC", method: byName.get(named) } : undefined;
}

function restOf({ method: verb, requestHeaders }: Exchange, pathname: string): Rpc | undefined {
  const found = routeOf(verb, pathname);
  if (found === undefined) return undefined;
  const { method } = found.route;
  // Older versions have the same paths below /v1, and other messages.
  const isCurrent = requestHeaders.some(([name, value]) => name === VERSION_PARAMETER && value.startsWith("1."));
  return { name: method.name, wire: "HTTP+JSON", method: isCurrent ? method : undefined };
}

/** Finds a route at the end of a path, because interfaces may be below any path. */
function routeOf(verb: string, pathname: string) {
  const path = pathname.replace(/^\/v1\//, "/");
  if (path.includes("/.well-known/")) return undefined;
  for (let at = 0; at !== -1; at = path.indexOf("/", at + 1)) {
    const found = router.match(verb, path.slice(at));
    if (found !== undefined && "route" in found) return found;
  }
  return undefined;
}

/** Returns the request message of a call as JSON of A2A 1.0; undefined if it is of another version, or was cut. */
export function requestJson(exchange: Exchange, { method, wire }: Rpc): JsonValue | undefined {
  const { request, requestHeaders, url } = exchange;
  if (method === undefined || request.size > request.bytes.length) return undefined;
  try {
    switch (wire) {
      case "JSON-RPC": {
        const json = parsed(decodeBody(request.bytes));
        return isObject(json) ? (json.params ?? {}) : undefined;
      }
      case "HTTP+JSON":
        return restJson(exchange.method, new URL(url), parsed(decodeBody(request.bytes)));
      default: {
        const isFramed = wire === "gRPC-Web" || typeOf(requestHeaders).startsWith("application/connect+");
        const data = isFramed ? framesOf(request.bytes)[0]?.data : request.bytes;
        if (data === undefined) return undefined;
        if (typeOf(requestHeaders).endsWith("json")) return parsed(decodeBody(data));
        return toJson(method.input, fromBinary(method.input, data));
      }
    }
  } catch {
    return undefined;
  }
}

function restJson(verb: string, { pathname, searchParams }: URL, body: JsonValue | undefined): JsonValue | undefined {
  const found = routeOf(verb, pathname);
  if (found === undefined) return undefined;
  const { fields } = found.route;
  const path = fields.map(({ jsonName }, at) => [jsonName, decodeURIComponent(found.values[at] ?? "")]);
  return { ...Object.fromEntries(searchParams), ...(isObject(body) && body), ...Object.fromEntries(path) };
}

/** Returns the media type without parameters. */
export function typeOf(headers: Exchange["requestHeaders"]): string {
  return essenceOf(headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "");
}

export const isObject = (value: unknown): value is { [name: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
