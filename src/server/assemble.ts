import type { ConnectRouter, ContextValues } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { BindingOptions } from "../binding/binding.js";
import { createConnectBinding } from "../binding/connect/binding.js";
import { contextValues } from "../binding/connect/call.js";
import { isGrpc } from "../binding/connect/refusal.js";
import { createGrpcBinding, type GrpcBinding } from "../binding/grpc/binding.js";
import type { Infrastructure } from "../binding/grpc/infrastructure.js";
import { infrastructureRoutes } from "../binding/grpc/infrastructure-routes.js";
import { createJsonRpcBinding } from "../binding/jsonrpc/binding.js";
import { createRestBinding } from "../binding/rest/binding.js";
import type { ServedAgent } from "../card/agents.js";
import { interfacesOf } from "../card/interfaces.js";
import type { Call } from "../core/call.js";
import { createEngine } from "../engine/engine.js";
import type { Arrival } from "../http/arrival.js";
import { Arrivals } from "../http/arrivals.js";
import { createCors } from "../http/cors.js";
import { createHostCheck } from "../http/hosts.js";
import { createNodeHandler, type NodeHandler } from "../http/node/handler.js";
import { peerOf } from "../http/node/peer.js";
import type { NodeServerRequest } from "../http/node/types.js";
import { createInvoke } from "../service/a2a-service.js";
import { accessLog } from "../service/interceptors/access-log.js";
import { chain, type Invoke } from "../service/invoke.js";
import { cardAt, createCardRoute } from "./card-page.js";
import { createDispatch, type StaticRoute } from "./dispatch.js";
import { Lifecycle } from "./lifecycle.js";
import type { Settings } from "./options.js";
import { createPageRoute } from "./page-route.js";
import { createProxies } from "./proxies.js";
import { PublicAddress } from "./public-address.js";

/** All parts of a server, joined, but for the ports. */
export interface Assembly {
  readonly handler: NodeHandler;
  readonly connectRoutes: (router: ConnectRouter) => void;
  readonly connectContext: (request: NodeServerRequest) => ContextValues;
  readonly grpc: GrpcBinding;
  readonly arrivals: Arrivals;
  readonly invoke: Invoke;
  readonly card: (call?: Call) => AgentCard;
  readonly lifecycle: Lifecycle;
  /** To be told where the server listens, if it does. */
  readonly address: PublicAddress;
}

/** What only a server that listens has. */
export interface Extras {
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Health and reflection, for gRPC on the HTTP port. */
  readonly infrastructure?: Infrastructure;
  /** A route before that of the card, made with the lifecycle that it tells of. */
  readonly route?: (lifecycle: Lifecycle) => StaticRoute;
}

/** Makes every part and joins them: the only place that knows them all. */
export function assemble(settings: Settings, extras: Extras = {}): Assembly {
  const { agents, limits, logger, store } = settings;
  const agentOf = (tenant: string): ServedAgent | undefined => agents.resolve(tenant);
  const engine = createEngine({ ...settings.engine, store, limits, logger, agentOf });
  const lifecycle = new Lifecycle({ engine, store, limits, logger });
  const address = new PublicAddress(settings);
  const proxies = createProxies(settings.trust);
  // One that came by gRPC, or by a router of somebody else, does not know where the handler is mounted.
  const arrivalOf = (call: Call): Arrival => ({ ...proxies.arrivalOf(call), mount: call.mount ?? settings.basePath });
  const serve = createInvoke({
    ...settings.service,
    agents,
    engine,
    limits,
    logger,
    interfaces: (tenant, call) => interfacesOf(address.endpoints(tenant, arrivalOf(call))),
    draining: () => lifecycle.readiness === "draining",
  });
  const logging = settings.accessLog ? [accessLog(logger)] : [];
  const invoke = chain([proxies.intercept, lifecycle.afterStart, ...logging], serve);
  const arrivals = new Arrivals({ limits, isProxy: settings.trust });
  const binding: BindingOptions = { service: A2AService, invoke, limits, arrivals, logger };
  const connect = createConnectBinding(binding, {
    compressions: [compressionGzip, compressionBrotli],
    more: extras.infrastructure && infrastructureRoutes(extras.infrastructure),
  });
  const jsonRpc = createJsonRpcBinding(binding);
  const rest = createRestBinding(binding);
  const dispatch = createDispatch({
    hosts: createHostCheck({ allowed: settings.allowedHosts }),
    routes: [
      ...(extras.route === undefined ? [] : [extras.route(lifecycle)]),
      createCardRoute(settings, address),
      ...(settings.page ? [createPageRoute(settings, address)] : []),
    ],
    bindings: [connect, jsonRpc, rest],
    fallback: {
      notFound: (request) => connect.unserved(request) ?? jsonRpc.unserved(request) ?? rest.notFound(request),
      refuse: (request, error) => (isGrpc(request) ? connect : rest).refuse(request, error),
    },
    basePath: settings.basePath,
    cors: settings.cors === undefined ? undefined : createCors(settings.cors, keyHeaders(settings)),
    headers: { "x-content-type-options": "nosniff", ...extras.headers },
  });
  return {
    handler: createNodeHandler(dispatch, logger),
    connectRoutes: connect.routes,
    connectContext: (request) => contextValues(peerOf(request)),
    grpc: createGrpcBinding({ ...binding, encrypted: settings.tls !== undefined }),
    arrivals,
    invoke,
    card: (call) => {
      // A server without any agent does not come into being.
      const served = agents.resolve(call?.tenant ?? "") ?? (agents.all[0] as ServedAgent);
      return cardAt(served, address, call === undefined ? undefined : arrivalOf(call));
    },
    lifecycle,
    address,
  };
}

/** Request headers that the cards ask API keys in: scripts of other origins may have to send them. */
function keyHeaders({ agents }: Settings): string[] {
  const schemes = agents.all.flatMap(({ card }) => Object.values(card.securitySchemes)).map(({ scheme }) => scheme);
  return schemes.flatMap((scheme) =>
    scheme.case === "apiKeySecurityScheme" && scheme.value.location === "header" ? [scheme.value.name] : [],
  );
}
