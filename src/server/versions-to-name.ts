import { tenantsLikePaths } from "../version/recognition.js";
import type { Settings } from "./options.js";
import { publicTenants } from "./public-tenants.js";

/** The versions that calls of the first agent have to name; undefined: none. */
export interface VersionsToName {
  readonly version: string | undefined;
  /** The same over HTTP+JSON. */
  readonly restVersion: string | undefined;
}

/** Calls name their version where those without one are refused, or are those of another version. */
export function versionsToName({ versions, service, agents }: Settings): VersionsToName {
  const { name } = versions.native;
  const isTaken = tenantsLikePaths(versions.others).some(([tenant]) => tenant === agents.all[0]?.tenant);
  const isStrict = service.strictVersion === true;
  return { version: isStrict ? name : undefined, restVersion: isStrict || isTaken ? name : undefined };
}

/** Tenants that callers of HTTP+JSON miss where they do not name the version. One agent for any tenant has none in mind. */
export function takenTenants(settings: Settings): string[] {
  const { agents, versions } = settings;
  if (agents.anyTenant) return [];
  const hasUrl = publicTenants(settings);
  const taken = tenantsLikePaths(versions.others).filter(([tenant]) => agents.resolve(tenant) !== undefined);
  return taken.map(
    ([tenant, version]) =>
      `paths below /${tenant} are those of A2A ${version}: callers of the tenant ${tenant} have to send A2A-Version: ` +
      `${versions.native.name} over HTTP+JSON${hasUrl(tenant) ? `, and those of ${version} call it below /${tenant}/${tenant}` : ""}`,
  );
}
