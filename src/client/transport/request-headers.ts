/**
 * The headers of a request that no interceptor sees, by their names in lower case. The `Headers` of a platform check and sort what is
 * ours or was checked already, and cost more than the request is written for.
 */
export type HeaderMap = Map<string, string>;

/** What either of them does. Names are in lower case. */
export interface RequestHeaders extends Iterable<[name: string, value: string]> {
  has(name: string): boolean;
  get(name: string): string | null | undefined;
  set(name: string, value: string): unknown;
  delete(name: string): unknown;
}

/** Whatever Headers can be made of, in the runtime at hand. */
export type GivenHeaders = ConstructorParameters<typeof Headers>[0];

/** A header of our own, which nobody has to check. */
class OwnHeader extends Map<string, string> {}

/** One header as a caller would give it. @param name in lower case */
export function ownHeader(name: string, value: string): NonNullable<GivenHeaders> {
  // Headers can be made of whatever has pairs of names and values, which the types of Node.js do not know.
  return new OwnHeader([[name, value]]) as Iterable<[string, string]> as [string, string][];
}

/** What a caller gives, which is checked. @throws TypeError for what is no header */
export function headerMap(given: GivenHeaders): HeaderMap {
  if (given === undefined) return new Map();
  if (given instanceof OwnHeader) return new Map(given);
  return new Map(given instanceof Headers ? given : new Headers(given));
}
