import type { Interceptor, Transport } from "@connectrpc/connect";
import { IDEMPOTENCY_EXTENSION, RESUME_EXTENSION } from "../wire/extension-names.js";
import { EXTENSIONS_PARAMETER } from "../wire/service-params.js";
import { AskedQuestions } from "./asked.js";
import { authentication } from "./authentication.js";
import { callsOver } from "./calls.js";
import { CardCache } from "./card-cache.js";
import { type CardInUse, type ClientSettings, cardInUse, extendedBy, extendedCard } from "./card-in-use.js";
import type { A2AClient } from "./client.js";
import { conversation } from "./conversation.js";
import type { ClientCore } from "./core.js";
import { type CardSource, type FoundCard, findCard } from "./discovery.js";
import { guessingTransport } from "./guess.js";
import type { Candidate } from "./interfaces.js";
import { clientLimits } from "./limits.js";
import { notifiedTasks } from "./notified.js";
import { type ClientOptions, checkOptions } from "./options.js";
import { CallParameters } from "./parameters.js";
import type { Platform, PlatformOptions } from "./platform.js";
import { transportOf } from "./raw.js";
import { Routes, type Rules } from "./routes.js";
import { send } from "./send.js";
import { follow, stream } from "./stream.js";

/**
 * Type of `connect`. No interface is called before the first call.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 * @throws A2AError as `findCard` and `candidatesOf` say
 */
export type Connect = (agent: CardSource, options?: ClientOptions) => Promise<A2AClient>;

/** `connect` for a platform. Cards that were fetched as every call would fetch them are kept for all of its calls. */
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
      return clientOf(found, { platform, options, limits });
    } catch (error) {
      await platform.close();
      throw error;
    }
  };
}

/** Calls that trust other authorities, show a certificate or have a `fetch` of their own may find another card at the same URL. */
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
      interceptors: interceptorsOf(platform, used, candidate, options),
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
  const routes = new Routes(used.candidates, open, rules());
  const core: ClientCore = {
    rpc: callsOver(routes),
    get card() {
      return used.card;
    },
    get canResume() {
      return used.extensions.has(RESUME_EXTENSION);
    },
    get idempotent() {
      return used.extensions.has(IDEMPOTENCY_EXTENSION);
    },
    isRepeating: limits.maxAttempts > 1,
    get canStream() {
      return used.calls.capabilities?.streaming === true;
    },
    backoff: {
      firstMs: limits.retryMs,
      maxMs: limits.maxRetryMs,
      maxElapsedMs: limits.maxResumeMs,
      maxRetryAfterMs: limits.maxRetryAfterMs,
    },
    asked: new AskedQuestions(),
    sendTimeoutMs: limits.sendTimeoutMs,
  };
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
      const card = await extendedCard(core.rpc, found, options.card ?? {}, call);
      used = extendedBy(used, { ...found, card }, settings);
      if (!found.isGuessed) routes.replace(used.candidates, rules());
      return card;
    },
    close: async () => {
      routes.close();
      await platform.close();
    },
  };
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
  { calls: card, hosts }: CardInUse,
  candidate: Candidate,
  { credentials, tls, interceptors = [] }: ClientOptions,
): Interceptor[] {
  const certificate = tls?.cert !== undefined;
  const secrets = authentication(candidate, { card, credentials, hosts, certificate, http });
  return [...interceptors, ...(secrets === undefined ? [] : [secrets])];
}
