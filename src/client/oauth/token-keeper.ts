import { type Configuration, refreshTokenGrant, type TokenEndpointResponse } from "openid-client";
import { A2AError } from "../../core/error.js";
import type { CredentialContext } from "../credentials/credential.js";
import { checkEncrypted } from "../credentials/secret.js";
import { hostOf, webUrl } from "../hosts.js";
import { abandoned, isInvalidGrant, issuerFailure } from "./failures.js";
import { Issuers, type KnownIssuer } from "./issuer.js";
import { overFetch } from "./issuer-fetch.js";
import { placeOf } from "./issuer-place.js";
import { checkOptions, type OAuthLimits, type OAuthOptions } from "./options.js";
import { locked } from "./storage.js";
import { covers, joined, readTokens, type Tokens, tokensOf, writeTokens } from "./tokens.js";

/** What a flow is asked for. */
export interface FlowAsk {
  readonly issuer: KnownIssuer;
  readonly scopes: readonly string[];
  /** Scope, resource and audience, as requests have them. */
  readonly parameters: Record<string, string>;
  readonly context: CredentialContext;
  /** Nobody waits any more. */
  readonly signal: AbortSignal;
}

/** One way to get tokens. */
export interface Flow {
  readonly name: string;
  /** Needs nobody: tokens may be fetched ahead of time. */
  readonly isUnattended: boolean;
  /** @throws A2AError, or an error of the library */
  obtain(ask: FlowAsk): Promise<TokenEndpointResponse>;
}

/** The tokens for one agent, and what happens to them. */
interface Entry {
  readonly key: string;
  tokens: Tokens | undefined;
  /** Scopes that the agent asked for when it refused, and that were to be had. */
  wanted: readonly string[];
  /** Those that were not, for the next sign-in. */
  lacking: readonly string[];
  flight: Flight | undefined;
  failure: { readonly at: number; readonly error: A2AError } | undefined;
  /** The token that a refusal last led to, and when. */
  afterRefusal: { readonly accessToken: string; readonly at: number } | undefined;
}

const nothingYet = { tokens: undefined, flight: undefined, failure: undefined, afterRefusal: undefined } as const;

/** A token on its way, for all who wait for it. */
interface Flight {
  readonly done: Promise<Tokens>;
  readonly scopes: readonly string[];
  readonly abort: AbortController;
  readonly at: number;
  waiting: number;
}

/** The host and the port of an interface. */
function placeNameOf(url: string): string {
  const whole = webUrl(url);
  if (!URL.canParse(whole))
    throw new A2AError("INVALID_PARAMS", `${url.slice(0, 200)} is not the URL of an interface.`);
  const { port, protocol } = new URL(whole);
  return `${hostOf(whole)}:${port || (protocol === "http:" ? "80" : "443")}`;
}

/** Keeps the tokens of a credential: fetched once for all calls that need one, and renewed before they end. */
export class TokenKeeper {
  readonly limits: OAuthLimits;
  readonly issuers: Issuers;
  readonly #options: OAuthOptions;
  readonly #flow: Flow;
  readonly #entries = new Map<string, Entry>();
  readonly #shown = new WeakMap<CredentialContext, string>();

  constructor(options: OAuthOptions, flow: Flow) {
    this.limits = checkOptions(options);
    this.issuers = new Issuers(options, this.limits);
    this.#options = options;
    this.#flow = flow;
  }

  /** The token for a call. @throws A2AError UNAUTHENTICATED, UNAVAILABLE, or for a call that was given up */
  async show(context: CredentialContext): Promise<string> {
    checkEncrypted(context.url, this.#options);
    const { accessToken } = await this.#token(this.#entry(context), context);
    this.#shown.set(context, accessToken);
    return accessToken;
  }

  /** Whether there is another token than a refused one. @throws A2AError where there is none to be had */
  async refused(context: CredentialContext): Promise<boolean> {
    const entry = this.#entry(context);
    const shown = this.#shown.get(context);
    if (entry.tokens !== undefined && entry.tokens.accessToken !== shown) return true;
    // A server that refuses new tokens as well would have one fetched for each call.
    const { afterRefusal } = entry;
    const isNew = afterRefusal?.accessToken === shown && Date.now() - (afterRefusal?.at ?? 0) < this.limits.refusalMs;
    if (isNew || entry.tokens === undefined) return false;
    entry.tokens = { ...entry.tokens, expiresAt: 0, refreshAt: 0 };
    const { accessToken } = await this.#token(entry, context);
    if (accessToken === shown) return false;
    entry.afterRefusal = { accessToken, at: Date.now() };
    return true;
  }

  /** Whether a token with more scopes was to be had. Where not, the agent's refusal says more than the issuer's. */
  async insufficient(context: CredentialContext, scopes: readonly string[]): Promise<boolean> {
    const entry = this.#entry(context);
    const { tokens, wanted } = entry;
    if (tokens !== undefined && covers(tokens.asked, scopes)) {
      // It was asked for already: by another call, or the issuer does not give it, or the server means something else.
      return tokens.accessToken !== this.#shown.get(context) && covers(tokens.granted, scopes);
    }
    entry.wanted = joined(wanted, scopes);
    const renewed = await this.#token(entry, context).catch(() => undefined);
    if (renewed !== undefined && covers(renewed.granted, scopes)) return true;
    // What is not given would be asked for again with each token, and an issuer may refuse all of it.
    entry.wanted = wanted;
    entry.lacking = joined(entry.lacking, scopes);
    return false;
  }

  /** What came of a sign-in. */
  async keep(key: string, answer: TokenEndpointResponse, asked: readonly string[]): Promise<void> {
    const entry = this.#entryOf(key);
    entry.lacking = [];
    await this.#store(entry, this.#tokens(answer, asked, undefined));
  }

  /** Under what the tokens for an agent are kept. They go to one host and port alone, and to one issuer. */
  keyOf({ scheme, url }: Pick<CredentialContext, "scheme" | "url">): string {
    const { clientId, resource = "", audience = "" } = this.#options;
    const { name } = placeOf(scheme, this.#options);
    return JSON.stringify([this.#flow.name, clientId, name, placeNameOf(url), resource, audience]);
  }

  /** All scopes that an agent needs. */
  scopesFor(key: string, scopes: readonly string[]): string[] {
    return joined(this.#options.scopes ?? [], scopes, this.#entryOf(key).wanted);
  }

  /** The same for a sign-in, with those that were not to be had without one. */
  scopesToSignIn(key: string, scopes: readonly string[]): string[] {
    return joined(this.scopesFor(key, scopes), this.#entryOf(key).lacking);
  }

  parametersFor(scopes: readonly string[]): Record<string, string> {
    const { resource, audience } = this.#options;
    return {
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(resource !== undefined && { resource }),
      ...(audience !== undefined && { audience }),
    };
  }

  /** Asks issuers as the client calls agents, unless the options say how. */
  httpOf(context?: CredentialContext): CredentialContext["http"] {
    const { fetch } = this.#options;
    if (fetch !== undefined) return overFetch(fetch);
    return context?.http ?? overFetch(globalThis.fetch);
  }

  #entry(context: CredentialContext): Entry {
    return this.#entryOf(this.keyOf(context));
  }

  #entryOf(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const { value: oldest } = this.#entries.keys().next();
      if (this.#entries.size >= this.limits.maxAgents && oldest !== undefined) this.#entries.delete(oldest);
      entry = { key, wanted: [], lacking: [], ...nothingYet };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  async #token(entry: Entry, context: CredentialContext): Promise<Tokens> {
    for (;;) {
      const scopes = this.scopesFor(entry.key, context.scopes);
      const now = Date.now();
      const good = this.#good(entry, scopes, now);
      if (good !== undefined) {
        if (now >= good.refreshAt && this.#mayRenew(entry, good, now)) this.#begin(entry, context, good.asked);
        return good;
      }
      const { failure } = entry;
      if (failure !== undefined && now - failure.at < this.limits.issuerCooldownMs) throw failure.error;
      const tokens = await this.#wait(this.#begin(entry, context, scopes), context.signal);
      if (covers(tokens.asked, scopes)) return tokens;
    }
  }

  /** A token that has all scopes and time left. */
  #good({ tokens }: Entry, scopes: readonly string[], now: number): Tokens | undefined {
    if (tokens === undefined || !covers(tokens.asked, scopes)) return undefined;
    return now < tokens.expiresAt - this.#skew(tokens) ? tokens : undefined;
  }

  /** Tokens that are good for a few seconds alone are used as well. */
  #skew({ expiresAt, refreshAt }: Tokens): number {
    return Math.min(this.limits.clockSkewMs, (expiresAt - refreshAt) / 2 || 0);
  }

  #mayRenew({ failure }: Entry, { refreshToken }: Tokens, now: number): boolean {
    const rests = failure !== undefined && now - failure.at < this.limits.issuerCooldownMs;
    return !rests && (this.#flow.isUnattended || refreshToken !== undefined);
  }

  /** The flight that is under way, or a new one. It never rejects unheard. */
  #begin(entry: Entry, context: CredentialContext, scopes: readonly string[]): Flight {
    const { flight } = entry;
    // Where the work of a request ends with it, as at the edge, one may never land.
    const isLost =
      flight !== undefined && flight.waiting === 0 && Date.now() - flight.at > 4 * this.limits.issuerTimeoutMs;
    if (flight !== undefined && !isLost) return flight;
    const abort = new AbortController();
    const done = this.#renew(entry, { context, scopes, signal: abort.signal });
    const begun: Flight = { done, scopes, abort, at: Date.now(), waiting: 0 };
    entry.flight = begun;
    const land = (): void => {
      if (entry.flight === begun) entry.flight = undefined;
    };
    done.then(land, (error: A2AError) => {
      land();
      if (!abort.signal.aborted) entry.failure = { at: Date.now(), error };
    });
    return begun;
  }

  async #wait(flight: Flight, signal: AbortSignal | undefined): Promise<Tokens> {
    if (signal?.aborted === true) throw abandoned(signal.reason);
    let leave = (): void => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(abandoned(signal?.reason));
      signal?.addEventListener("abort", leave, { once: true });
    });
    flight.waiting++;
    try {
      return await Promise.race([flight.done, left]);
    } finally {
      signal?.removeEventListener("abort", leave);
      if (--flight.waiting === 0) flight.abort.abort();
    }
  }

  async #renew(entry: Entry, ask: Pick<FlowAsk, "context" | "scopes" | "signal">): Promise<Tokens> {
    const { context, scopes } = ask;
    try {
      const found = await this.#found(entry, scopes);
      if (found !== undefined) return found;
      const issuer = await this.issuers.of(context.scheme, this.httpOf(context));
      const refreshed = await this.#refresh(entry, scopes, issuer.refreshing);
      if (refreshed !== undefined) return refreshed;
      const answer = await this.#flow.obtain({ ...ask, issuer, parameters: this.parametersFor(scopes) });
      return await this.#store(entry, this.#tokens(answer, scopes, undefined));
    } catch (error) {
      throw issuerFailure(error);
    }
  }

  /** A good token that somebody else has put into the store. */
  async #found(entry: Entry, scopes: readonly string[]): Promise<Tokens | undefined> {
    const before = entry.tokens;
    await this.#load(entry);
    return entry.tokens === before ? undefined : this.#good(entry, scopes, Date.now());
  }

  /**
   * By the refresh token, where there is one that has the scopes; undefined where it is good no more. Most are for one use, and an issuer
   * that sees one twice ends the whole sign-in: so all who share a store take turns.
   */
  #refresh(entry: Entry, scopes: readonly string[], config: Configuration): Promise<Tokens | undefined> {
    if (entry.tokens?.refreshToken === undefined) return Promise.resolve(undefined);
    return locked(this.#options.tokens, entry.key, async () => {
      const found = await this.#found(entry, scopes);
      const { tokens } = entry;
      if (found !== undefined) return found;
      if (tokens?.refreshToken === undefined || !covers(tokens.asked, scopes)) return undefined;
      try {
        const answer = await refreshTokenGrant(config, tokens.refreshToken, this.parametersFor([]));
        return await this.#store(entry, this.#tokens(answer, tokens.asked, tokens));
      } catch (error) {
        if (!isInvalidGrant(error)) throw error;
        entry.tokens = { ...tokens, refreshToken: undefined };
        return undefined;
      }
    });
  }

  #tokens(answer: TokenEndpointResponse, asked: readonly string[], before: Tokens | undefined): Tokens {
    if (answer.token_type.toLowerCase() !== "bearer") {
      throw new A2AError("UNAUTHENTICATED", "The issuer gave a token that is no bearer token.");
    }
    return tokensOf(answer, { asked, before, aheadMs: this.limits.refreshAheadMs, now: Date.now() });
  }

  async #store(entry: Entry, tokens: Tokens): Promise<Tokens> {
    // What an issuer gives once must not be lost because a store is out of order: it is used, and who waits hears of it.
    entry.tokens = tokens;
    entry.failure = undefined;
    await this.#stored(async (store) => store.set(entry.key, writeTokens(tokens)));
    return tokens;
  }

  /** What a store has that is newer. */
  async #load(entry: Entry): Promise<void> {
    const text = await this.#stored(async (store) => store.get(entry.key));
    const found = readTokens(text as string | null | undefined);
    if (found === undefined || found.accessToken === entry.tokens?.accessToken) return;
    const { tokens } = entry;
    if (tokens === undefined || found.expiresAt > tokens.expiresAt) entry.tokens = found;
  }

  async #stored(work: (store: NonNullable<OAuthOptions["tokens"]>) => Promise<unknown>): Promise<unknown> {
    if (this.#options.tokens === undefined) return undefined;
    try {
      return await work(this.#options.tokens);
    } catch (cause) {
      throw new A2AError("UNAVAILABLE", "The store of tokens is out of order.", { cause });
    }
  }
}
