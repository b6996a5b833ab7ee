import type { ConnectRouter, ContextValues } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { type BindingOptions, type HttpBinding, olderOptions, optionsIn } from "../binding/binding.js";
import { contextValues } from "../binding/connect/call.js";
import { createGrpcBinding, type GrpcBinding } from "../binding/grpc/embedded/binding.js";
import { createOlderGrpcBinding, joinGrpcBindings } from "../binding/grpc/embedded/older.js";
import { infrastructureRoutes } from "../binding/grpc/internal-routes.js";
import type { InternalServices } from "../binding/grpc/internal-services.js";
import type { GrpcServices } from "../binding/grpc/methods.js";
import type { GrpcServerOptions } from "../binding/grpc/server.js";
import { switchedOff } from "../binding/switched-off.js";
import { lazyImport } from "../core/lazy.js";
import { createFetchHandler, type FetchHandler } from "../http/fetch/handler.js";
import type { InboundBudget } from "../http/inbound-budget.js";
import { createNodeHandler, type NodeHandler } from "../http/node/handler.js";
import type { NodeRejection } from "../http/node/parse-errors.js";
import { peerOf } from "../http/node/peer.js";
import type { NodeServerRequest } from "../http/node/types.js";
import type { RejectionLog } from "../service/interceptors/access-log.js";
import type { Invoke } from "../service/invoke.js";
import { openTelemetryApi } from "../telemetry/load.js";
import type { Metrics } from "../telemetry/metrics.js";
import { compose, type SharedComponents } from "./compose.js";
import { healthRoute } from "./health.js";
import type { Settings } from "./options.js";
import { pushModules } from "./push-modules.js";

/** Options of an adapter of Connect for Node.js that serve agents beside other services. */
export interface ConnectMount {
  readonly routes: (router: ConnectRouter) => void;
  /** Tells calls the address of their client. */
  readonly contextValues: (request: NodeServerRequest) => ContextValues;
}

/** All parts of a server on Node.js, connected, without the ports. */
export interface NodeComponents extends SharedComponents {
  readonly handler: NodeHandler;
  readonly fetch: FetchHandler;
  readonly connect: ConnectMount;
  /** Creates the binding for a grpc-js server, on request. */
  readonly grpc: () => GrpcBinding;
  /** The services of all versions on the gRPC port, with their handlers. */
  readonly grpcServices: GrpcServices;
  /** Returns the error for a path of the gRPC port whose service belongs to a disabled version. */
  readonly unserved: NonNullable<GrpcServerOptions["unserved"]>;
  readonly inboundBudget: InboundBudget;
  readonly onRejection: RejectionLog | undefined;
  readonly counted: BindingOptions["counted"];
  readonly invoke: Invoke;
}

/** Parts that only a server with ports has. */
interface ListenerParts {
  /** Headers of every answer over TLS. */
  readonly secureHeaders?: Readonly<Record<string, string>>;
  /** Health and reflection, for gRPC on the HTTP port. */
  readonly infrastructure?: InternalServices;
  readonly console?: HttpBinding | undefined;
  /** True serves `/healthz` and `/readyz` by the handler. Default false, because a host server has its own. */
  readonly health?: boolean;
}

const theConnect = lazyImport(() => import("../delegation/connect-node.js"));

/** Adds the parts that need Node.js to those of `compose`, and connects them. */
export function composeNode(
  settings: Settings,
  { secureHeaders = {}, infrastructure, health = false, console }: ListenerParts = {},
): NodeComponents {
  const { logger, versions } = settings;
  const { native, others } = versions;
  const { binding, connect, dispatch, ...shared } = compose(settings, {
    secureHeaders,
    console,
    push: pushModules,
    connect: async (...agent) => (await theConnect()).connectNode(...agent),
    openTelemetry: openTelemetryApi,
    compressions: [compressionGzip, compressionBrotli],
    more: infrastructure && infrastructureRoutes(infrastructure),
  });
  const ownGrpc = optionsIn(native.name, native.grpc, binding);
  const olderGrpc = others.flatMap(({ name, grpc }) => (grpc === undefined ? [] : olderOptions(name, grpc, binding)));
  const grpcServices: GrpcServices = [ownGrpc, ...olderGrpc];
  const route = healthRoute(shared.lifecycle);
  return {
    ...shared,
    handler: createNodeHandler(dispatch(health ? [route] : []), logger),
    fetch: createFetchHandler(dispatch([route]), logger),
    connect: { routes: connect.routes, contextValues: (request) => contextValues(peerOf(request)) },
    grpc: () => grpcBindingOf(grpcServices, settings.tls !== undefined),
    grpcServices,
    unserved: (path, from) => switchedOff({ binding: "grpc", path, from }, binding),
    inboundBudget: binding.inboundBudget,
    onRejection: binding.onRejection,
    counted: binding.counted,
    invoke: binding.invoke,
  };
}

/** The services of all versions, for a server of grpc-js. */
function grpcBindingOf([own, ...older]: GrpcServices, encrypted: boolean): GrpcBinding {
  return joinGrpcBindings(
    createGrpcBinding({ ...own, encrypted }),
    older.map((each) => [each.version, createOlderGrpcBinding({ ...each, encrypted })] as const),
  );
}

/** Logs and counts requests that the parser of Node.js refuses. */
export function nodeRejectionLog(
  onRejection: RejectionLog | undefined,
  metrics?: Metrics | undefined,
): ((rejection: NodeRejection) => void) | undefined {
  if (metrics === undefined && onRejection === undefined) return undefined;
  return ({ peer, code, status }) => {
    metrics?.requestRefused("http", code);
    onRejection?.({ binding: "http", code, status, from: { peer, header: () => undefined } });
  };
}
