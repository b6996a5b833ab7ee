import { create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, type AgentInterface } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { connectWith } from "../../../src/client/connect.js";
import type { FoundCard } from "../../../src/client/discovery/discovery.js";
import { type Candidate, candidatesOf } from "../../../src/client/discovery/interfaces.js";
import { defaultClientLimits } from "../../../src/client/limits.js";
import type { HttpClient } from "../../../src/client/platform.js";
import { webPlatform } from "../../../src/client/web/platform.js";
import type { A2AClient, Binding } from "../../../src/client/web.js";
import { relayFetchOf } from "../api/relay.js";
import { agentWords } from "../texts/agents.js";
import { loginOptionsFor } from "./credentials.js";

/** Bindings that a browser can speak. */
const ours: ReadonlySet<Binding> = new Set<Binding>(["CONNECT", "GRPC-WEB", "JSONRPC", "HTTP+JSON"]);

/** An interface of a card, in one of the ways to call it, or why it is not called. */
export interface Declared {
  readonly key: string;
  readonly declared: AgentInterface;
  readonly candidate?: Candidate;
  readonly reason?: string;
}

/** An interface that a browser can call. */
export interface Callable extends Declared {
  readonly candidate: Candidate;
}

/** Returns all interfaces of a card, those that serve two bindings twice. */
export function interfacesOf(found: FoundCard): readonly Declared[] {
  const declaredHere = found.card.supportedInterfaces.slice(0, defaultClientLimits.maxInterfaces);
  return declaredHere.flatMap((declared, at): readonly Declared[] => {
    const all = candidatesFor(found, declared);
    if (all.length === 0) return [{ key: `${at}`, declared, reason: whyUncalled(declared) }];
    return all.map((candidate) => ({ key: `${at} ${candidate.binding}`, declared, candidate }));
  });
}

/** Returns the ways to call one interface, whatever the card's others are. */
function candidatesFor({ card, url, isGuessed }: FoundCard, declared: AgentInterface): readonly Candidate[] {
  try {
    return candidatesOf(
      { ...card, supportedInterfaces: [declared] },
      {
        available: ours,
        only: undefined,
        // Named because gRPC-Web, which is served beside Connect, is left out otherwise.
        prefer: ["CONNECT", "GRPC-WEB"],
        cardUrl: url,
        allowHttp: true,
        plaintextGrpc: undefined,
        maxInterfaces: 1,
        isGuessed,
      },
    );
  } catch {
    return [];
  }
}

function whyUncalled({ protocolBinding, protocolVersion, url }: AgentInterface): string {
  const { interfaces } = agentWords;
  const binding = protocolBinding.trim().toUpperCase();
  if (binding === "GRPC") return interfaces.grpc;
  const isKnown = /^(?:JSON-?RPC|HTTP\+JSON|REST|GRPC-?WEB)$/.test(binding);
  if (isKnown && !URL.canParse(url)) return interfaces.badUrl;
  return interfaces.unknown(protocolBinding.slice(0, 60) || "–", protocolVersion.slice(0, 20));
}

interface OpenOptions {
  /** Sees and changes the requests below the client. */
  readonly tap?: (http: HttpClient) => HttpClient;
  /** Replaces the way to the agent. */
  readonly fetch?: typeof fetch;
}

/** Opens a client of one interface, with the login at the agent. */
export function openInterface(
  agent: string,
  card: AgentCard,
  { declared, binding, url }: Candidate,
  { tap, fetch = relayFetchOf(agent) }: OpenOptions = {},
): Promise<A2AClient> {
  const only = create(AgentCardSchema, { ...card, supportedInterfaces: [{ ...declared, url }] });
  const { credentialHosts = [], ...login } = loginOptionsFor(agent);
  const connect = connectWith(() => webPlatform({ fetch, ...(tap !== undefined && { tap }) }));
  return connect(only, {
    ...login,
    // Given a card, the client trusts all hosts that it names. This one is the agent's.
    credentialHosts: [new URL(agent).hostname, ...credentialHosts],
    bindings: [binding],
    allowHttp: true,
    limits: { timeoutMs: 30_000, maxAttempts: 1 },
  });
}
