import type { Client, Interceptor, Transport } from "@connectrpc/connect";
import type { A2AService, AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { anObject } from "../core/options.js";
import { IDEMPOTENCY_EXTENSION, RESUME_EXTENSION } from "../wire/service-params.js";
import { checkOptions } from "./calls/check-options.js";
import { type ClientCore, PendingQuestions } from "./calls/core.js";
import { type PresentCard, Routes, type Rules } from "./calls/failover.js";
import { guessingTransport } from "./calls/guessing-transport.js";
import { callsOver } from "./calls/methods.js";
import { CallParameters } from "./calls/parameters.js";
import { orGivenUp } from "./calls/retry-delay.js";
import type { A2AClient } from "./client.js";
import { authentication } from "./credentials/authentication.js";
import { CredentialHosts } from "./credentials/credential-hosts.js";
import { CardCache } from "./discovery/card-cache.js";
import { type CardOptions, type CardSource, type FoundCard, findCard, verified } from "./discovery/discovery.js";
import { type Candidate, type Choosing, candidatesOf } from "./discovery/interfaces.js";
import { conversation } from "./follow/conversation.js";
import { notifiedTasks } from "./follow/notified.js";
import { follow, send, stream } from "./follow/send.js";
import { type ClientLimits, clientLimits } from "./limits.js";
import { type ClientOptions, connectChecks, listed } from "./options.js";
import type { Platform, PlatformOptions } from "./platform.js";
import { transportOf } from "./raw.js";
import type { ClientSpans } from "./spans.js";
import { connectErrors } from "./transport/connect-errors.js";

/**
 * Type of `connect`. It does not call any interface.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 * @throws A2AError see `findCard` and `candidatesOf`
 */
export type Connect = (agent: CardSource, options?: ClientOptions) => Promise<A2AClient>;

/** Finds the agent's card. @param revalidates true to ask the agent although a fresh card is cached */
type Find = (signal: AbortSignal | undefined, revalidates: boolean) => Promise<FoundCard>;

const optionsChecks = { options: anObject() };

/** Creates `connect` for a platform. Cards that any caller would fetch the same way are cached for all of its calls. */
export function connectWith(platformOf: (options: PlatformOptions) => Platform): Connect {
  const shared = new CardCache();
  return async (agent, options = {}) => {
    checkOptions({ options }, optionsChecks);
    checkOptions(options, connectChecks);
    const limits = clientLimits(options.limits);
    const platform = platformOf(options);
    try {
      const spans = await platform.spans(options.telemetry);
      const find: Find = (signal, revalidates) =>
        findCard(agent, {
          http: platform.http,
          options: options.card ?? {},
          cache: cacheOf(options, shared),
          limits,
          signal,
          version: options.version,
          revalidates,
        });
      return clientOf(await find(options.signal, false), { platform, options, limits, spans, find });
    } catch (error) {
      await platform.close();
      throw error;
    }
  };
}

/** Calls with other authorities, a certificate or their own `fetch` may find another card at the same URL. */
function cacheOf({ card = {}, tls, fetch }: ClientOptions, shared: CardCache): CardCache | undefined {
  if (card.cache === false) return undefined;
  const isShared = card.headers === undefined && tls === undefined && fetch === undefined;
  return card.cache ?? (isShared ? shared : undefined);
}

function clientOf(found: FoundCard, settings: ClientSettings): A2AClient {
  const { platform, options, limits } = settings;
  let used = cardInUse(found, settings);
  const transport = (candidate: Candidate): Transport =>
    transportOf(platform, candidate.binding, {
      url: candidate.url,
      parameters: parametersOf(candidate, options),
      interceptors: interceptorsOf(settings, used, candidate, present),
      maxAnswerBytes: limits.maxAnswerBytes,
      maxAnswerValues: limits.maxAnswerValues,
      older: candidate.older,
    });
  const corrected = new Map<Candidate, Candidate>();
  const open = (candidate: Candidate): Transport => {
    const { other } = candidate;
    if (other === undefined) return transport(candidate);
    return guessingTransport(transport(candidate), transport(other), () => corrected.set(candidate, other));
  };
  const rules = (): Rules => ({ limits, idempotent: used.extensions.has(IDEMPOTENCY_EXTENSION) });
  let latest = found;
  const use = (next: CardInUse): void => {
    used = next;
    if (!latest.isGuessed) routes.replace(used.candidates, rules());
  };
  const present: PresentCard = shared(async () => {
    const again = found.asked === undefined ? latest : await settings.find(undefined, true);
    if (again.text !== latest.text) {
      const next = changed(used, latest, again, settings);
      latest = again;
      if (next !== used) use(next);
    }
    return used.calls;
  });
  const routes = new Routes(used.candidates, open, rules(), present);
  const core = coreOf(callsOver(routes), limits, () => used);
  return {
    ...core.rpc,
    get card() {
      return used.card;
    },
    get interface() {
      const { current } = routes;
      return (corrected.get(current) ?? current).declared;
    },
    send: (message, call) => send(core, message, call),
    stream: (message, call) => stream(core, message, call),
    follow: (taskId, call) => follow(core, taskId, call),
    conversation: (state) => conversation(core, state),
    notified: () => notifiedTasks(core, limits.maxNotifiedTasks),
    extendedCard: async (call) => {
      const card = await extendedCard(core.rpc, latest, options.card ?? {}, call);
      use(replacedBy(used, { ...latest, card }, settings));
      return card;
    },
    close: async () => {
      routes.close();
      await platform.close();
    },
  };
}

/** Returns a function whose callers share the work that is in progress. Each stops waiting when its signal fires. */
function shared<T>(work: () => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let running: Promise<T> | undefined;
  return (signal) => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return orGivenUp(running, signal);
  };
}

/** @param used returns the card in use */
function coreOf(rpc: ClientCore["rpc"], limits: ClientLimits, used: () => CardInUse): ClientCore {
  return {
    rpc,
    get card() {
      return used().card;
    },
    get canResume() {
      return used().extensions.has(RESUME_EXTENSION);
    },
    get idempotent() {
      return used().extensions.has(IDEMPOTENCY_EXTENSION);
    },
    isRepeating: limits.maxAttempts > 1,
    get canStream() {
      return used().calls.capabilities?.streaming === true;
    },
    backoff: {
      firstMs: limits.retryMs,
      maxMs: limits.maxRetryMs,
      maxElapsedMs: limits.maxResumeMs,
      maxRetryAfterMs: limits.maxRetryAfterMs,
    },
    asked: new PendingQuestions(),
    sendTimeoutMs: limits.sendTimeoutMs,
  };
}

function parametersOf({ version, declared, older }: Candidate, { tenant, extensions = [] }: ClientOptions) {
  return new CallParameters({ version, older, tenant: tenant ?? declared.tenant, extensions });
}

function interceptorsOf(
  { platform: { http }, options, spans }: ClientSettings,
  { calls: card, hosts }: CardInUse,
  candidate: Candidate,
  present: PresentCard,
): Interceptor[] {
  const { credentials, tls, interceptors = [] } = options;
  const certificate = tls?.cert !== undefined;
  const secrets = authentication(candidate, { card, credentials, hosts, certificate, http, present });
  const own = interceptors.length === 0 ? [] : [...interceptors, connectErrors];
  const all = secrets === undefined ? own : [...own, secrets];
  return spans === undefined ? all : [spans(candidate, card), ...all];
}

/** Parts of a client that do not depend on the card. */
interface ClientSettings {
  readonly platform: Platform;
  readonly options: ClientOptions;
  readonly limits: ClientLimits;
  /** Undefined to create no spans. */
  readonly spans: ClientSpans | undefined;
  readonly find: Find;
}

/** The card of a client, and the interfaces of its calls. */
interface CardInUse {
  /** The card as the agent sent it. */
  readonly card: AgentCard;
  /** The card that calls follow. */
  readonly calls: AgentCard;
  /** Hosts that receive credentials. A later card does not change them. */
  readonly hosts: CredentialHosts;
  readonly candidates: readonly Candidate[];
  /** URIs of the extensions that the agent declares. */
  readonly extensions: ReadonlySet<string>;
}

/** Starts with the card that was found. @throws A2AError see `candidatesOf` */
function cardInUse(found: FoundCard, settings: ClientSettings): CardInUse {
  const hosts = new CredentialHosts(found, settings.options.credentialHosts);
  return inUse(found, found.card, hosts, candidatesOf(found.card, choosingFor(found, hosts, settings)));
}

/**
 * Switches to another card of the same agent (specification 3.1.11). The hosts that receive credentials stay the same.
 * Extended cards of some servers contain only differences: missing security, capabilities and interfaces are taken from
 * the card before.
 */
function replacedBy(used: CardInUse, found: FoundCard, settings: ClientSettings): CardInUse {
  const { card } = found;
  const { hosts, calls: before } = used;
  const secured = Object.keys(card.securitySchemes).length > 0 ? card : before;
  const { securitySchemes, securityRequirements } = secured;
  const { capabilities = before.capabilities } = card;
  const calls = { ...card, capabilities, securitySchemes, securityRequirements } as AgentCard;
  return inUse(found, calls, hosts, candidatesAfter(used, { ...found, card: calls }, settings));
}

/** Switches to the public card that replaces the one before. An extended card is kept, except for interfaces that moved. */
function changed(used: CardInUse, before: FoundCard, found: FoundCard, settings: ClientSettings): CardInUse {
  const { supportedInterfaces, capabilities } = found.card;
  if (used.card === before.card) return inUse(found, found.card, used.hosts, candidatesAfter(used, found, settings));
  if (JSON.stringify(supportedInterfaces) === JSON.stringify(before.card.supportedInterfaces)) return used;
  const calls = { ...used.calls, supportedInterfaces, capabilities } as AgentCard;
  return inUse(used, calls, used.hosts, candidatesAfter(used, { ...found, card: calls }, settings));
}

function candidatesAfter(used: CardInUse, found: FoundCard, settings: ClientSettings): readonly Candidate[] {
  // A version detected by a call is not guessed again.
  if (found.isGuessed) return used.candidates;
  try {
    return candidatesOf(found.card, choosingFor(found, used.hosts, settings));
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    // If the new card has no interface that can be called, the previous ones stay.
    return used.candidates;
  }
}

function inUse(
  { card }: Pick<FoundCard, "card">,
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
    available: new Set([
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
 * Fetches the card for authenticated callers (specification 3.1.11), if the public card declares one.
 *
 * @throws A2AError INVALID_AGENT_RESPONSE if `verify` rejects it
 */
async function extendedCard(
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
