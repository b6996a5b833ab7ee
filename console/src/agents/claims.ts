import { fromBase64 } from "../../../src/core/bytes.js";

/** Claims of a JWT, unverified. */
export interface Claims {
  readonly sub?: string;
  readonly iss?: string;
  readonly scope?: string;
  /** Seconds since 1970. */
  readonly exp?: number;
}

/** Returns the claims of a JWT; undefined for other tokens. */
export function claimsOf(token: string): Claims | undefined {
  const [, payload = "", ...rest] = token.split(".");
  if (rest.length !== 1) return undefined;
  try {
    const bytes = fromBase64(payload);
    if (bytes === undefined) return undefined;
    const json = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const text = (value: unknown): string | undefined => (typeof value === "string" ? value.slice(0, 300) : undefined);
    const { sub, iss, scope, exp } = json;
    const texts = { sub: text(sub), iss: text(iss), scope: text(scope) };
    const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined));
    return { ...given, ...(typeof exp === "number" && Math.abs(exp) < 8e12 && { exp }) };
  } catch {
    return undefined;
  }
}
