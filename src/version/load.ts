import type { MethodHandler } from "./method-handler.js";
import type { Dialects, PushDialect } from "./version.js";
import type { LoadedVersions, Versions } from "./versions.js";

/** Returns the service for calls of a version. @param supported the names of all enabled versions */
export function translated(
  { translate }: Dialects,
  service: MethodHandler,
  supported: readonly string[],
): MethodHandler {
  return translate?.(service, supported) ?? service;
}

/** A table that a binding creates from the versions other than the native one, once they are loaded. */
export class OlderTable<T extends object> {
  readonly #versions: Versions;
  readonly #make: (loaded: LoadedVersions) => T;
  #made: T | undefined;

  constructor(versions: Versions, make: (loaded: LoadedVersions) => T) {
    this.#versions = versions;
    this.#make = make;
  }

  /** The table; undefined until the versions are loaded. */
  get now(): T | undefined {
    if (this.#made === undefined && this.#versions.loaded !== undefined) this.#made = this.#make(this.#versions.loaded);
    return this.#made;
  }

  /** Returns the table after the versions are loaded. @throws see `Versions.ready` */
  async get(): Promise<T> {
    const loaded = await this.#versions.ready();
    this.#made ??= this.#make(loaded);
    return this.#made;
  }
}

/** Returns the push notifications of a version by its name; undefined for an unknown one. */
export type PushDialectOf = (version: string) => PushDialect | undefined | Promise<PushDialect | undefined>;

/**
 * Returns a lookup for the push notifications of versions other than the service's own. It includes disabled versions,
 * whose existing configurations are still served. Each of them is loaded alone, because `ready` loads enabled ones.
 */
export function pushDialects(versions: Versions): PushDialectOf {
  const off = new Map(versions.off.map((version) => [version.name, version]));
  return async (name) => {
    if (versions.other(name) !== undefined) return (await versions.ready()).get(name)?.push;
    return (await off.get(name)?.load())?.push;
  };
}
