import { fromBase64 } from "../../core/bytes.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { isVerifiable } from "./algorithms.js";
import { parseJson } from "./card-json.js";

/** The protected header of a signature, as far as it counts, with the texts that were signed and made. */
export interface ProtectedHeader {
  readonly kid: string;
  readonly alg: string;
  readonly jku: string | undefined;
  /** As it was sent, in base64url: a part of what was signed. */
  readonly text: string;
  /** In base64url. */
  readonly signature: string;
}

/** A header that is not followed. */
export interface RefusedHeader {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly fault: "malformed" | "algorithm" | "header";
  readonly why: string;
}

/** Longest protected header, in characters. */
const MAX_HEADER = 8 * 1024;

/**
 * Members that nobody here follows. A key or certificate that a signature brings along proves nothing about who made it
 * (RFC 7515, 10.4); critical extensions are not known, so a signature with one must be refused (4.1.11).
 */
const refused = ["crit", "b64", "jwk", "x5c", "x5u"];

/** Members that only the protected header may have, because the other one is not signed. */
const protectedOnly = [...refused, "alg", "kid", "jku", "typ"];

const isBase64Url = (value: unknown): value is string => typeof value === "string" && /^[\w-]+$/.test(value);

/** Reads a signature of a card (specification 8.4.2). */
export function readHeader(given: unknown): ProtectedHeader | RefusedHeader {
  const read = isJsonObject(given) ? parse(given.protected) : undefined;
  const kid = textIn(read?.kid);
  const alg = textIn(read?.alg);
  const refuse = (fault: RefusedHeader["fault"], why: string): RefusedHeader => ({ kid, alg, fault, why });
  if (!isJsonObject(given) || read === undefined) return refuse("malformed", "it has no protected header");
  const { protected: text, signature, header } = given;
  if (!isBase64Url(signature)) return refuse("malformed", "its signature is no base64url");
  if (header !== undefined && header !== null && !isJsonObject(header)) {
    return refuse("malformed", "its unprotected header is no object");
  }
  const open = Object.keys(header ?? {}).find((name) => protectedOnly.includes(name) || Object.hasOwn(read, name));
  if (open !== undefined) return refuse("header", `its unprotected header has "${open}", which nothing protects`);
  const critical = refused.find((name) => Object.hasOwn(read, name));
  if (critical !== undefined) return refuse("header", `its header has "${critical}", which is not followed`);
  if (alg === undefined) return refuse("algorithm", "its header names no algorithm");
  if (!isVerifiable(alg)) return refuse("algorithm", `its algorithm ${JSON.stringify(alg)} is not accepted`);
  if (kid === undefined || kid === "") return refuse("malformed", "its header names no key (kid)");
  if (read.jku !== undefined && typeof read.jku !== "string") return refuse("malformed", "its jku is no text");
  return { kid, alg, jku: read.jku, text: text as string, signature };
}

const textIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function parse(text: unknown): Record<string, unknown> | undefined {
  if (!isBase64Url(text) || text.length > MAX_HEADER) return undefined;
  try {
    const json = parseJson(fromBase64(text));
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
