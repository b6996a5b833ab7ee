import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Binding } from "../../../src/client/web.js";
import { olderVersions } from "../../../src/version/client-versions.js";
import { CONNECT_BINDING } from "../../../src/wire/card-names.js";

/** A way to speak with an agent. */
export interface Speech {
  readonly binding: Binding;
  readonly version: string;
}

/** Bindings by their names in cards, in any case. A browser cannot speak gRPC itself. */
const named: Readonly<Record<string, readonly Binding[]>> = {
  [CONNECT_BINDING.toUpperCase()]: ["CONNECT", "GRPC-WEB"],
  JSONRPC: ["JSONRPC"],
  "JSON-RPC": ["JSONRPC"],
  "HTTP+JSON": ["HTTP+JSON"],
  REST: ["HTTP+JSON"],
  "GRPC-WEB": ["GRPC-WEB"],
};

/** Returns the ways of a card that a browser can speak, in the card's order. */
export function speechesOf({ supportedInterfaces }: AgentCard): readonly Speech[] {
  const found = new Map<string, Speech>();
  for (const { protocolBinding, protocolVersion } of supportedInterfaces.slice(0, 64)) {
    const version =
      /^\d+\.\d+/.exec(protocolVersion)?.[0] ?? (/^\d+$/.test(protocolVersion) ? `${protocolVersion}.0` : "1.0");
    const older = olderVersions.find(({ name }) => name === version);
    for (const binding of named[protocolBinding.trim().toUpperCase()] ?? []) {
      if (older !== undefined && !older.bindings.includes(binding)) continue;
      found.set(nameOf({ binding, version }), { binding, version });
    }
  }
  return [...found.values()];
}

/** The name of a way, as it is kept and shown. */
export const nameOf = ({ binding, version }: Speech): string => `${binding} ${version}`;

/** Returns the way of a name. */
export function speechNamed(name: string | undefined): Speech | undefined {
  const [, binding, version] = /^(\S+) (\d+\.\d+)$/.exec(name ?? "") ?? [];
  return binding === undefined || version === undefined ? undefined : { binding: binding as Binding, version };
}
