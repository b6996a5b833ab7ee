import type { CustomFetch } from "openid-client";
import { orAborted } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { membersOf } from "../../core/members.js";
import type { HttpAsk, HttpClient } from "../platform.js";
import { fetchClient } from "../web/http.js";
import type { OAuthLimits } from "./options.js";

/** Sends requests to an issuer, with limits of time and size, and without following redirects. */
export type IssuerFetch = CustomFetch;

/** Options of requests to an issuer. */
interface IssuerFetchParts {
  readonly limits: Pick<OAuthLimits, "issuerTimeoutMs" | "maxIssuerBytes">;
  /** True to drop ID tokens, which cannot be verified without the issuer's metadata and are not needed here. */
  readonly withoutIdToken?: boolean;
}

/** Sends requests over the client's own connections. */
export function issuerFetch(http: HttpClient, { limits, withoutIdToken = false }: IssuerFetchParts): IssuerFetch {
  return async (url, { method, headers, body, signal: outer }) => {
    const time = AbortSignal.timeout(limits.issuerTimeoutMs);
    const signal = outer === undefined ? time : AbortSignal.any([time, outer]);
    const whole = body === null || body === undefined ? undefined : String(body);
    const ask = { url, method, headers: new Headers(headers), signal, ...(whole !== undefined && { body: whole }) };
    const timeoutError = (): A2AError => issuerUnavailable("it takes too long");
    const answer = await orAborted(fetchAnswer(http, ask, limits.maxIssuerBytes), signal, timeoutError);
    const { status, headers: answered, text } = answer;
    if (status >= 400) return maskedResponse(status, answered, text, new SentSecrets(ask.headers, whole));
    const isEmpty = status === 204 || status === 205;
    return new Response(isEmpty ? null : withoutIdToken ? dropIdToken(text) : text, { status, headers: answered });
  };
}

/** Returns an error response without the secrets of the request. */
function maskedResponse(status: number, headers: Headers, text: string, secrets: SentSecrets): Response {
  const challenge = headers.get("www-authenticate");
  if (challenge !== null) headers.set("www-authenticate", secrets.masked(challenge));
  return new Response(secrets.maskedJson(text), { status, headers });
}

async function fetchAnswer(http: HttpClient, ask: HttpAsk, max: number) {
  try {
    const answer = await http(ask);
    const { status, headers } = answer;
    if (status < 300 || status >= 400) return { status, headers: plainHeaders(headers), text: await answer.text(max) };
    answer.cancel();
  } catch (cause) {
    if (cause instanceof A2AError && cause.reason === "INVALID_AGENT_RESPONSE")
      throw issuerUnavailable("its answer is too large");
    throw issuerUnavailable("it cannot be reached", { cause });
  }
  throw issuerUnavailable("its answer is a redirect, which is not followed");
}

/** Removes headers of the encoding, since the text is already decoded. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete("content-encoding");
  plain.delete("content-length");
  return plain;
}

export function issuerUnavailable(why: string, options: { retryAfterMs?: number; cause?: unknown } = {}): A2AError {
  return new A2AError("UNAVAILABLE", `The issuer of tokens does not answer correctly: ${why}.`, options);
}

function dropIdToken(text: string): string {
  try {
    const { id_token: _none, ...others } = membersOf(JSON.parse(text));
    return JSON.stringify(others);
  } catch {
    return text;
  }
}

/** Wraps `fetch`, which every runtime has, as an `HttpClient`. */
export const overFetch = (fetch: typeof globalThis.fetch): HttpClient => fetchClient(fetch);

/** Fields of requests to issuers that are not secret (RFC 6749, 7521, 8628, 8707). Any other field may be. */
const openFields: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "scope",
  "resource",
  "audience",
  "redirect_uri",
  "client_assertion_type",
]);

/**
 * Secrets of one request to an issuer, in each form that the request contains. An issuer may repeat them in an error,
 * which would put them into logs.
 */
class SentSecrets {
  /** Longest first, since one may be part of another. */
  readonly #all: readonly string[];

  constructor(headers: Headers, body: string | undefined) {
    const [, basic = ""] = /^Basic +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    const password = passwordIn(basic);
    const fields = [...new URLSearchParams(body)].filter(([name]) => !openFields.has(name)).map(([, value]) => value);
    const all = [basic, password, formDecoded(password), ...fields].flatMap((it) => [
      it,
      formEncoded(it),
      encodeURIComponent(it),
    ]);
    this.#all = [...new Set(all)].filter((it) => it !== "").sort((one, other) => other.length - one.length);
  }

  /** Returns a text with `***` for each secret. */
  masked(text: string): string {
    return this.#all.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
  }

  /** Masks the texts of a JSON object. Returns other text unchanged, since errors do not include it. */
  maskedJson(text: string): string {
    try {
      return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
        typeof value === "string" ? this.masked(value) : value,
      );
    } catch {
      return text;
    }
  }
}

/**
 * Returns the password of Basic credentials (RFC 7617), the part after the first colon, encoded as in RFC 6749, 2.3.1.
 */
function passwordIn(basic: string): string {
  try {
    const text = atob(basic);
    return text.slice(text.indexOf(":") + 1);
  } catch {
    return "";
  }
}

const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
const formDecoded = (text: string): string => new URLSearchParams(`=${text}`).get("") ?? "";
