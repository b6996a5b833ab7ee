/** One challenge of `WWW-Authenticate` (RFC 9110, 11.6.1). */
export interface Challenge {
  /** Name of the scheme, such as `Bearer`. */
  readonly scheme: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A challenge as text, with further parameters before its own. */
export function challengeText({ scheme, parameters }: Challenge, more: Readonly<Record<string, string>> = {}): string {
  const all = Object.entries({ ...more, ...parameters });
  if (all.length === 0) return scheme;
  return `${scheme} ${all.map(([name, value]) => `${name}=${quoted(value)}`).join(", ")}`;
}

/** A quoted string of visible ASCII: metadata of gRPC and RFC 6750 allow no more. */
function quoted(value: string): string {
  return `"${value.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}
