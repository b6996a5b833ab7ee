import type { ConnectRouter } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { type Audit, auditEventOf } from "../audit/audit.js";
import type { BindingOptions, HttpBinding } from "../binding/binding.js";
import { type ConnectBinding, createConnectBinding } from "../binding/connect/binding.js";
import { isGrpc } from "../binding/connect/protocol.js";
import { createJsonRpcBinding } from "../binding/jsonrpc/binding.js";
import { createRestBinding } from "../binding/rest/binding.js";
import { belowTenants, optionsBelowTenants, type TenantRoutes } from "../binding/tenant-routes.js";
import type { CardSigner } from "../card/signing/kept-signatures.js";
import { requestFacts } from "../core/log.js";
import type { ConnectRemote } from "../delegation/remotes.js";
import { createCors } from "../http/cors.js";
import type { Dispatch, StaticRoute } from "../http/dispatch.js";
import { createHostCheck } from "../http/hosts.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse, Rejection } from "../http/response.js";
import type { RejectionLog } from "../service/interceptors/access-log.js";
import type { LoadApi } from "../telemetry/choice.js";
import type { Metrics } from "../telemetry/metrics.js";
import { createCardRoute, createKeysRoute } from "./card-route.js";
import { createDispatch, type DispatchOptions } from "./dispatch.js";
import type { Settings } from "./options.js";
import { createPageRoute } from "./page-route.js";
import type { Proxies } from "./proxies.js";
import type { PublicAddress } from "./public-address.js";
import type { publicKeysOf } from "./public-keys.js";
import { publicTenants, takenTenants } from "./public-tenants.js";
import type { PushModules } from "./push-modules.js";
import { createResourceRoute } from "./resource-route.js";

/** Parts that differ between runtimes. */
export interface RuntimeParts {
  /** Creates the client of another agent. */
  readonly connect: ConnectRemote;
  /** Imports the API of OpenTelemetry. Default: it has to be given (option `telemetry`). */
  readonly openTelemetry?: LoadApi;
  /** Modules for push notifications. Default: none are sent. */
  readonly push?: PushModules;
  /** Headers of every answer over TLS. */
  readonly secureHeaders?: Readonly<Record<string, string>>;
  /** Compressions for calls of Connect and gRPC-Web. Default: none. */
  readonly compressions?: readonly Compression[];
  /** The console, on the port of a server. */
  readonly console?: HttpBinding | undefined;
  /** Registers further services with Connect's router. */
  readonly more?: ((router: ConnectRouter) => void) | undefined;
}

/** Parts that answer HTTP requests. */
export interface HttpComponents {
  readonly connect: ConnectBinding;
  /** Creates the HTTP dispatch, with these routes before that of the card. */
  readonly dispatch: (routes: readonly StaticRoute[]) => Dispatch;
}

/** Parts that the HTTP parts use. */
interface Others {
  readonly binding: BindingOptions;
  readonly address: PublicAddress;
  readonly proxies: Proxies;
  readonly signer: CardSigner | undefined;
  readonly publicKeys: ReturnType<typeof publicKeysOf>;
}

/** Creates the bindings and routes of HTTP, in the order in which a request is tried on them. */
export function composeHttp(
  settings: Settings,
  parts: RuntimeParts,
  { binding, address, proxies, signer, publicKeys }: Others,
): HttpComponents {
  const connect = createConnectBinding(binding, { compressions: parts.compressions ?? [], more: parts.more });
  const rest = createRestBinding(binding);
  const jsonRpc = createJsonRpcBinding(binding);
  const tenants = tenantsOf(settings, binding);
  const cards = [createCardRoute(settings, address, signer)];
  if (publicKeys !== undefined) cards.push(createKeysRoute(settings, publicKeys));
  const page = settings.page ? [createPageRoute(settings, address)] : [];
  const dispatch = (routes: readonly StaticRoute[]): Dispatch => {
    const answering = createDispatch({
      hosts: createHostCheck({ allowed: settings.allowedHosts }),
      routes: [...routes, ...cards, createResourceRoute(settings, address), ...page],
      bindings: [...(parts.console ? [parts.console] : []), connect, jsonRpc, ...orderOf(settings, rest, tenants)],
      fallback: {
        notFound: (request) =>
          connect.unserved(request) ??
          jsonRpc.unserved(request) ??
          tenants?.unserved(request) ??
          rest.notFound(request),
        refuse: (request, error) => (isGrpc(request) ? connect : rest).refuse(request, error),
      },
      basePath: settings.basePath,
      cors: settings.cors && createCors(settings.cors, keyHeaders(settings), versionHeaders(settings)),
      headers: settings.tls && parts.secureHeaders,
      forwarded: forwardedHeadersOf(settings, proxies, parts.secureHeaders),
    });
    const { audit, metrics } = settings;
    const watched = binding.onRejection === undefined ? answering : withRejections(answering, binding.onRejection);
    return audit === undefined ? watched : { ...watched, onRejection: rejectionAudit(audit, proxies, metrics) };
  };
  return { connect, dispatch };
}

/** Creates the bindings at the URLs of tenants; undefined if every version has tenants in its messages. */
function tenantsOf(settings: Settings, binding: BindingOptions): TenantRoutes | undefined {
  const { agents, versions } = settings;
  if (agents.anyTenant || !versions.others.some(({ isUnnamed }) => isUnnamed)) return undefined;
  const options = optionsBelowTenants(binding);
  const below = { jsonRpc: createJsonRpcBinding(options), rest: createRestBinding(options) };
  return belowTenants(below, publicTenants(settings));
}

/**
 * Orders the bindings. URLs of tenants come last, so that other calls do not pay for matching them. They come before
 * HTTP+JSON if a tenant has the path of a version, because HTTP+JSON matches everything below that path.
 */
function orderOf(settings: Settings, rest: HttpBinding, tenants: TenantRoutes | undefined): readonly HttpBinding[] {
  if (tenants === undefined) return [rest];
  return takenTenants(settings).length > 0 ? [tenants, rest] : [rest, tenants];
}

/** Returns the headers of a cleartext server for clients that use TLS, according to a trusted proxy. */
function forwardedHeadersOf(
  { tls, trust }: Settings,
  proxies: Proxies,
  secureHeaders: Readonly<Record<string, string>> = {},
): DispatchOptions["forwarded"] {
  if (tls !== undefined || trust === undefined || Object.keys(secureHeaders).length === 0) return undefined;
  return { headers: secureHeaders, isSecure: (request) => proxies.isSecure(request) };
}

/** Returns the headers for extensions in other versions. */
function versionHeaders({ versions }: Settings): string[] {
  return [...new Set(versions.others.flatMap(({ extensionsParameter }) => extensionsParameter ?? []))];
}

/** Returns the request headers of API keys in the cards, which scripts of other origins have to send. */
function keyHeaders({ agents }: Settings): string[] {
  const schemes = agents.all.flatMap(({ card }) => Object.values(card.securitySchemes)).map(({ scheme }) => scheme);
  return schemes.flatMap((scheme) =>
    scheme.case === "apiKeySecurityScheme" && scheme.value.location === "header" ? [scheme.value.name] : [],
  );
}

/**
 * Logs the answers to requests that were refused before they became calls. It wraps the dispatch only if the access log
 * is on.
 */
export function withRejections(dispatch: Dispatch, log: RejectionLog): Dispatch {
  const watched = (
    request: HttpRequest,
    answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined,
  ) => {
    const began = performance.now();
    const note = (response: HttpResponse): HttpResponse => {
      const { rejections = [], status } = response;
      const line = ({ binding, method, reason }: Rejection): void => {
        const ms = Math.round(performance.now() - began);
        log({ binding, method, code: reason, status, ms, path: request.target.path, from: request });
      };
      for (const rejection of rejections) line(rejection);
      response.laterRejections?.(line);
      return response;
    };
    const answered = answer(request);
    return answered instanceof Promise ? answered.then(note) : answered && note(answered);
  };
  return {
    answer: (request) => watched(request, dispatch.answer),
    notFound: (request) => watched(request, dispatch.notFound) as HttpResponse | Promise<HttpResponse>,
  };
}

/** Audits and counts requests that were refused before they became calls. */
export function rejectionAudit(
  audit: Audit,
  { addressOf }: Pick<Proxies, "addressOf">,
  metrics?: Metrics | undefined,
): NonNullable<Dispatch["onRejection"]> {
  return (request, { binding, method, reason, limit }) => {
    metrics?.requestRefused(binding, reason);
    const event = reason === undefined ? undefined : auditEventOf(reason);
    // A library that refuses a request by its size names no limit.
    const named = limit ?? (reason === "RESOURCE_EXHAUSTED" ? "maxRequestBytes" : undefined);
    if (event === undefined) return;
    const facts = { event, address: addressOf(request), binding, method, reason, limit: named };
    audit.record({ ...facts, ...requestFacts(request) });
  };
}
