import type { PushDialect } from "./version.js";
import type { Versions } from "./versions.js";

/** Finds the push notifications of a version by its name; undefined for an unknown one. */
export type PushDialectOf = (version: string) => PushDialect | undefined | Promise<PushDialect | undefined>;

/**
 * Finds the push notifications of versions beside the service's own. Those of versions that are switched off are found too: configurations
 * from before are served as they were made.
 */
export function pushDialects({ others, off }: Versions): PushDialectOf {
  const versions = new Map([...others, ...off].map((version) => [version.name, version]));
  return async (name) => (await versions.get(name)?.load())?.push;
}
