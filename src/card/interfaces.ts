import { clone, create } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
  AgentInterfaceSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { ProtocolVersion } from "../version/version.js";
import { servedVersions, type Versions } from "../version/versions.js";
import { CONNECT_BINDING } from "../wire/card-names.js";

/** Bindings behind the one HTTP URL, in the order of a card, the preferred one first, and what a version has to have for each. */
const httpBindings: readonly (readonly [string, keyof ProtocolVersion])[] = [
  ["JSONRPC", "jsonRpc"],
  ["HTTP+JSON", "rest"],
  [CONNECT_BINDING, "connect"],
];

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
 * The interfaces of an agent, in order of preference (specification 4.4.6, 5.2, 8.3.1): one for each version and each
 * binding that speaks it, the service's own version first. gRPC that is named by a URL comes last of its version: most libraries of
 * gRPC cannot use one, and clients that take the first interface that they know would fail.
 */
export function interfacesOf(endpoints: Endpoints, versions: Versions = servedVersions): AgentInterface[] {
  return versions.all.flatMap((version) => interfacesIn(version, endpoints));
}

function interfacesIn(version: ProtocolVersion, { url, grpc, tenant }: Endpoints): AgentInterface[] {
  const at = (url: string, protocolBinding: string): AgentInterface =>
    create(AgentInterfaceSchema, { url, protocolBinding, protocolVersion: version.name, tenant });
  const spoken = httpBindings.filter(([, dialect]) => version[dialect] !== undefined);
  const overHttp = url === undefined ? [] : spoken.map(([binding]) => at(url, binding));
  if (grpc === undefined || version.grpc === undefined) return overHttp;
  return grpc.includes("://") ? [...overHttp, at(grpc, "GRPC")] : [at(grpc, "GRPC"), ...overHttp];
}

/** The card as it is served: the server's interfaces first, those its author added after them. */
export function withInterfaces(card: AgentCard, interfaces: readonly AgentInterface[]): AgentCard {
  const complete = clone(AgentCardSchema, card);
  complete.supportedInterfaces = [...interfaces, ...complete.supportedInterfaces];
  return complete;
}
