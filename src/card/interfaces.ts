import { clone, create } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
  AgentInterfaceSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Version that interfaces declare: major and minor, never a patch number (specification 3.6). */
export const PROTOCOL_VERSION = "1.0";

/**
 * Identity of the Connect binding in a card. The specification names three bindings; any other is a URI, and a
 * breaking change of it gets a new one (specification 5.8, 12.7).
 */
export const CONNECT_BINDING = "urn:parley:binding:connect:v1";

/** Bindings behind the one HTTP URL, in the order of a card, the preferred one first. */
const httpBindings = ["JSONRPC", "HTTP+JSON", CONNECT_BINDING];

/** Where a server is reached. */
export interface Endpoints {
  /** Absolute URL of the HTTP port, without a slash at the end; undefined when there is none. */
  readonly url: string | undefined;
  /** `host:port` or URL of gRPC; undefined when there is none to be named. */
  readonly grpc: string | undefined;
  /** Tenant that requests have to carry; empty where a server has one agent. */
  readonly tenant: string;
}

/**
 * The interfaces of an agent, in order of preference (specification 4.4.6, 5.2, 8.3.1). gRPC that is named by a URL comes last:
 * most libraries of gRPC cannot use one, and clients that take the first interface that they know would fail.
 */
export function interfacesOf(endpoints: Endpoints): AgentInterface[] {
  const at = (url: string, protocolBinding: string): AgentInterface =>
    create(AgentInterfaceSchema, {
      url,
      protocolBinding,
      protocolVersion: PROTOCOL_VERSION,
      tenant: endpoints.tenant,
    });
  const { grpc, url } = endpoints;
  const overHttp = url === undefined ? [] : httpBindings.map((binding) => at(url, binding));
  if (grpc === undefined) return overHttp;
  return grpc.includes("://") ? [...overHttp, at(grpc, "GRPC")] : [at(grpc, "GRPC"), ...overHttp];
}

/** The card as it is served: the server's interfaces first, those its author added after them. */
export function withInterfaces(card: AgentCard, interfaces: readonly AgentInterface[]): AgentCard {
  const complete = clone(AgentCardSchema, card);
  complete.supportedInterfaces = [...interfaces, ...complete.supportedInterfaces];
  return complete;
}
