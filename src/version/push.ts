import type { PushDialect } from "./version.js";
import type { Versions } from "./versions.js";

/** Returns the push notifications of a version by its name; undefined for an unknown one. */
export type PushDialectOf = (version: string) => PushDialect | undefined | Promise<PushDialect | undefined>;

/**
 * Returns a lookup for the push notifications of versions other than the service's own. It includes disabled versions,
 * whose existing configurations are still served.
 */
export function pushDialects({ others, off }: Versions): PushDialectOf {
  const versions = new Map([...others, ...off].map((version) => [version.name, version]));
  return async (name) => (await versions.get(name)?.load())?.push;
}
