import { type Configuration, refreshTokenGrant, type TokenEndpointResponse } from "openid-client";
import { orAborted } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { parseUrl, withoutSecrets } from "../../core/net.js";
import { given } from "../../core/options.js";
import type { CredentialContext } from "../credentials/credential.js";
import { checkEncrypted } from "../credentials/secret.js";
import { comparableHost, webUrl } from "../hosts.js";
import { abandoned, isInvalidGrant, issuerFailure } from "./failures.js";
import { Issuers, type KnownIssuer } from "./issuer.js";
import { overFetch } from "./issuer-fetch.js";
import { issuerPlace } from "./issuer-place.js";
import { defaultOAuthLimits, type OAuthLimits, type OAuthOptions } from "./options.js";
import { locked } from "./storage.js";
import { covers, readTokens, scopeUnion, type Tokens, tokensOf, writeTokens } from "./tokens.js";

/** Request to a flow for tokens. */
interface FlowAsk {
  readonly issuer: KnownIssuer;
  readonly scopes: readonly string[];
  /** Scope, resource and audience, as request parameters. */
  readonly parameters: Record<string, string>;
  readonly context: CredentialContext;
  /** Fires when all waiting calls have been aborted. */
  readonly signal: AbortSignal;
}

/** One way to get tokens. */
interface Flow {
  readonly name: string;
  /** True if no user is involved, so that tokens can be renewed in advance. */
  readonly isUnattended: boolean;
  /** @throws A2AError, or an error of the library */
  obtain(ask: FlowAsk): Promise<TokenEndpointResponse>;
}

/** The tokens for one agent, and their state. */
interface Entry {
  readonly key: string;
  tokens: Tokens | undefined;
  /** Missing scopes that the agent has named and the issuer has granted. */
  wanted: readonly string[];
  /** Missing scopes that the issuer has not granted, requested at the next sign-in. */
  lacking: readonly string[];
  flight: Flight | undefined;
  failure: { readonly at: number; readonly error: A2AError } | undefined;
  /** The token last fetched after a rejection, and the time. */
  afterRefusal: { readonly accessToken: string; readonly at: number } | undefined;
}

const nothingYet = { tokens: undefined, flight: undefined, failure: undefined, afterRefusal: undefined } as const;

/** A pending token request, shared by the calls that wait for it. */
interface Flight {
  readonly done: Promise<Tokens>;
  readonly scopes: readonly string[];
  readonly abort: AbortController;
  /** By `performance.now()`. */
  readonly at: number;
  waiting: number;
}

/**
 * Multiple of `issuerTimeoutMs` after which a token request counts as lost, and so does its use of the storage: an issuer
 * is asked at most four times. On runtimes that stop a request's work with it, such as edge runtimes, it may never end.
 */
const LOST_AFTER = 4;

/** True less than `ms` milliseconds after a time; false if the clock was set back since then. */
function isRecent(at: number | undefined, ms: number): boolean {
  const passed = Date.now() - (at ?? Number.NEGATIVE_INFINITY);
  return passed >= 0 && passed < ms;
}

/** Returns the host and port of an interface. */
function placeNameOf(url: string): string {
  const whole = webUrl(url);
  const parsed = parseUrl(whole);
  if (parsed === undefined)
    throw new A2AError("INVALID_PARAMS", `${withoutSecrets(url)} is not the URL of an interface.`);
  const { port, protocol } = parsed;
  return `${comparableHost(whole)}:${port || (protocol === "http:" ? "80" : "443")}`;
}

/** Holds the tokens of a credential: fetched once for all calls that need one, and renewed before they expire. */
export class TokenKeeper {
  readonly limits: OAuthLimits;
  readonly issuers: Issuers;
  readonly #options: OAuthOptions;
  readonly #flow: Flow;
  readonly #entries = new Map<string, Entry>();
  readonly #shown = new WeakMap<CredentialContext, string>();

  constructor(options: OAuthOptions, flow: Flow) {
    this.limits = { ...defaultOAuthLimits, ...given(options.limits ?? {}) };
    this.issuers = new Issuers(options, this.limits);
    this.#options = options;
    this.#flow = flow;
  }

  /** Returns the token for a call. @throws A2AError UNAUTHENTICATED, UNAVAILABLE, or for an aborted call */
  async show(context: CredentialContext): Promise<string> {
    checkEncrypted(context.url, this.#options);
    const { accessToken } = await this.#token(this.#entry(context), context);
    this.#shown.set(context, accessToken);
    return accessToken;
  }

  /** Tells whether another token than the rejected one is available. @throws A2AError if none can be obtained */
  async refused(context: CredentialContext): Promise<boolean> {
    const entry = this.#entry(context);
    const shown = this.#shown.get(context);
    if (entry.tokens !== undefined && entry.tokens.accessToken !== shown) return true;
    // A server that rejects new tokens as well would otherwise cause a fetch for each call.
    const { afterRefusal } = entry;
    const isNew = afterRefusal?.accessToken === shown && isRecent(afterRefusal?.at, this.limits.refusalMs);
    if (isNew || entry.tokens === undefined) return false;
    entry.tokens = { ...entry.tokens, expiresAt: 0, refreshAt: 0 };
    const { accessToken } = await this.#token(entry, context);
    if (accessToken === shown) return false;
    entry.afterRefusal = { accessToken, at: Date.now() };
    return true;
  }

  /**
   * Tells whether a token with more scopes is available. If not, the agent's error is more informative than the
   * issuer's.
   */
  async insufficient(context: CredentialContext, scopes: readonly string[]): Promise<boolean> {
    const entry = this.#entry(context);
    const { tokens } = entry;
    if (tokens !== undefined && covers(tokens.asked, scopes)) {
      // The scopes were requested already: another call did it, the issuer does not grant them, or the server means
      // others.
      return tokens.accessToken !== this.#shown.get(context) && covers(tokens.granted, scopes);
    }
    const added = scopes.filter((scope) => !entry.wanted.includes(scope));
    entry.wanted = scopeUnion(entry.wanted, added);
    const renewed = await this.#token(entry, context).catch(() => undefined);
    if (renewed !== undefined && covers(renewed.granted, scopes)) return true;
    // Scopes that are not granted would be requested again with each token, and an issuer may reject the whole request.
    entry.wanted = entry.wanted.filter((scope) => !added.includes(scope));
    entry.lacking = scopeUnion(entry.lacking, scopes);
    return false;
  }

  /** Stores the tokens of a sign-in. */
  async keep(key: string, answer: TokenEndpointResponse, asked: readonly string[]): Promise<void> {
    const entry = this.#entryOf(key);
    entry.lacking = [];
    await this.#store(entry, this.#tokens(answer, asked, undefined));
  }

  /** Returns the storage key of an agent's tokens, which are bound to one host, port and issuer. */
  keyOf({ scheme, url }: Pick<CredentialContext, "scheme" | "url">): string {
    const { clientId, resource = "", audience = "" } = this.#options;
    const { name } = issuerPlace(scheme, this.#options);
    return JSON.stringify([this.#flow.name, clientId, name, placeNameOf(url), resource, audience]);
  }

  /** Returns all scopes that an agent needs. */
  scopesFor(key: string, scopes: readonly string[]): string[] {
    return scopeUnion(this.#options.scopes ?? [], scopes, this.#entryOf(key).wanted);
  }

  /** Returns the scopes of a sign-in, including those that were not granted without one. */
  scopesToSignIn(key: string, scopes: readonly string[]): string[] {
    return scopeUnion(this.scopesFor(key, scopes), this.#entryOf(key).lacking);
  }

  parametersFor(scopes: readonly string[]): Record<string, string> {
    const { resource, audience } = this.#options;
    return {
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(resource !== undefined && { resource }),
      ...(audience !== undefined && { audience }),
    };
  }

  /** Returns the HTTP client for issuers: the caller's own, unless the options contain a `fetch`. */
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
        if (now >= good.refreshAt && this.#mayRenew(entry, good)) this.#begin(entry, context, good.asked);
        return good;
      }
      const { failure } = entry;
      if (failure !== undefined && isRecent(failure.at, this.limits.issuerCooldownMs)) throw failure.error;
      const tokens = await this.#wait(this.#begin(entry, context, scopes), context.signal);
      if (covers(tokens.asked, scopes)) return tokens;
    }
  }

  /** Returns the token if it has all scopes and has not expired. */
  #good({ tokens }: Entry, scopes: readonly string[], now: number): Tokens | undefined {
    if (tokens === undefined || !covers(tokens.asked, scopes)) return undefined;
    return now < tokens.expiresAt - this.#skew(tokens) ? tokens : undefined;
  }

  /** Returns the clock skew to allow for, which is less for short-lived tokens. */
  #skew({ expiresAt, refreshAt }: Tokens): number {
    return Math.min(this.limits.clockSkewMs, (expiresAt - refreshAt) / 2 || 0);
  }

  #mayRenew({ failure }: Entry, { refreshToken }: Tokens): boolean {
    const rests = isRecent(failure?.at, this.limits.issuerCooldownMs);
    return !rests && (this.#flow.isUnattended || refreshToken !== undefined);
  }

  /** Returns the pending request, or starts one. Its rejection is always handled. */
  #begin(entry: Entry, context: CredentialContext, scopes: readonly string[]): Flight {
    const { flight } = entry;
    // A call that waits may have been stopped too, unless the flow waits for its user.
    const isLost =
      flight !== undefined &&
      (flight.waiting === 0 || this.#flow.isUnattended) &&
      performance.now() - flight.at > LOST_AFTER * this.limits.issuerTimeoutMs;
    if (flight?.abort.signal.aborted === false && !isLost) return flight;
    const abort = new AbortController();
    const renew = (): Promise<Tokens> => this.#renew(entry, { context, scopes, signal: abort.signal });
    // An aborted request may be using the refresh token.
    const done = flight === undefined || isLost ? renew() : flight.done.then(renew, renew);
    const begun: Flight = { done, scopes, abort, at: performance.now(), waiting: 0 };
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
    flight.waiting++;
    try {
      return await (signal === undefined
        ? flight.done
        : orAborted(flight.done, signal, () => abandoned(signal.reason)));
    } finally {
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

  /** Returns a valid token that another process has stored. */
  async #found(entry: Entry, scopes: readonly string[]): Promise<Tokens | undefined> {
    const before = entry.tokens;
    await this.#load(entry);
    return entry.tokens === before ? undefined : this.#good(entry, scopes, Date.now());
  }

  /**
   * Uses the refresh token, if it has the scopes. Returns undefined if it has become invalid. Most refresh tokens can
   * be used once, and an issuer that receives one twice revokes the whole sign-in, so all users of a storage are
   * serialized.
   */
  #refresh(entry: Entry, scopes: readonly string[], config: Configuration): Promise<Tokens | undefined> {
    if (entry.tokens?.refreshToken === undefined) return Promise.resolve(undefined);
    return locked(this.#options.tokens, entry.key, LOST_AFTER * this.limits.issuerTimeoutMs, async () => {
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
      throw new A2AError("UNAUTHENTICATED", "The issuer returned a token that is not a bearer token.");
    }
    return tokensOf(answer, { asked, before, aheadMs: this.limits.refreshAheadMs, now: Date.now() });
  }

  async #store(entry: Entry, tokens: Tokens): Promise<Tokens> {
    // A token issued once must not be lost because the storage fails: it is used, and the waiting calls get the error.
    entry.tokens = tokens;
    entry.failure = undefined;
    await this.#stored(async (store) => store.set(entry.key, writeTokens(tokens)));
    return tokens;
  }

  /** Loads newer tokens from the storage. */
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
      throw new A2AError("UNAVAILABLE", "The store of tokens is unavailable.", { cause });
    }
  }
}
