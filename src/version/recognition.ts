import type { ProtocolVersion } from "./version.js";

/** The first version that has a method of JSON-RPC. */
export function versionWithMethod(name: string, versions: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  return versions.find(({ methods = {} }) => Object.hasOwn(methods, name));
}

/** Returns the first version with each JSON-RPC method, as a table that is created once. */
export function versionsByMethod(versions: readonly ProtocolVersion[]): ReadonlyMap<string, ProtocolVersion> {
  return new Map(
    versions.toReversed().flatMap((each) => Object.keys(each.methods ?? {}).map((name) => [name, each] as const)),
  );
}

const noPaths: readonly string[] = [];

/** Returns the first version with paths that begin like this one. */
export function versionWithPath(path: string, versions: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  // Runs for every request, so it creates no closures.
  for (const version of versions) {
    for (const prefix of version.paths ?? noPaths) if (path.startsWith(prefix)) return version;
  }
  return undefined;
}

/**
 * Returns the tenants whose paths look like those of another version, with that version. Calls that do not name the
 * service's own version belong to the other version.
 */
export function tenantsLikePaths(versions: readonly ProtocolVersion[]): (readonly [tenant: string, version: string])[] {
  return versions.flatMap(({ name, paths = [] }) =>
    paths.flatMap((path) => {
      const [, tenant] = /^\/([^/]+)\/$/.exec(path) ?? [];
      return tenant === undefined ? [] : [[tenant, name] as const];
    }),
  );
}
