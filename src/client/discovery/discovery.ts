import { isMessage } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type A2AErrorOptions, invalid, type Reason } from "../../core/error.js";
import { parseUrl, withoutSecrets } from "../../core/net.js";
import { shown } from "../../core/options.js";
import { EARLIER_CARD_PATH } from "../../version/client-versions.js";
import { WELL_KNOWN_PATH } from "../../wire/card-names.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { CallScope } from "../calls/call-scope.js";
import { isPassing, orGivenUp, pause, waitMs } from "../calls/retry-delay.js";
import type { CardOrigin } from "../credentials/credential-hosts.js";
import { reasonOfHttp, retryAfterOf } from "../errors/error-facts.js";
import type { ClientLimits } from "../limits.js";
import type { HttpAnswer, HttpClient } from "../platform.js";
import { type CardCache, freshForMs, type KeptCard } from "./card-cache.js";
import { readCard } from "./card-reader.js";

/** An agent to connect to: a URL, a card, its JSON, or JSON text. */
export type CardSource = string | URL | AgentCard | object;

/** Result of verifying a card's signatures, as `verifyCard` of `parley-a2a/card` returns it. */
export interface VerifiedCard {
  /** True if at least one signature is valid. */
  readonly verified: boolean;
  /** The card as the signatures cover it. */
  readonly card: AgentCard;
  /** Reasons why signatures are invalid. */
  readonly signatures: readonly { readonly why: string }[];
  /** Paths of members that no valid signature covers. A card of a version before 1.0 is used only if this is empty. */
  readonly uncovered?: readonly string[];
}

/** Headers by name. */
export type HeaderFields = Headers | Readonly<Record<string, string>>;

/** Options for finding a card. */
export interface CardOptions {
  /** Headers for the card's request only. They are not sent to another origin after a redirect. */
  readonly headers?: HeaderFields;
  /**
   * Cache of fetched cards. Default: one for all calls of `connect` without `headers`, `tls` and `fetch`. False
   * disables it.
   */
  readonly cache?: CardCache | false;
  /**
   * Verifies the card as received, and with it the owner of its interfaces. A rejected card is not used: `verify:
   * (card) => verifyCard(card, { keys })` with `verifyCard` of `parley-a2a/card`.
   */
  readonly verify?: (card: string) => Promise<VerifiedCard>;
}

/** Dependencies of finding a card. */
interface Search {
  readonly http: HttpClient;
  readonly options: CardOptions;
  readonly cache: CardCache | undefined;
  readonly limits: ClientLimits;
  readonly signal: AbortSignal | undefined;
  /** Version of a card that names none. */
  readonly version?: string | undefined;
  /** True to request the URL itself and no path below it. Default: only for URLs that end in `.json`. */
  readonly isExact?: boolean;
  /** True to revalidate a card of the cache that is still fresh. */
  readonly revalidates?: boolean;
}

/** A card with its origin. */
export interface FoundCard extends CardOrigin {
  readonly card: AgentCard;
  /** Final URL after redirects; undefined if the caller gave the card. */
  readonly url: string | undefined;
  /** JSON as received; undefined if the caller gave a message. */
  readonly text: string | undefined;
  /** True if it names no version, so that its older version is a guess. */
  readonly isGuessed: boolean;
}

const write = jsonWriter(AgentCardSchema);

/**
 * Finds a card (specification 8.2, 8.6) at the well-known path below a URL, or at the URL itself if that is a file or
 * has no card below it. A card given by the caller is returned.
 *
 * @throws A2AError INVALID_PARAMS for an invalid URL; UNAVAILABLE if the server does not answer; UNAUTHENTICATED and
 * PERMISSION_DENIED from the server; VERSION_NOT_SUPPORTED for an older card; INVALID_AGENT_RESPONSE for anything that
 * is not a card, is too large, has too many redirects, or has rejected signatures; DEADLINE_EXCEEDED; CANCELLED.
 */
export async function findCard(source: CardSource, search: Search): Promise<FoundCard> {
  const { cardTimeoutMs } = search.limits;
  const timeoutMessage = `The agent's card was not found within ${cardTimeoutMs} ms.`;
  const scope = new CallScope(search.signal, cardTimeoutMs, timeoutMessage);
  const { signal } = scope;
  try {
    scope.check();
    return await orGivenUp(find(source, { ...search, signal }), signal);
  } catch (error) {
    throw scope.aborted ? scope.failure() : error;
  } finally {
    scope.end();
  }
}

async function find(source: CardSource, search: Search): Promise<FoundCard> {
  const isVerified = search.options.verify !== undefined;
  const origin = { asked: undefined, url: undefined, isVerified };
  if (isMessage(source, AgentCardSchema)) {
    const card = await verified(source, "The card", search.options);
    return { ...origin, card, text: undefined, isGuessed: false };
  }
  const given = cardJson(source);
  if (given !== undefined) return { ...origin, text: given, ...(await accepted(given, "The card", search)) };
  const url = cardUrl(source as string | URL);
  const { text, url: from } = await received(url, search);
  return { ...(await accepted(text, withoutSecrets(from), search)), text, asked: url.href, url: from, isVerified };
}

/** Verifies a card that was not received as separate text, with the caller's `verify`. */
export async function verified(card: AgentCard, where: string, { verify }: CardOptions): Promise<AgentCard> {
  return verify === undefined ? card : vouchedFor(where, await verify(write(card)));
}

/** Returns the JSON text of a given card, or undefined if the source has to be a URL. */
function cardJson(source: CardSource): string | undefined {
  if (source instanceof URL) return undefined;
  if (typeof source === "string") return source.trimStart().startsWith("{") ? source : undefined;
  if (isJsonObject(source)) return JSON.stringify(source);
  throw invalid([{ field: "", description: "the agent is neither a URL nor a card" }]);
}

function cardUrl(source: string | URL): URL {
  const url = parseUrl(String(source));
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw invalid([{ field: "", description: `${shown(String(source))} is not an absolute http or https URL` }]);
}

async function accepted(
  text: string,
  where: string,
  { options, version }: Search,
): Promise<Pick<FoundCard, "card" | "isGuessed">> {
  const { card, isOlder, isGuessed } = await readCard(text, where, version);
  if (options.verify === undefined) return { card, isGuessed };
  const outcome = await options.verify(text);
  if (!isOlder) return { card: vouchedFor(where, outcome), isGuessed };
  vouchedFor(where, outcome);
  // The signature covers the text, and a verifier of 1.0 cards cannot interpret an older card.
  if (outcome.uncovered?.length === 0) return { card, isGuessed };
  const parts = outcome.uncovered?.slice(0, 8).join(", ") ?? "the uncovered parts are unknown";
  const message = `${where} is the card of an older version of A2A whose signature does not cover all of it: ${parts}.`;
  throw new A2AError("INVALID_AGENT_RESPONSE", message);
}

function vouchedFor(where: string, { verified: isVerified, card, signatures }: VerifiedCard): AgentCard {
  if (isVerified) return card;
  const why = signatures.map((each) => each.why).join("; ");
  const found = signatures.length === 0 ? "it has none" : why.slice(0, 500);
  throw new A2AError("INVALID_AGENT_RESPONSE", `${where} has no signature that is trusted: ${found}.`);
}

interface Received {
  readonly text: string;
  readonly url: string;
}

/** Requests the well-known path, then that of older versions, then the URL itself. */
async function received(url: URL, search: Search): Promise<Received> {
  if (search.isExact === true || /\.json$/i.test(url.pathname)) return fetched(url.href, search);
  let missing: CardRequestError | undefined;
  for (const path of [WELL_KNOWN_PATH, EARLIER_CARD_PATH]) {
    const below = new URL(url);
    below.pathname = url.pathname.replace(/\/*$/, path);
    below.hash = "";
    try {
      return await fetched(below.href, search);
    } catch (error) {
      if (!(error instanceof CardRequestError) || !error.isMissing) throw error;
      missing ??= error;
    }
  }
  if (url.pathname === "/") throw missing;
  return await fetched(url.href, search).then(
    (other) => (other.text.trimStart().startsWith("{") ? other : Promise.reject(missing)),
    () => Promise.reject(missing),
  );
}

/** Thrown if a server answers the request for a card with an error. */
export class CardRequestError extends A2AError {
  /** HTTP status; 0 if the runtime hides it. */
  readonly status: number;

  constructor(status: number, reason: Reason, message: string, options: A2AErrorOptions = {}) {
    super(reason, message, options);
    this.status = status;
  }

  /** True if the URL has no card, which may be at another one. */
  get isMissing(): boolean {
    return [404, 405, 410].includes(this.status);
  }
}

/** Fetches a card, with retries after transient errors. */
async function fetched(url: string, search: Search): Promise<Received> {
  const { limits, signal } = search;
  for (let failures = 1; ; failures++) {
    try {
      return await followed(url, search);
    } catch (error) {
      if (!(error instanceof A2AError) || !isPassing(error) || failures >= limits.maxAttempts) throw error;
      const ms = waitMs(failures, error, limits);
      if (ms === undefined) throw error;
      await pause(ms, signal);
    }
  }
}

async function followed(first: string, search: Search): Promise<Received> {
  const { limits } = search;
  let url = first;
  let headers = new Headers(search.options.headers);
  for (let redirects = 0; redirects <= limits.maxCardRedirects; redirects++) {
    const text = await asked(url, headers, search);
    if (typeof text === "string") return { text, url };
    const next = redirected(url, text.location);
    // Headers for one server must not reach another.
    if (new URL(next).origin !== new URL(url).origin) headers = new Headers();
    url = next;
  }
  throw new A2AError(
    "INVALID_AGENT_RESPONSE",
    `The card at ${withoutSecrets(first)} is redirected more than ${limits.maxCardRedirects} times.`,
  );
}

function redirected(url: string, location: string | null): string {
  const next = location === null ? undefined : parseUrl(location, url);
  const isDowngrade = url.startsWith("https:") && next?.protocol === "http:";
  if (next !== undefined && /^https?:$/.test(next.protocol) && !isDowngrade) return next.href;
  const where = isDowngrade ? `from https to ${next?.protocol ?? ""}` : "to no URL of http or https";
  throw new A2AError("INVALID_AGENT_RESPONSE", `The card at ${withoutSecrets(url)} is redirected ${where}.`);
}

/** Returns the text at a URL, from the cache if it is fresh, or the location of a redirect. */
async function asked(url: string, own: Headers, search: Search): Promise<string | { location: string | null }> {
  const { http, cache, limits, signal } = search;
  const key = `${url}\n${JSON.stringify([...own])}`;
  const kept = cache?.get(key);
  if (search.revalidates !== true && kept !== undefined && performance.now() < kept.freshUntil) return kept.text;
  const headers = new Headers(own);
  if (!headers.has("accept")) headers.set("accept", "application/json");
  if (kept?.etag !== undefined) headers.set("if-none-match", kept.etag);
  else if (kept?.lastModified !== undefined) headers.set("if-modified-since", kept.lastModified);
  const answer = await http({ url, method: "GET", headers, ...(signal === undefined ? {} : { signal }) });
  const { status } = answer;
  if (status === 304 && kept !== undefined) {
    answer.cancel();
    keepCard(cache, key, answer, { ...kept, etag: answer.headers.get("etag") ?? kept.etag }, limits);
    return kept.text;
  }
  if (status === 200) {
    const text = await answer.text(limits.maxCardBytes);
    const { headers: answerHeaders } = answer;
    const etag = answerHeaders.get("etag") ?? undefined;
    keepCard(cache, key, answer, { text, etag, lastModified: answerHeaders.get("last-modified") ?? undefined }, limits);
    return text;
  }
  answer.cancel();
  if ([301, 302, 303, 307, 308].includes(status)) return { location: answer.headers.get("location") };
  throw cardRequestError(url, answer);
}

function keepCard(
  cache: CardCache | undefined,
  key: string,
  { headers }: HttpAnswer,
  card: Omit<KeptCard, "freshUntil">,
  limits: ClientLimits,
): void {
  const freshMs = freshForMs(headers, limits.maxCardAgeMs);
  // Without a validator the card cannot be revalidated when it is stale.
  const isUseless = freshMs === 0 && card.etag === undefined && card.lastModified === undefined;
  if (freshMs === undefined || isUseless) cache?.forget(key);
  else cache?.keep(key, { ...card, freshUntil: performance.now() + freshMs }, limits.maxCards);
}

function cardRequestError(url: string, { status, headers }: HttpAnswer): A2AError {
  const message = `No agent card was found at ${withoutSecrets(url)}: the server answered ${status === 0 ? "with a redirect that cannot be followed here" : status}.`;
  return new CardRequestError(status, reasonOf(status), message, { retryAfterMs: retryAfterOf(headers), headers });
}

function reasonOf(status: number): Reason {
  if (status >= 500) return "UNAVAILABLE";
  return [401, 403, 429].includes(status) ? reasonOfHttp(status) : "INVALID_AGENT_RESPONSE";
}
