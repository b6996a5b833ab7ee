import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, ContextValues } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { optionsIn } from "../binding/binding.js";
import { contextValues } from "../binding/connect/call.js";
import { createGrpcBinding, type GrpcBinding } from "../binding/grpc/binding.js";
import { infrastructureRoutes } from "../binding/grpc/internal-routes.js";
import type { InternalServices } from "../binding/grpc/internal-services.js";
import type { ServedService } from "../binding/grpc/server.js";
import type { Call } from "../core/call.js";
import type { Arrivals } from "../http/arrivals.js";
import { createFetchHandler, type FetchHandler } from "../http/fetch/handler.js";
import { createNodeHandler, type NodeHandler } from "../http/node/handler.js";
import { peerOf } from "../http/node/peer.js";
import type { NodeServerRequest } from "../http/node/types.js";
import type { RefusalLog } from "../service/interceptors/access-log.js";
import type { Invoke } from "../service/invoke.js";
import type { ProtocolVersion } from "../version/version.js";
import { compose } from "./compose.js";
import { healthRoute } from "./health.js";
import type { Lifecycle } from "./lifecycle.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

/** All parts of a server on Node.js, connected, without the ports. */
export interface NodeComponents {
  readonly handler: NodeHandler;
  readonly fetch: FetchHandler;
  readonly connectRoutes: (router: ConnectRouter) => void;
  readonly connectContext: (request: NodeServerRequest) => ContextValues;
  readonly grpc: GrpcBinding;
  /** The services that other versions have on the gRPC port. */
  readonly otherGrpc: readonly ServedService[];
  readonly arrivals: Arrivals;
  readonly refused: RefusalLog | undefined;
  readonly invoke: Invoke;
  readonly card: (call?: Call) => AgentCard;
  readonly lifecycle: Lifecycle;
  /** Gets the addresses that the server listens on, if it does. */
  readonly address: PublicAddress;
}

/** Parts that only a server with ports has. */
export interface ListenerParts {
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Health and reflection, for gRPC on the HTTP port. */
  readonly infrastructure?: InternalServices;
  /** Whether the handler serves `/healthz` and `/readyz`. Default false: a host server has its own. */
  readonly health?: boolean;
}

/** Adds the parts that need Node.js to those of `compose`, and connects them. */
export function composeNode(
  settings: Settings,
  { headers = {}, infrastructure, health = false }: ListenerParts = {},
): NodeComponents {
  const { logger, versions } = settings;
  const { native } = versions;
  const { binding, connect, dispatch, card, lifecycle, address } = compose(settings, {
    headers,
    compressions: [compressionGzip, compressionBrotli],
    more: infrastructure && infrastructureRoutes(infrastructure),
  });
  const [, ...others] = versions.all;
  const grpcIn = (version: ProtocolVersion, service: DescService): GrpcBinding =>
    createGrpcBinding({ ...optionsIn(version, service, binding), encrypted: settings.tls !== undefined });
  const route = healthRoute(lifecycle);
  return {
    handler: createNodeHandler(dispatch(health ? [route] : []), logger),
    fetch: createFetchHandler(dispatch([route]), logger),
    connectRoutes: connect.routes,
    connectContext: (request) => contextValues(peerOf(request)),
    grpc: grpcIn(native, native.grpc),
    otherGrpc: others.flatMap((version) => {
      const { grpc: service } = version;
      return service === undefined ? [] : [{ service, binding: grpcIn(version, service) }];
    }),
    arrivals: binding.arrivals,
    refused: binding.refused,
    invoke: binding.invoke,
    card,
    lifecycle,
    address,
  };
}
