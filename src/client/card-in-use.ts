import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { CredentialHosts } from "./credential-hosts.js";
import { type CardOptions, type FoundCard, verified } from "./discovery.js";
import { type Candidate, type Choosing, candidatesOf } from "./interfaces.js";
import type { ClientLimits } from "./limits.js";
import { type ClientOptions, listed } from "./options.js";
import type { Platform } from "./platform.js";

/** Parts of a client that a card does not decide. */
export interface ClientSettings {
  readonly platform: Platform;
  readonly options: ClientOptions;
  readonly limits: ClientLimits;
}

/** The card of a client, and the interfaces that its calls go by. */
export interface CardInUse {
  /** As the agent has it. */
  readonly card: AgentCard;
  /** The card by which calls are made. */
  readonly calls: AgentCard;
  /** Hosts that get credentials, whatever card comes later. */
  readonly hosts: CredentialHosts;
  readonly candidates: readonly Candidate[];
  /** URIs of the extensions that the agent declares. */
  readonly extensions: ReadonlySet<string>;
}

/** Begins with the card that was found. @throws A2AError as `candidatesOf` says */
export function cardInUse(found: FoundCard, settings: ClientSettings): CardInUse {
  const hosts = new CredentialHosts(found, settings.options.credentialHosts);
  return inUse(found, found.card, hosts, candidatesOf(found.card, choosingFor(found, hosts, settings)));
}

/**
 * Goes on with another card of the same agent (specification 3.1.11). The hosts that get credentials stay. Extended cards of some
 * servers have only what differs: the security, the capabilities and the interfaces of the card before it count where it has none.
 */
export function extendedBy(used: CardInUse, found: FoundCard, settings: ClientSettings): CardInUse {
  const { card } = found;
  const { hosts, calls: before } = used;
  const secured = Object.keys(card.securitySchemes).length > 0 ? card : before;
  const { securitySchemes, securityRequirements } = secured;
  const { capabilities = before.capabilities } = card;
  const calls = { ...card, capabilities, securitySchemes, securityRequirements } as AgentCard;
  return inUse(found, calls, hosts, candidatesAfter(used, { ...found, card: calls }, settings));
}

function candidatesAfter(used: CardInUse, found: FoundCard, settings: ClientSettings): readonly Candidate[] {
  // The version that was found out by a call is not to be guessed again.
  if (found.isGuessed || found.card.supportedInterfaces.length === 0) return used.candidates;
  try {
    return candidatesOf(found.card, choosingFor(found, used.hosts, settings));
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return used.candidates;
  }
}

function inUse(
  { card }: FoundCard,
  calls: AgentCard,
  hosts: CredentialHosts,
  candidates: readonly Candidate[],
): CardInUse {
  const extensions = new Set(calls.capabilities?.extensions.map(({ uri }) => uri));
  return { card, calls, hosts, candidates, extensions };
}

function choosingFor(
  { card, url, isGuessed }: FoundCard,
  hosts: CredentialHosts,
  { platform, options, limits }: ClientSettings,
): Choosing {
  const hasCredentials = options.credentials !== undefined || options.tls?.cert !== undefined;
  const asksForThem = Object.keys(card.securitySchemes).length > 0;
  return {
    spoken: new Set([
      ...(platform.grpc === undefined ? [] : ["GRPC" as const]),
      "CONNECT",
      "JSONRPC",
      "HTTP+JSON",
      "GRPC-WEB",
    ]),
    only: options.bindings,
    prefer: listed(options.prefer ?? []),
    cardUrl: url,
    allowHttp: options.allowHttp === true,
    mayShow: hasCredentials && asksForThem ? (to) => hosts.has(to) : undefined,
    plaintextGrpc: options.plaintextGrpc,
    maxInterfaces: limits.maxInterfaces,
    version: options.version,
    isGuessed,
  };
}

/**
 * The card for callers that are known (specification 3.1.11), where the public card says that there is one.
 *
 * @throws A2AError with reason INVALID_AGENT_RESPONSE for one that `verify` does not accept
 */
export async function extendedCard(
  rpc: Client<typeof A2AService>,
  { card }: FoundCard,
  options: CardOptions,
  call?: { readonly signal?: AbortSignal },
): Promise<AgentCard> {
  if (card.capabilities?.extendedAgentCard !== true) {
    throw new A2AError("UNSUPPORTED_OPERATION", "The agent's card does not say that it has an extended one.");
  }
  return verified(await rpc.getExtendedAgentCard({}, call), "The extended card", options);
}
