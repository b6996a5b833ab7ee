import type { PushDialect } from "./version.js";
import type { Versions } from "./versions.js";

/** Finds the dialect of a version, by its name; a promise where that is loaded first, undefined for an unknown one. */
export type PushDialectOf = (version: string) => PushDialect | undefined | Promise<PushDialect | undefined>;

/**
 * Finds how versions beside the service's own have push notifications, those that are switched off too: what was asked for before
 * goes out as it was asked for.
 */
export function pushDialects(versions: Versions): PushDialectOf {
  const loaded = new Map<string, PushDialect>();
  return (name) => {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const version = [...versions.others, ...versions.off].find((each) => each.name === name);
    return version?.push?.().then((dialect) => {
      loaded.set(name, dialect);
      return dialect;
    });
  };
}
