import { notPromised } from "../core/async.js";
import type { CallerInput } from "../core/call.js";
import type { Limits } from "../core/limits.js";
import { evictOldest, TransientMap } from "../core/maps.js";
import { membersOf } from "../core/members.js";
import { sourceOf } from "../core/net.js";
import * as check from "../core/options.js";
import { issuerUrlFaults } from "../jwt/issuer.js";
import {
  createVerifier,
  type JsonWebKeySet,
  TokenFault,
  type Verified,
  type VerifierOptions,
} from "../jwt/verifier.js";
import { httpCredentials } from "./credentials.js";
import { MAX_CREDENTIAL_LENGTH, Refusal, type SchemeCheck, type SchemeParts, type SecurityScheme } from "./scheme.js";

export type { JsonWebKeySet };

/** Options of `jwtScheme`. */
export interface JwtSchemeOptions extends VerifierOptions {
  /** The issuer's keys: the URL of its JWKS (https, except on this machine), or the set itself. RFC 7517. */
  readonly jwks: string | URL | JsonWebKeySet;
  /** Returns the owner of the caller's tasks from the claims; undefined rejects the token. Default: the claim `sub`. */
  readonly owner?: (claims: Readonly<Record<string, unknown>>) => string | undefined;
  /** The caller's scopes. Default: the claims `scope` (words) and `scp` (words or a list). */
  readonly scopes?: (claims: Readonly<Record<string, unknown>>) => readonly string[];
  /** Realm of the challenge. Default: the name that the declaration gives the scheme. */
  readonly realm?: string;
  /** Description for people, on the card. */
  readonly description?: string;
}

/**
 * Security scheme: JSON Web Tokens in `Authorization: Bearer` (RFC 6750, RFC 7519, RFC 8725; specification 4.5.3).
 * Signature, issuer, audience and time are checked; a token without an expiry (`exp`) is refused. A verified token is
 * remembered for `limits.credentialMemoryMs`, never beyond its expiry. Rotated keys are found without a restart. While
 * the issuer's keys cannot be fetched, calls fail with UNAVAILABLE.
 */
export function jwtScheme(options: JwtSchemeOptions): SecurityScheme {
  const { issuer, realm, description, owner } = options;
  return {
    card: {
      httpAuthSecurityScheme: {
        scheme: "Bearer",
        bearerFormat: "JWT",
        ...(description !== undefined && { description }),
      },
    },
    challenge: { scheme: "Bearer", ...(realm !== undefined && { parameters: { realm } }) },
    ...(owner === undefined && { names: { issuer } }),
    faults: check.optionFaults(options, checks, "", ["jwks", "issuer", "audience"]),
    open: (parts) => tokenCheck(parts, tokenVerifier(options, parts), options),
  };
}

/** Verifies a token of an address: returns its claims, or a refusal. */
type Verify = (token: string, source: string) => Promise<Verified | Refusal>;

/** Checks bearer tokens that have claims, and remembers valid ones. */
export function tokenCheck(
  { limits, underWay }: SchemeParts,
  verify: Verify,
  { owner = ownerOf, scopes = scopesOf }: Pick<JwtSchemeOptions, "owner" | "scopes">,
): SchemeCheck {
  const memory = new TokenMemory(limits);
  // Calls with the same token share one verification.
  const pending = new TransientMap<Promise<CallerInput | Refusal>>();
  const verifiedOnce = (token: string, address: string): Promise<CallerInput | Refusal> => {
    const running = pending.get(token);
    if (running !== undefined) return running;
    const caller = inTurn(address, () => callerOf(token, sourceOf(address))).finally(() => pending.delete(token));
    pending.set(token, caller);
    return caller;
  };
  /** Counts one check for all calls that share a verification. */
  const inTurn = (address: string, check: () => Promise<CallerInput | Refusal>): Promise<CallerInput | Refusal> => {
    if (underWay === undefined) return check();
    return underWay.isFull(address) ? underWay.inTurn(address, check) : underWay.count(address, check());
  };
  const callerOf = async (token: string, source: string): Promise<CallerInput | Refusal> => {
    const verified = await verify(token, source);
    if (verified instanceof Refusal) return verified;
    const claims = frozen(verified.claims);
    const name = notPromised(owner(claims));
    if (typeof name !== "string" || name === "") return new Refusal("The token does not name a subject.");
    const caller: CallerInput = Object.freeze({
      owner: name,
      authenticated: true,
      scopes: Object.freeze(scopeList(notPromised(scopes(claims)))),
      claims,
      ...(typeof claims.exp === "number" && { expiresAt: claims.exp * 1000 }),
    });
    memory.set(bearerHeader(token), caller, verified.endsAt);
    return caller;
  };
  return {
    takesTurns: true,
    check: (call) => {
      const known = memory.get(call.header("authorization") ?? "");
      if (known !== undefined) return known;
      const token = httpCredentials(call, "bearer");
      if (token === undefined) return undefined;
      if (token === "" || token.length > MAX_CREDENTIAL_LENGTH) return malformed;
      return memory.get(bearerHeader(token)) ?? verifiedOnce(token, call.attemptsFrom);
    },
    recall: (call) => {
      const token = httpCredentials(call, "bearer");
      return token === undefined || token.length > MAX_CREDENTIAL_LENGTH ? undefined : memory.get(bearerHeader(token));
    },
  };
}

/** Requires an array: spreading a string would give its characters. */
function scopeList(scopes: unknown): string[] {
  if (!Array.isArray(scopes)) throw new TypeError("scopes() must return a list");
  return [...scopes];
}

/** The header in its usual form, so that a remembered token is found without parsing the header. */
function bearerHeader(token: string): string {
  return `Bearer ${token}`;
}

const malformed = new Refusal("The token is malformed.");

const ownerOf = ({ sub }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof sub === "string" ? sub : undefined;

function scopesOf({ scope, scp }: Readonly<Record<string, unknown>>): string[] {
  const words = (value: unknown): string[] => {
    if (Array.isArray(value)) return value.filter((each) => typeof each === "string");
    return typeof value === "string" ? value.split(" ").filter((each) => each !== "") : [];
  };
  return [...new Set([...words(scope), ...words(scp)])];
}

/** All calls of the token share the claims, so they are frozen. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner);
    Object.freeze(value);
  }
  return value;
}

const seconds = (what: string, max: number): check.OptionCheck =>
  check.expects(what, (value) => typeof value === "number" && value >= 0 && value <= max);

const isMissing = (value: unknown): boolean => value === "" || (Array.isArray(value) && value.length === 0);

/** A required text or list, which counts as missing if it is empty. */
const required =
  (one: check.OptionCheck): check.OptionCheck =>
  (name, value) =>
    isMissing(value) ? [`${name} is missing`] : one(name, value);

const audience = check.aText("a non-empty text", (text) => text !== "");
const audiences = check.listOf(audience);

/** Checks of the options that schemes with tokens share. Nothing is requested. */
export const tokenChecks: check.OptionChecks<Omit<JwtSchemeOptions, "jwks">> = {
  issuer: required(check.aText()),
  audience: required((name, value) => (Array.isArray(value) ? audiences : audience)(name, value)),
  algorithms: check.listOf(
    check.aText("a signature with a public key", (name) => /^(?:[RPE]S(?:256|384|512)|EdDSA|Ed25519)$/.test(name)),
  ),
  clockTolerance: seconds("a number of seconds from 0 to 600", 600),
  typ: check.aText(),
  maxTokenAge: seconds("a number of seconds from 0", Number.MAX_SAFE_INTEGER),
  owner: check.aFunction(),
  scopes: check.aFunction(),
  realm: check.aText(),
  description: check.aText(),
};

/** Checks the option `jwks`. */
export function jwksFaults(name: string, jwks: unknown): readonly string[] {
  if (jwks instanceof URL) return issuerUrlFaults(name, jwks.href);
  if (typeof jwks !== "object" || jwks === null) return issuerUrlFaults(name, jwks);
  return Array.isArray(membersOf(jwks).keys) ? [] : [`${name} has no list of keys`];
}

const checks: check.OptionChecks<JwtSchemeOptions> = { ...tokenChecks, jwks: jwksFaults };

/** Length of the suffix by which credentials are found, in characters: part of the signature, too long to guess. */
const TAIL = 64;

/** Verified tokens that are remembered for each scheme; the oldest are evicted first. */
export const rememberedTokens = { max: 10_000 } as const;

interface Remembered {
  readonly credentials: string;
  readonly caller: CallerInput;
  /** Monotonic time. */
  readonly forgetAt: number;
  /** The token's own expiry, in milliseconds since 1970. */
  readonly endsAt: number;
}

/**
 * Callers of verified credentials, by the credentials' text. Their number and their time are bounded, and no caller is
 * remembered after the token's own expiry.
 *
 * The key is the text's suffix, because a digest would take longer than the rest of such a call. Look-up times do not
 * help to guess a token: only texts with the same suffix are compared, and an attacker with the last 64 characters of a
 * signature already has the token. The texts exist only in memory, in a private field that no logger prints.
 */
export class TokenMemory {
  readonly #limits: Limits;
  /** Callers by suffix; signatures never share one. */
  readonly #callers = new Map<string, Remembered>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get(credentials: string): CallerInput | undefined {
    const tail = credentials.slice(-TAIL);
    const found = this.#callers.get(tail);
    if (found === undefined || found.credentials !== credentials) return undefined;
    if (performance.now() < found.forgetAt && Date.now() < found.endsAt) return found.caller;
    this.#callers.delete(tail);
    return undefined;
  }

  /** @param endsAt the token's expiry, in seconds since 1970. */
  set(credentials: string, caller: CallerInput, endsAt: number): void {
    const { credentialMemoryMs } = this.#limits;
    const tail = credentials.slice(-TAIL);
    const forgetAt = performance.now() + credentialMemoryMs;
    this.#callers.delete(tail);
    evictOldest(this.#callers, rememberedTokens.max);
    this.#callers.set(tail, { credentials, caller, forgetAt, endsAt: endsAt * 1000 });
  }
}

/** Verifies tokens of one issuer; faults are reported to the client. */
export function tokenVerifier(
  options: VerifierOptions,
  parts: SchemeParts,
): (token: string) => Promise<Verified | Refusal> {
  const verify = createVerifier(options, parts);
  return async (token) => {
    const verified = await verify(token);
    return verified instanceof TokenFault ? new Refusal(verified.description) : verified;
  };
}
