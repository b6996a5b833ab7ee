/**
 * Headers of a request that no interceptor sees, by lower-case name. The platform's `Headers` would validate and sort
 * names that are already valid, and would cost more than writing the request.
 */
type HeaderMap = Map<string, string>;

/** The common operations of both. Names are in lower case. */
export interface RequestHeaders extends Iterable<[name: string, value: string]> {
  has(name: string): boolean;
  get(name: string): string | null | undefined;
  set(name: string, value: string): unknown;
  delete(name: string): unknown;
}

/** Anything from which the current runtime can create `Headers`. */
export type GivenHeaders = ConstructorParameters<typeof Headers>[0];

/** A header of our own, which needs no validation. */
class OwnHeader extends Map<string, string> {}

/** Returns one header in a caller's form. @param name in lower case */
export function ownHeader(name: string, value: string): NonNullable<GivenHeaders> {
  // `Headers` accepts any iterable of pairs, which the types of Node.js do not express.
  return new OwnHeader([[name, value]]) as Iterable<[string, string]> as [string, string][];
}

/** Validates a caller's headers. @throws TypeError for an invalid header */
export function headerMap(given: GivenHeaders): HeaderMap {
  if (given === undefined) return new Map();
  if (given instanceof OwnHeader) return new Map(given);
  return new Map(given instanceof Headers ? given : new Headers(given));
}
