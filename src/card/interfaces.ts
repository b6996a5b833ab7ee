import { clone, create } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
  AgentInterfaceSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { BindingKey } from "../version/version.js";
import { servedVersions, type Versions } from "../version/versions.js";
import { CONNECT_BINDING } from "../wire/card-names.js";

/** Bindings of the HTTP URL with their names on a card and in a version, the preferred one first. */
const httpBindings: readonly (readonly [string, BindingKey])[] = [
  ["JSONRPC", "jsonRpc"],
  ["HTTP+JSON", "rest"],
  [CONNECT_BINDING, "connect"],
];

/** Addresses of a server. */
export interface Endpoints {
  /** Absolute URL of the HTTP port, without a trailing slash; undefined without one. */
  readonly url: string | undefined;
  /** `host:port` or URL of gRPC; undefined without one to publish. */
  readonly grpc: string | undefined;
  /** Tenant that requests have to carry; empty where a server has one agent. */
  readonly tenant: string;
}

/**
 * Returns the interfaces of an agent in order of preference (specification 4.4.6, 5.2, 8.3.1). gRPC with a URL comes
 * last in its version: most gRPC libraries cannot use a URL, and clients that use the first interface they know would
 * fail.
 */
export function interfacesOf(endpoints: Endpoints, versions: Versions = servedVersions): AgentInterface[] {
  return [
    ...nativeInterfacesOf(endpoints, versions),
    ...versions.others.flatMap((version) => interfacesIn(version, endpoints)),
  ];
}

/** Returns the interfaces of the service's own version, for clients that ask for that version. */
export function nativeInterfacesOf(endpoints: Endpoints, { native }: Versions = servedVersions): AgentInterface[] {
  const interfaces = [...httpBindings.map(([, binding]) => binding), "grpc" as const];
  return interfacesIn({ name: native.name, interfaces }, endpoints);
}

interface Declared {
  readonly name: string;
  readonly interfaces: readonly BindingKey[];
  readonly isUnnamed?: boolean;
  readonly hasCardBeside?: boolean;
}

function interfacesIn(version: Declared, endpoints: Endpoints): AgentInterface[] {
  // Messages of versions before the `A2A-Version` header have no tenant.
  if (endpoints.tenant !== "" && version.isUnnamed === true) return interfacesByPath(version, endpoints);
  const { name, interfaces } = version;
  const { url, grpc, tenant } = endpoints;
  const at = (url: string, protocolBinding: string): AgentInterface =>
    create(AgentInterfaceSchema, { url, protocolBinding, protocolVersion: name, tenant });
  const served = httpBindings.filter(([, binding]) => interfaces.includes(binding));
  const overHttp = url === undefined ? [] : served.map(([binding]) => at(url, binding));
  if (grpc === undefined || !interfaces.includes("grpc")) return overHttp;
  return grpc.includes("://") ? [...overHttp, at(grpc, "GRPC")] : [at(grpc, "GRPC"), ...overHttp];
}

/**
 * Interfaces of a version without tenants in its messages: each agent has a separate URL. If clients of that version
 * resolve the card relative to it, it ends with a slash. gRPC has no path.
 */
function interfacesByPath({ name, interfaces, hasCardBeside }: Declared, { url, tenant }: Endpoints): AgentInterface[] {
  // Clients resolve such a segment instead of sending it.
  if (/^\.\.?$/.test(tenant)) return [];
  const below = `/${encodeURIComponent(tenant)}${hasCardBeside === true ? "/" : ""}`;
  const served = interfaces.filter((binding) => binding === "jsonRpc" || binding === "rest");
  return interfacesIn(
    { name, interfaces: served },
    { url: url === undefined ? undefined : `${url}${below}`, grpc: undefined, tenant: "" },
  );
}

/** Returns the card with the server's interfaces first and those of its author after them. */
export function withInterfaces(card: AgentCard, interfaces: readonly AgentInterface[]): AgentCard {
  const complete = clone(AgentCardSchema, card);
  complete.supportedInterfaces = [...interfaces, ...complete.supportedInterfaces];
  return complete;
}
