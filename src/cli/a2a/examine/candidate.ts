import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { withoutSecrets } from "../../../core/net.js";
import type { Finding } from "../../../examine/check.js";
import { olderVersions } from "../../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../../version/v1.js";
import { CONNECT_BINDING } from "../../../wire/card-names.js";
import { parseVersion } from "../../../wire/service-params.js";
import { interfacesOf } from "../agent.js";
import type { Context } from "../context.js";

/** Returns the client's view of one interface, independent of the card's others; undefined if it cannot be called. */
export function candidateOf({ settings }: Context, found: FoundCard, declared: AgentInterface): Candidate | undefined {
  const alone = { ...found, card: { ...found.card, supportedInterfaces: [declared] } };
  try {
    return interfacesOf({ settings: { ...settings, a2aVersion: undefined, transport: [] } }, alone)[0];
  } catch {
    return undefined;
  }
}

const bindings = ["GRPC", "JSONRPC", "HTTP+JSON", CONNECT_BINDING];

/** Returns the reason for not calling an interface: a fault of the card, or one to skip it. */
export function whyUncalled({ settings }: Context, declared: AgentInterface): NonNullable<Finding> {
  const { protocolBinding, protocolVersion, tenant, url } = declared;
  if (settings.tenant !== undefined && tenant !== settings.tenant) return { skipped: "it is of another tenant" };
  const version = parseVersion(protocolVersion);
  const isVersionKnown = version === PROTOCOL_VERSION || olderVersions.some(({ name }) => name === version);
  if (isVersionKnown && bindings.includes(protocolBinding))
    return { fault: `${JSON.stringify(withoutSecrets(url))} is not a URL that can be called` };
  return { skipped: `A2A ${protocolVersion} over ${protocolBinding} is not spoken here` };
}
