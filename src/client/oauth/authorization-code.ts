import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { type AgentCard, type SecurityScheme, SecuritySchemeSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { parseUrl } from "../../core/net.js";
import { anything, assertOptions, aText, havingFunctions, listOf, type OptionChecks } from "../../core/options.js";
import { answerReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { type ChosenScheme, chooseCredentials } from "../credentials/choose.js";
import type { Credential } from "../credentials/credential.js";
import { issuerFailure } from "./failures.js";
import { flowCredential } from "./flow-credential.js";
import { signedInKeeper } from "./kept.js";
import { checkOAuthOptions, type OAuthOptions, oauthChecks } from "./options.js";
import { locked, type OAuthStorage } from "./storage.js";
import type { TokenKeeper } from "./token-keeper.js";
import { isTexts, parsedObject } from "./tokens.js";

/** Options of `authorizationCode`. */
export interface AuthorizationCodeOptions extends OAuthOptions {
  /** Redirect URI registered at the issuer. Not needed if each `begin` passes one. */
  readonly redirectUri?: string;
  /**
   * Stores the state, the PKCE verifier and the nonce of a sign-in until the user returns. On a server it must belong
   * to one user's session, since anyone with access can complete the sign-in. In a page: `webStorage(sessionStorage)`.
   */
  readonly storage: OAuthStorage;
  /** Further parameters of the issuer's page, such as `prompt` or `login_hint`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>;
}

const checks: OptionChecks<AuthorizationCodeOptions> = {
  ...oauthChecks,
  redirectUri: anything(),
  storage: havingFunctions("get", "set", "delete"),
  authorizationParameters: anything(),
};

/** The agent to sign in for, such as a client of it. */
export interface SignInAgent {
  readonly card: AgentCard;
  readonly interface: { readonly url: string };
}

/** Options of one sign-in. */
export interface SignInOptions {
  /** Scopes in addition to those that the agent and the options require. */
  readonly scopes?: readonly string[];
  readonly redirectUri?: string;
  /** Id of a skill whose requirements have to be met as well. */
  readonly skill?: string;
}

const signInChecks: OptionChecks<SignInOptions> = {
  scopes: listOf(aText(), true),
  redirectUri: aText(),
  skill: aText(),
};

/** A credential that needs a user to sign in. */
export interface AuthorizationCodeCredential extends Credential {
  /**
   * Starts a sign-in and returns the issuer's page for the user.
   *
   * @throws A2AError if the card has no scheme for it, or the issuer is unavailable
   */
  begin(agent: SignInAgent, options?: SignInOptions): Promise<URL>;
  /**
   * Completes a sign-in when the user returns, also in another process or after a page reload: takes the called URL and
   * stores the tokens. Returns false if the URL is not an issuer's answer, so that a page may pass its own URL each
   * time it opens.
   *
   * @throws A2AError UNAUTHENTICATED if the user declined, the answer is forged, expired or already used, or the issuer
   * rejects it
   */
  finish(callback: string | URL): Promise<boolean>;
}

/**
 * OAuth 2.0 for a user who signs in with a browser, in two steps (authorization code with PKCE, RFC 7636; specification
 * 4.5.8). Until then calls fail as UNAUTHENTICATED, with `signIn: "required"` in the error's metadata.
 *
 * @throws TypeError for invalid options
 */
export function authorizationCode(options: AuthorizationCodeOptions): AuthorizationCodeCredential {
  checkOAuthOptions(options, checks, ["storage"]);
  const keeper = signedInKeeper(options, "authorizationCode");
  const credential = flowCredential(keeper, "authorizationCode", options);
  const signIns = new SignIns(options, keeper, credential);
  return {
    ...credential,
    begin: async (agent, more = {}) => {
      assertOptions("begin(agent, options)", more, signInChecks);
      return signIns.begin(agent, more);
    },
    // Only the query matters, so a server's relative request URL is accepted.
    finish: async (callback) => signIns.finish(new URL(callback, "http://localhost")),
  };
}

class SignIns {
  readonly #options: AuthorizationCodeOptions;
  readonly #keeper: TokenKeeper;
  readonly #credential: Credential;

  constructor(options: AuthorizationCodeOptions, keeper: TokenKeeper, credential: Credential) {
    this.#options = options;
    this.#keeper = keeper;
    this.#credential = credential;
  }

  async begin(
    { card, interface: { url } }: SignInAgent,
    { scopes = [], redirectUri, skill }: SignInOptions,
  ): Promise<URL> {
    const { authorizationParameters = {}, storage } = this.#options;
    const redirect = redirectUri ?? this.#options.redirectUri;
    if (redirect === undefined) throw new TypeError("redirectUri is missing");
    const chosen = this.#schemeOf(card, skill);
    const key = this.#keeper.keyOf({ scheme: chosen.scheme, url });
    const all = [...new Set([...this.#keeper.scopesToSignIn(key, chosen.scopes), ...scopes])];
    const { config, isDescribed } = await this.#issuer(chosen.scheme);
    const pending: PendingSignIn = {
      key,
      scheme: chosen.scheme,
      scopes: all,
      redirectUri: redirect,
      verifier: randomPKCECodeVerifier(),
      nonce: isDescribed && all.includes("openid") ? randomNonce() : undefined,
      at: Date.now(),
    };
    const state = randomState();
    await storage.set(storageKey(state), writePending(pending));
    return buildAuthorizationUrl(config, {
      ...authorizationParameters,
      ...this.#keeper.parametersFor(all),
      redirect_uri: redirect,
      state,
      code_challenge: await calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: "S256",
      ...(pending.nonce !== undefined && { nonce: pending.nonce }),
    });
  }

  async finish({ searchParams }: URL): Promise<boolean> {
    const state = searchParams.get("state");
    if (state === null || !(searchParams.has("code") || searchParams.has("error"))) return false;
    const pending = await this.#take(state);
    if (pending === undefined)
      throw new A2AError("UNAUTHENTICATED", "No such sign-in was begun here, or it took too long.");
    const { key, scheme, scopes, redirectUri, verifier, nonce } = pending;
    try {
      const { config, isDescribed } = await this.#issuer(scheme);
      // The URL that the issuer knows: proxies may have changed the called one.
      const callback = new URL(redirectUri);
      for (const [name, value] of searchParams) callback.searchParams.append(name, value);
      // The answer names its issuer (RFC 9207), which can only be checked against the issuer's metadata.
      if (!isDescribed) callback.searchParams.delete("iss");
      const checks = {
        expectedState: state,
        pkceCodeVerifier: verifier,
        ...(nonce !== undefined && { expectedNonce: nonce }),
      };
      const { scope: _none, ...parameters } = this.#keeper.parametersFor([]);
      await this.#keeper.keep(key, await authorizationCodeGrant(config, callback, checks, parameters), scopes);
      return true;
    } catch (error) {
      throw issuerFailure(error);
    }
  }

  /**
   * Removes a pending sign-in, which is valid once whatever its result: an issuer that gets a code twice revokes its
   * tokens (RFC 6749, 4.1.2), and a page may finish a sign-in twice at once.
   */
  async #take(state: string): Promise<PendingSignIn | undefined> {
    const { storage } = this.#options;
    const { signInMs, issuerTimeoutMs } = this.#keeper.limits;
    const key = storageKey(state);
    const text = await locked(storage, key, issuerTimeoutMs, async () => {
      const found = await storage.get(key);
      await storage.delete(key);
      return found;
    });
    const pending = readPending(text);
    const isLate = pending === undefined || Date.now() - pending.at > signInMs;
    return isLate ? undefined : pending;
  }

  async #issuer(scheme: PendingSignIn["scheme"]) {
    try {
      return await this.#keeper.issuers.of(scheme, this.#keeper.httpOf());
    } catch (error) {
      throw issuerFailure(error);
    }
  }

  /** Returns the scheme to sign in for; other credentials cover the other requirements. */
  #schemeOf(card: AgentCard, skill: string | undefined): ChosenScheme {
    const fits = (name: string): boolean => {
      const scheme = Object.hasOwn(card.securitySchemes, name) ? card.securitySchemes[name] : undefined;
      return scheme !== undefined && this.#credential.fits(scheme);
    };
    const fitting = card.securityRequirements.filter(({ schemes }) => Object.keys(schemes).some(fits));
    const securityRequirements = fitting.length === 0 ? card.securityRequirements : fitting;
    const others: Credential = { fits: (scheme) => !this.#credential.fits(scheme), apply: () => {} };
    const options = skill === undefined ? {} : { skill };
    const { schemes } = chooseCredentials({ ...card, securityRequirements }, [this.#credential, others], options);
    const chosen = schemes.find(({ credential }) => credential === this.#credential);
    if (chosen !== undefined) return chosen;
    throw new A2AError("UNAUTHENTICATED", "The agent's card asks for no sign-in of this kind.");
  }
}

const storageKey = (state: string): string => `sign-in ${state}`;

/** A sign-in whose user has not returned. */
interface PendingSignIn {
  /** Key under which its tokens will be stored. */
  readonly key: string;
  /** Scheme of the card, which names the issuer. */
  readonly scheme: SecurityScheme;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  /** PKCE verifier. */
  readonly verifier: string;
  readonly nonce: string | undefined;
  /** Start time, in milliseconds since 1970. */
  readonly at: number;
}

/** Serializes a pending sign-in for the storage. */
function writePending({ scheme, ...pending }: PendingSignIn): string {
  return JSON.stringify({ ...pending, scheme: JSON.parse(jsonWriter(SecuritySchemeSchema)(scheme)) });
}

/** Parses a stored sign-in; undefined if it is invalid. */
function readPending(text: string | null | undefined): PendingSignIn | undefined {
  const { key, scopes, redirectUri, verifier, nonce, at, scheme } = parsedObject(text) ?? {};
  const isWhole = typeof key === "string" && typeof verifier === "string" && typeof at === "number" && isTexts(scopes);
  if (!isWhole || typeof redirectUri !== "string" || parseUrl(redirectUri) === undefined) return undefined;
  try {
    const read = answerReader(SecuritySchemeSchema)(scheme);
    return {
      key,
      scopes,
      redirectUri,
      verifier,
      nonce: typeof nonce === "string" ? nonce : undefined,
      at,
      scheme: read,
    };
  } catch {
    return undefined;
  }
}
