import { createHash, createHmac, randomBytes } from "node:crypto";
import type { CallerInput } from "../core/call.js";
import { lazy } from "../core/lazy.js";
import { membersOf } from "../core/members.js";
import {
  aBoolean,
  anObject,
  anObjectOf,
  aSecret,
  aText,
  expects,
  listOf,
  type OptionCheck,
  type OptionChecks,
  optionFaults,
  typeName,
} from "../core/options.js";
import type { SecurityScheme } from "./scheme.js";

/** Checks a text that is not empty. */
const nonEmptyText: OptionCheck = aText("a non-empty text", (text) => text !== "");

/** One secret known at start, in plain text or as its SHA-256, and its caller. */
export interface KnownSecret extends Omit<CallerInput, "subject"> {
  /** SHA-256 of the secret in hex, so that the configuration need not have the secret itself. */
  readonly sha256?: string;
}

/** The callers of secrets that are known at start, by the secrets' fingerprints. */
export function knownSecrets<S extends KnownSecret>(
  known: readonly S[],
  secretOf: (entry: S) => string | undefined,
): (secret: string) => CallerInput | undefined {
  // Fingerprints need random bytes, so they are made with the first call.
  let callers: Map<string, CallerInput> | undefined;
  const make = (): Map<string, CallerInput> => new Map(known.map((entry) => [print(entry, secretOf), callerOf(entry)]));
  return (secret) => {
    callers ??= make();
    const caller = callers.get(fingerprint(secret));
    return caller?.expiresAt !== undefined && caller.expiresAt <= Date.now() ? undefined : caller;
  };
}

function print<S extends KnownSecret>(entry: S, secretOf: (entry: S) => string | undefined): string {
  const secret = secretOf(entry);
  return secret === undefined ? fingerprintOfHash(Buffer.from(entry.sha256 ?? "", "hex")) : fingerprint(secret);
}

function callerOf({ owner, authenticated, scopes, claims, expiresAt }: KnownSecret): CallerInput {
  return {
    owner,
    ...(authenticated !== undefined && { authenticated }),
    ...(scopes !== undefined && { scopes }),
    ...(claims !== undefined && { claims }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** Returns the owners of a list of known secrets. */
export function ownerNames(known: readonly KnownSecret[] | undefined): Pick<SecurityScheme, "names"> {
  if (!Array.isArray(known)) return {};
  return { names: { listed: known.flatMap((entry) => entry?.owner ?? []) } };
}

/**
 * Returns the check of a list of known secrets. Its faults never contain a secret.
 *
 * @param field name of the secret
 * @param more checks of further required members
 * @param secretCheck check of the secret; its faults must not contain the secret
 */
export function listOfSecrets(
  field: string,
  more: OptionChecks = { owner: nonEmptyText },
  secretCheck: OptionCheck = aSecret(),
): OptionCheck {
  const checks = { ...ofSecrets, ...more, [field]: secretCheck };
  const entry = anObjectOf(checks, Object.keys(more), "an object");
  return listOf((place, given) => {
    const faults = entry(place, given);
    if (faults.length > 0) return faults;
    const { [field]: secret, sha256 } = membersOf(given);
    const isOne = (secret === undefined) !== (sha256 === undefined);
    return isOne ? [] : [`${place} needs either ${field} or its sha256 in hex`];
  }, true);
}

/**
 * Returns the faults of the options of a scheme that has either a list of known secrets or the author's `check`.
 *
 * @param list name of the option that has the list
 */
export function faultsOfSecrets(
  options: object,
  checks: OptionChecks,
  list: string,
  required: readonly string[] = [],
): string[] {
  const faults = optionFaults(options, checks, "", required);
  const { [list]: known, check } = membersOf(options);
  if ((known === undefined) === (check === undefined)) faults.push(`it needs either ${list} or check`);
  return faults;
}

const ofSecrets: OptionChecks<KnownSecret> = {
  owner: nonEmptyText,
  authenticated: aBoolean(),
  scopes: listOf(nonEmptyText, true),
  claims: anObject(),
  expiresAt: expects("a time in milliseconds since 1970", Number.isFinite),
  sha256: expects("a SHA-256 in hex", isSha256, typeName),
};

// Made when first needed: some runtimes give no random bytes while modules are loaded.
const processKey = lazy(() => randomBytes(32));

/**
 * Fingerprint of a secret in this process: secrets are looked up and compared by it, so that no comparison leaks timing
 * and no plain secret is kept. It is keyed with a random key of the process, so that it cannot be chosen.
 */
export function fingerprint(secret: string): string {
  return fingerprintOfHash(createHash("sha256").update(secret).digest());
}

/** The fingerprint of a secret known by its SHA-256. */
function fingerprintOfHash(sha256: Uint8Array): string {
  return createHmac("sha256", processKey()).update(sha256).digest("base64url");
}

/** True for a SHA-256 in hex. */
function isSha256(text: unknown): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/i.test(text);
}
