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

/** What a caller gives, which is checked. @throws TypeError for what is no header */
export function headerMap(given: GivenHeaders): HeaderMap {
  if (given === undefined) return new Map();
  return new Map(given instanceof Headers ? given : new Headers(given));
}
