import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { JWK } from "jose";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { fromBase64, utf8Of } from "../../core/bytes.js";
import {
  aBoolean,
  aFunction,
  anything,
  aText,
  aWholeNumber,
  listOf,
  type OptionChecks,
  optionFaults,
} from "../../core/options.js";
import { olderCard } from "../../version/card-from-older.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { isVerifiable } from "./algorithms.js";
import { type CardMembers, canonicalText, membersOfCard, withoutEmpty } from "./canonical.js";
import { CardFormError, type CardInput, jsonOfCard, parseJson } from "./card-json.js";
import { KeySets } from "./key-sets.js";
import {
  CardKeyError,
  candidates,
  keyIsOver,
  type PublicCardKey,
  readKeySet,
  readPublicKey,
  verifyingKey,
} from "./trusted-keys.js";

/** Keys that the receiver of a card trusts. No other key is trusted. */
export interface CardTrust {
  /** Public keys. A key without a `kid` is tried for every signature of a suitable algorithm. */
  readonly keys?: readonly PublicCardKey[];
  /** A set of public keys (RFC 7517, 5), as object or as JSON. */
  readonly jwks?: string | { readonly keys: readonly object[] };
  /**
   * URLs of JWKS that a signature may name as `jku`, in full. Only these are ever fetched, when a signature names them:
   * a card must not choose the hosts that its reader contacts. `https`, or `http` to this machine. Default: none.
   */
  readonly jku?: readonly string[];
  /** Timeout of fetching one JWKS, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Maximum size of one JWKS, in bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Fetches a JWKS. Default: that of the runtime. */
  readonly fetch?: typeof fetch;
  /**
   * Accepts signatures over the card without its empty values, as several libraries make them against section 8.4.1.
   * Such a signature does not protect the empty values. Default false.
   */
  readonly acceptWithoutEmpty?: boolean;
}

/** Reason for which a signature is invalid. */
export type SignatureFault =
  /** It is not of the form of section 8.4.2. */
  | "malformed"
  /** Its algorithm is `none`, unknown, or uses a shared secret. */
  | "algorithm"
  /** Its header has a forbidden member: an embedded key or certificate, or a critical extension. */
  | "header"
  /** No trusted key has its id and suits its algorithm. */
  | "no-key"
  /** The trusted `jku` could not be fetched, or is not a JWKS. */
  | "jku"
  /** Its key has expired, was revoked, or is not valid yet. */
  | "key-over"
  /** It matches only the card without its empty values (`acceptWithoutEmpty`). */
  | "without-empty"
  /** It does not match the card: the card was changed, or another key signed it. */
  | "mismatch";

/** Result of verifying one signature. */
export interface SignatureResult {
  /** Its index in the card's list of signatures, from 0. */
  readonly index: number;
  /** Key id in its header; undefined if the header is unreadable. */
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly valid: boolean;
  /** Source of the matching key: `keys`, `jwks`, or the URL of the `jku`. Undefined if the signature is not valid. */
  readonly trustedBy: string | undefined;
  /** Undefined if it is valid. */
  readonly fault: SignatureFault | undefined;
  /** Reason for people, as half a sentence; empty if it is valid. It may quote the signature's header. */
  readonly why: string;
}

/** Result of verifying a card. */
export interface CardVerification {
  /** True if at least one signature is valid (specification 8.4.3). */
  readonly verified: boolean;
  /** One for each signature, in their order. */
  readonly signatures: readonly SignatureResult[];
  /** The signed content of the card, without unknown members and signatures. Use this one when `verified` is true. */
  readonly card: AgentCard;
  /** Places of members that the contract does not know and no valid signature covers. */
  readonly uncovered: readonly string[];
}

/** Maximum number of signatures of one card that are verified. */
const MAX_SIGNATURES = 32;
/** Maximum number of keys that are tried for one signature. */
const MAX_TRIED = 16;

const any = anything();
const positive = aWholeNumber(1, Number.MAX_SAFE_INTEGER);

/** Keys and URLs are checked where they are read. */
const checks: OptionChecks<CardTrust> = {
  keys: any,
  jwks: any,
  jku: listOf(aText(), true),
  timeoutMs: positive,
  maxBytes: positive,
  fetch: aFunction(),
  acceptWithoutEmpty: aBoolean(),
};

/**
 * Verifies the signatures of a card (specification 8.4.3).
 *
 * @param card as received: its text or its JSON. A protobuf message has lost unknown members.
 * @throws CardFormError if the input is not a card; CardKeyError for an invalid key or option.
 */
export async function verifyCard(card: CardInput, trust: CardTrust): Promise<CardVerification> {
  if (!isJsonObject(trust)) throw new CardKeyError("verifyCard needs the keys to trust: verifyCard(card, { jwks }).");
  const faults = optionFaults(trust, checks);
  if (faults.length > 0) throw new CardKeyError(`verifyCard(card, trust): ${faults.join("; ")}.`);
  const { signatures = [], ...json } = jsonOfCard(card);
  const older = hasInterfaces(json) ? undefined : olderCard(json);
  const members = membersOfCard(older ?? json);
  const read = readCard(members);
  if (!Array.isArray(signatures)) throw new CardFormError("signatures is not a list.");
  if (signatures.length > MAX_SIGNATURES) {
    throw new CardFormError(`The card has more than ${MAX_SIGNATURES} signatures.`);
  }
  const forms = await formsOf(
    older === undefined ? basesOf(members, json) : [[json, []]],
    trust.acceptWithoutEmpty === true,
  );
  const sources = await sourcesOf(trust);
  const results: SignatureResult[] = [];
  let uncovered: readonly string[] | undefined;
  for (const [index, signature] of signatures.entries()) {
    const { form, ...result } = await verifyOne(signature, forms, sources);
    results.push({ index, ...result });
    if (form !== undefined && form.uncovered.length <= (uncovered?.length ?? Infinity)) uncovered = form.uncovered;
  }
  const verified = results.some(({ valid }) => valid);
  return { verified, signatures: results, card: read, uncovered: uncovered ?? members.unknown };
}

function readCard({ known }: CardMembers): AgentCard {
  try {
    return fromJson(AgentCardSchema, known as JsonValue);
  } catch (cause) {
    throw new CardFormError("It is not a valid agent card.", { cause });
  }
}

/** A text that a signature may have signed. */
interface Form {
  readonly payload: Uint8Array;
  readonly accepted: boolean;
  readonly uncovered: readonly string[];
}

/** A candidate for the signed content, with the places of the members that it omits. */
type Base = readonly [signed: Readonly<Record<string, unknown>>, uncovered: readonly string[]];

/**
 * Returns the candidates for the signed content. Some signers drop unknown members, some servers add them after
 * signing, and others sign the served text unchanged.
 */
function basesOf({ known, whole, unknown }: CardMembers, json: Readonly<Record<string, unknown>>): Base[] {
  return unknown.length === 0
    ? [[known, []]]
    : [
        [whole, []],
        [known, unknown],
        [json, []],
      ];
}

async function formsOf(bases: readonly Base[], acceptWithoutEmpty: boolean): Promise<Form[]> {
  const forms: Form[] = [];
  for (const empty of [true, false]) {
    for (const [base, uncovered] of bases) {
      const payload = utf8Of(await canonicalText(empty ? base : withoutEmpty(base)));
      forms.push({ payload, accepted: empty || acceptWithoutEmpty, uncovered });
    }
  }
  return forms;
}

/** True for a card of 1.0. Earlier cards have other names for interfaces and are signed unchanged. */
function hasInterfaces(json: Readonly<Record<string, unknown>>): boolean {
  return json.supportedInterfaces !== undefined || json.supported_interfaces !== undefined;
}

/** Trusted keys by their source. */
interface Sources {
  readonly own: readonly { readonly name: string; readonly keys: readonly JWK[] }[];
  readonly sets: KeySets;
}

async function sourcesOf(trust: CardTrust): Promise<Sources> {
  if (trust.keys !== undefined && !Array.isArray(trust.keys))
    throw new CardKeyError("keys is not a list of keys: give a JWKS as jwks, and a single key as [key].");
  const keys = await Promise.all((trust.keys ?? []).map(readPublicKey));
  const own = [
    { name: "keys", keys },
    { name: "jwks", keys: trust.jwks === undefined ? [] : readKeySet(trust.jwks) },
  ];
  return { own, sets: new KeySets(trust) };
}

type Verified = Omit<SignatureResult, "index"> & { readonly form?: Form };

async function verifyOne(given: unknown, forms: readonly Form[], sources: Sources): Promise<Verified> {
  const read = readHeader(given);
  const { kid, alg } = read;
  const refuse = (fault: SignatureFault, why: string): Verified => ({
    kid,
    alg,
    valid: false,
    trustedBy: undefined,
    fault,
    why,
  });
  if ("fault" in read) return refuse(read.fault, read.why);
  const { found, problem } = await keysFor(read, sources);
  const usable = found.filter(({ key }) => keyIsOver(key, Date.now()) === undefined);
  const over = found.find(({ key }) => !usable.some((each) => each.key === key));
  if (usable.length === 0 && over !== undefined) {
    return refuse("key-over", `its key ${keyIsOver(over.key, Date.now())}`);
  }
  if (usable.length === 0 && problem !== undefined) return refuse(...problem);
  let fitsWithoutEmpty = false;
  for (const { key, from } of usable.slice(0, MAX_TRIED)) {
    const form = await formThatFits(read, key, forms);
    if (form?.accepted) return { kid, alg, valid: true, trustedBy: from, fault: undefined, why: "", form };
    fitsWithoutEmpty ||= form !== undefined;
  }
  return fitsWithoutEmpty
    ? refuse("without-empty", "it only matches the card without its empty values")
    : refuse("mismatch", "it does not fit the card: the card was changed, or another key made it");
}

interface FoundKeys {
  readonly found: readonly { readonly key: JWK; readonly from: string }[];
  /** The fault, if the signature is rejected. */
  readonly problem?: readonly [SignatureFault, string];
}

/** Finds the keys for a header: the caller's own first. A trusted URL is fetched only if none of them matches. */
async function keysFor(header: ProtectedHeader, { own, sets }: Sources): Promise<FoundKeys> {
  const found = own.flatMap(({ name, keys }) => candidates(keys, header).map((key) => ({ key, from: name })));
  if (found.length > 0) return { found };
  const { kid, jku } = header;
  const id = JSON.stringify(kid);
  if (jku === undefined)
    return { found, problem: ["no-key", `no trusted key has the id ${id} and fits ${header.alg}`] };
  const set = await sets.get(jku);
  if (set === undefined) {
    const named = JSON.stringify(jku);
    return { found, problem: ["no-key", `no trusted key has the id ${id}, and its jku ${named} is not trusted`] };
  }
  if (typeof set === "string") return { found, problem: ["jku", set] };
  const fetched = candidates(set, header).map((key) => ({ key, from: jku }));
  return { found: fetched, problem: ["no-key", `its jku has no key with the id ${id} that fits ${header.alg}`] };
}

async function formThatFits(header: ProtectedHeader, jwk: JWK, forms: readonly Form[]): Promise<Form | undefined> {
  const { base64url, flattenedVerify } = await import("jose");
  const { alg, text, signature } = header;
  try {
    const key = await verifyingKey(jwk, alg);
    for (const form of forms) {
      const jws = { protected: text, payload: base64url.encode(form.payload), signature };
      const fits = await flattenedVerify(jws, key, { algorithms: [alg] }).then(
        () => true,
        () => false,
      );
      if (fits) return form;
    }
  } catch {
    // A key that cannot be imported matches no signature.
  }
  return undefined;
}

/** The relevant members of a signature's protected header, with the encoded header and signature. */
interface ProtectedHeader {
  readonly kid: string;
  readonly alg: string;
  readonly jku: string | undefined;
  /** As sent, in base64url: a part of the signed input. */
  readonly text: string;
  /** In base64url. */
  readonly signature: string;
}

/** A rejected header. */
interface RefusedHeader {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly fault: "malformed" | "algorithm" | "header";
  readonly why: string;
}

/** Longest protected header, in characters. */
const MAX_HEADER = 8 * 1024;

/**
 * Unsupported members. A key or certificate inside a signature does not prove its origin (RFC 7515, 10.4); a signature
 * with an unknown critical extension must be rejected (4.1.11).
 */
const UNSUPPORTED_MEMBERS = ["crit", "b64", "jwk", "x5c", "x5u"];

/** Members that only the protected header may have, because the other one is not signed. */
const protectedOnly = [...UNSUPPORTED_MEMBERS, "alg", "kid", "jku", "typ"];

const isBase64Url = (value: unknown): value is string => typeof value === "string" && /^[\w-]+$/.test(value);

/** Reads a signature of a card (specification 8.4.2). */
function readHeader(given: unknown): ProtectedHeader | RefusedHeader {
  const read = isJsonObject(given) ? protectedHeader(given.protected) : undefined;
  const kid = textOrUndefined(read?.kid);
  const alg = textOrUndefined(read?.alg);
  const refuse = (fault: RefusedHeader["fault"], why: string): RefusedHeader => ({ kid, alg, fault, why });
  if (!isJsonObject(given) || read === undefined) return refuse("malformed", "it has no protected header");
  const { protected: text, signature, header } = given;
  if (!isBase64Url(signature)) return refuse("malformed", "its signature is not base64url");
  if (header !== undefined && header !== null && !isJsonObject(header)) {
    return refuse("malformed", "its unprotected header is not an object");
  }
  const open = Object.keys(header ?? {}).find((name) => protectedOnly.includes(name) || Object.hasOwn(read, name));
  if (open !== undefined) return refuse("header", `its unprotected header has "${open}", which nothing protects`);
  const critical = UNSUPPORTED_MEMBERS.find((name) => Object.hasOwn(read, name));
  if (critical !== undefined) return refuse("header", `its header has "${critical}", which is not followed`);
  if (alg === undefined) return refuse("algorithm", "its header names no algorithm");
  if (!isVerifiable(alg)) return refuse("algorithm", `its algorithm ${JSON.stringify(alg)} is not accepted`);
  if (kid === undefined || kid === "") return refuse("malformed", "its header names no key (kid)");
  if (read.jku !== undefined && typeof read.jku !== "string") return refuse("malformed", "its jku is not a text");
  return { kid, alg, jku: read.jku, text: text as string, signature };
}

const textOrUndefined = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads the protected header of a signature; undefined for any other value. */
export function protectedHeader(text: unknown): Record<string, unknown> | undefined {
  if (!isBase64Url(text) || text.length > MAX_HEADER) return undefined;
  try {
    const json = parseJson(fromBase64(text));
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
