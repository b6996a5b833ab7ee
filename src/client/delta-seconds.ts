/** The most seconds that a header is taken at its word for (RFC 9111, 1.2.2). */
const MOST = 2 ** 31;

/** A number of seconds in a header, such as `Retry-After`; undefined for what is none. */
export function deltaSeconds(text: string | null | undefined): number | undefined {
  return /^\d+$/.test(text ?? "") ? Math.min(MOST, Number(text)) : undefined;
}
