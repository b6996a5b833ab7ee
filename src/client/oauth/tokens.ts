import type { TokenEndpointResponse } from "openid-client";
import { isRecord } from "../../core/members.js";
import { parsedJson } from "../../wire/parsed-json.js";

/** The tokens of one agent. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** In milliseconds since 1970; infinite if the issuer does not say. */
  readonly expiresAt: number;
  /** Time of its renewal. */
  readonly refreshAt: number;
  /** Requested and granted scopes; the issuer reports a difference. */
  readonly asked: readonly string[];
  readonly granted: readonly string[];
}

/** Maximum plausible token lifetime: a hundred years, in milliseconds. */
const MAX_MS = 100 * 365 * 24 * 3_600_000;

/** Reads an issuer's answer, received at a given time. */
export function tokensOf(
  answer: TokenEndpointResponse,
  {
    asked,
    before,
    aheadMs,
    now,
  }: { asked: readonly string[]; before?: Tokens | undefined; aheadMs: number; now: number },
): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken = before?.refreshToken, expires_in, scope } = answer;
  const lifeMs = Math.min(MAX_MS, (expires_in ?? Number.POSITIVE_INFINITY) * 1_000);
  const expiresAt = expires_in === undefined ? Number.POSITIVE_INFINITY : now + lifeMs;
  // Randomized, so that processes started together do not renew together.
  const ahead = Math.min(lifeMs / 2, aheadMs * (0.8 + 0.4 * Math.random()));
  const granted = scope === undefined ? (before?.granted ?? asked) : scope.split(" ").filter((it) => it !== "");
  return { accessToken, refreshToken, expiresAt, refreshAt: expiresAt - ahead, asked, granted };
}

/** Serializes tokens for a storage. */
export function writeTokens({ accessToken, refreshToken, expiresAt, refreshAt, asked, granted }: Tokens): string {
  const ends = Number.isFinite(expiresAt) ? { expiresAt, refreshAt } : {};
  return JSON.stringify({ v: 1, accessToken, refreshToken, ...ends, asked, granted });
}

/** Parses stored tokens; undefined if another program or version wrote them. */
export function readTokens(text: string | null | undefined): Tokens | undefined {
  const json = parsedObject(text);
  if (json?.v !== 1 || typeof json.accessToken !== "string") return undefined;
  const { accessToken, refreshToken, expiresAt, refreshAt, asked, granted } = json;
  if (!isTexts(asked) || !isTexts(granted)) return undefined;
  const time = (value: unknown): number => (typeof value === "number" ? value : Number.POSITIVE_INFINITY);
  return {
    accessToken,
    refreshToken: typeof refreshToken === "string" ? refreshToken : undefined,
    expiresAt: time(expiresAt),
    refreshAt: time(refreshAt),
    asked,
    granted,
  };
}

/** Parses a JSON object; undefined for anything else. */
export function parsedObject(text: string | null | undefined): Record<string, unknown> | undefined {
  const json = typeof text === "string" ? parsedJson(text) : undefined;
  return isRecord(json) ? json : undefined;
}

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((it) => typeof it === "string");

/** True if `scopes` include all wanted ones. */
export const covers = (scopes: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((it) => scopes.includes(it));

/** Returns the union of scope lists. */
export const scopeUnion = (...lists: (readonly string[])[]): string[] => [...new Set(lists.flat())];
