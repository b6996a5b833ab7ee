import type { Call } from "../core/call.js";

/** Location of an API key. Specification 4.5.2. */
export interface KeyPlace {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
}

const tokenForm = /^[A-Za-z0-9\-._~+/]+=*$/;
const bearerForm = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const basicForm = /^basic +([A-Za-z0-9+/]+=*) *$/i;
const scheme = /^(bearer|basic)(?: |$)/i;

/**
 * The credentials of an HTTP scheme: undefined if the call has none of that scheme, and empty if they are malformed
 * (RFC 6750, 2.1; RFC 7617, 2). Several `Authorization` headers are malformed.
 */
export function httpCredentials(call: Call, name: "bearer" | "basic"): string | undefined {
  const header = call.header("authorization");
  if (header === undefined) return undefined;
  const found = (name === "bearer" ? bearerForm : basicForm).exec(header)?.[1];
  if (found !== undefined) return found;
  return scheme.exec(header)?.[1]?.toLowerCase() === name ? "" : undefined;
}

/** True for a text that a client can send as a token (RFC 6750, 2.1). */
export function isBearerToken(value: unknown): boolean {
  return typeof value === "string" && tokenForm.test(value);
}

/** Returns the key of a call; undefined if it is missing or empty. */
export function apiKeyOf(call: Call, { in: location, name }: KeyPlace): string | undefined {
  const found =
    location === "header"
      ? call.header(name.toLowerCase())
      : location === "query"
        ? call.query(name)
        : cookieOf(call.header("cookie"), name);
  return found === "" ? undefined : found;
}

/** Returns the value of a cookie (RFC 6265, 4.2.1). Cookie values contain neither commas nor semicolons. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const pair of header.split(/[;,]/)) {
    const at = pair.indexOf("=");
    if (at >= 0 && pair.slice(0, at).trim() === name)
      return pair
        .slice(at + 1)
        .trim()
        .replace(/^"(.*)"$/, "$1");
  }
  return undefined;
}

/** Decodes Basic credentials (RFC 7617, 2). Returns undefined if they are malformed. */
export function nameAndPassword(credentials: string): { name: string; password: string } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(credentials, "base64"));
    const at = text.indexOf(":");
    return at < 0 ? undefined : { name: text.slice(0, at), password: text.slice(at + 1) };
  } catch {
    return undefined;
  }
}
