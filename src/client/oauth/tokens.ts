import type { TokenEndpointResponse } from "openid-client";

/** The tokens of one agent. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** In milliseconds since 1970; infinite where the issuer does not say. */
  readonly expiresAt: number;
  /** When it is time to renew it. */
  readonly refreshAt: number;
  /** Scopes that were asked for, and those that were given; the issuer says so where they differ. */
  readonly asked: readonly string[];
  readonly granted: readonly string[];
}

/** Token times that nobody can mean: a hundred years, in milliseconds. */
const MAX_MS = 100 * 365 * 24 * 3_600_000;

/** What an issuer answered, received at a time. */
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
  // Many processes that began together do not come together.
  const ahead = Math.min(lifeMs / 2, aheadMs * (0.8 + 0.4 * Math.random()));
  const granted = scope === undefined ? (before?.granted ?? asked) : scope.split(" ").filter((it) => it !== "");
  return { accessToken, refreshToken, expiresAt, refreshAt: expiresAt - ahead, asked, granted };
}

/** For a store. */
export function writeTokens({ accessToken, refreshToken, expiresAt, refreshAt, asked, granted }: Tokens): string {
  const ends = Number.isFinite(expiresAt) ? { expiresAt, refreshAt } : {};
  return JSON.stringify({ v: 1, accessToken, refreshToken, ...ends, asked, granted });
}

/** Undefined for what is none: a store may have what another program or version wrote. */
export function readTokens(text: string | null | undefined): Tokens | undefined {
  const json = jsonOf(text);
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

/** An object that was written as JSON, or undefined. */
export function jsonOf(text: string | null | undefined): Record<string, unknown> | undefined {
  try {
    const json: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((it) => typeof it === "string");

/** Whether all of some scopes are among others. */
export const covers = (scopes: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((it) => scopes.includes(it));

/** All scopes of several lists, once. */
export const joined = (...lists: (readonly string[])[]): string[] => [...new Set(lists.flat())];
