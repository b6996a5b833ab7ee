import type { Interceptor, Transport } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { IDEMPOTENCY_EXTENSION, RESUME_EXTENSION } from "../wire/extension-names.js";
import { EXTENSIONS_PARAMETER } from "../wire/service-params.js";
import { authentication } from "./authentication.js";
import { callsOver } from "./calls.js";
import { CardCache } from "./card-cache.js";
import type { A2AClient, ClientCore } from "./client.js";
import { conversation } from "./conversation.js";
import { type CardSource, findCard } from "./discovery.js";
import { guessingTransport } from "./guess.js";
import { type Binding, type Candidate, candidatesOf } from "./interfaces.js";
import { type ClientLimits, clientLimits } from "./limits.js";
import { notifiedTasks } from "./notified.js";
import { type ClientOptions, checkOptions, listed } from "./options.js";
import { CallParameters } from "./parameters.js";
import type { Platform, PlatformOptions } from "./platform.js";
import { transportOf } from "./raw.js";
import { Routes } from "./routes.js";
import { send } from "./send.js";
import { follow, stream } from "./stream.js";

/**
 * Finds an agent's card and gives a client for it. No interface is called before the first call.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 * @throws A2AError as `findCard` and `candidatesOf` say
 */
export type Connect = (agent: CardSource, options?: ClientOptions) => Promise<A2AClient>;

/** `connect` for a platform. Cards that were fetched without headers are kept for all of its calls. */
export function connectWith(platformOf: (options: PlatformOptions) => Platform): Connect {
  const shared = new CardCache();
  return async (agent, options = {}) => {
    checkOptions(options);
    const limits = clientLimits(options.limits);
    const platform = platformOf(options);
    try {
      const found = await findCard(agent, {
        http: platform.http,
        options: options.card ?? {},
        cache: cacheOf(options, shared),
        limits,
        signal: options.signal,
        version: options.version,
      });
      return clientOf(platform, found.card, { options, limits, cardUrl: found.url, isGuessed: found.isGuessed });
    } catch (error) {
      await platform.close();
      throw error;
    }
  };
}

function cacheOf({ card = {} }: ClientOptions, shared: CardCache): CardCache | undefined {
  if (card.cache === false) return undefined;
  return card.cache ?? (card.headers === undefined ? shared : undefined);
}

interface Settings {
  readonly options: ClientOptions;
  readonly limits: ClientLimits;
  readonly cardUrl: string | undefined;
  readonly isGuessed: boolean;
}

function clientOf(platform: Platform, card: AgentCard, settings: Settings): A2AClient {
  const { options, limits, cardUrl, isGuessed } = settings;
  const candidates = candidatesOf(card, {
    spoken: spokenBy(platform),
    only: options.bindings,
    prefer: listed(options.prefer ?? []),
    cardUrl,
    allowHttp: options.allowHttp === true,
    plaintextGrpc: options.plaintextGrpc,
    maxInterfaces: limits.maxInterfaces,
    version: options.version,
    isGuessed,
  });
  const declared = new Set(card.capabilities?.extensions.map(({ uri }) => uri));
  const idempotent = declared.has(IDEMPOTENCY_EXTENSION);
  const transport = (candidate: Candidate): Transport =>
    transportOf(platform, candidate.binding, {
      url: candidate.url,
      parameters: parametersOf(candidate, options),
      interceptors: interceptorsOf(platform, card, candidate, options),
      maxAnswerBytes: limits.maxAnswerBytes,
      older: candidate.older,
    });
  const corrected = new Map<Candidate, Candidate>();
  const open = (candidate: Candidate): Transport => {
    const { other } = candidate;
    if (other === undefined) return transport(candidate);
    return guessingTransport(transport(candidate), transport(other), () => corrected.set(candidate, other));
  };
  const routes = new Routes(candidates, open, { limits, idempotent });
  const core: ClientCore = {
    rpc: callsOver(routes),
    card,
    canResume: declared.has(RESUME_EXTENSION),
    idempotent,
    isRepeating: limits.maxAttempts > 1,
    canStream: card.capabilities?.streaming === true,
    backoff: { firstMs: limits.retryMs, maxMs: limits.maxRetryMs, maxElapsedMs: limits.maxResumeMs },
  };
  return {
    ...core.rpc,
    card,
    get interface() {
      const { current } = routes;
      return (corrected.get(current) ?? current).declared;
    },
    send: (message, call) => send(core, message, call),
    stream: (message, call) => stream(core, message, call),
    follow: (taskId, call) => follow(core, taskId, call),
    conversation: (state) => conversation(core, state),
    notified: () => notifiedTasks(core, limits.maxNotifiedTasks),
    extendedCard: (call) => extendedCard(core, call),
    close: async () => {
      routes.close();
      await platform.close();
    },
  };
}

function spokenBy(platform: Platform): ReadonlySet<Binding> {
  return new Set([
    ...(platform.grpc === undefined ? [] : ["GRPC" as const]),
    "CONNECT",
    "JSONRPC",
    "HTTP+JSON",
    "GRPC-WEB",
  ]);
}

function parametersOf({ version, declared, older }: Candidate, { tenant, extensions = [] }: ClientOptions) {
  return new CallParameters({
    version: older === undefined ? version : undefined,
    header: older === undefined ? EXTENSIONS_PARAMETER : older.extensions,
    tenant: tenant ?? declared.tenant,
    extensions,
  });
}

function interceptorsOf(
  { http }: Platform,
  card: AgentCard,
  candidate: Candidate,
  { credentials, tls, interceptors = [] }: ClientOptions,
): Interceptor[] {
  const certificate = tls?.cert !== undefined;
  const secrets = authentication(candidate, { card, credentials, certificate, http });
  return [...interceptors, ...(secrets === undefined ? [] : [secrets])];
}

/** The card for callers that are known (specification 3.1.11), where the agent says that it has one. */
async function extendedCard({ rpc, card }: ClientCore, call?: { readonly signal?: AbortSignal }): Promise<AgentCard> {
  if (card.capabilities?.extendedAgentCard !== true) {
    throw new A2AError("UNSUPPORTED_OPERATION", "The agent's card does not say that it has an extended one.");
  }
  return rpc.getExtendedAgentCard({}, call);
}
