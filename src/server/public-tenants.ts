import { tenantsLikePaths } from "../version/recognition.js";
import type { Settings } from "./options.js";

/**
 * Returns a function that tells if a tenant has a separate URL, for versions without tenants in their messages. Tenants
 * of several agents are public, because the cards name them. The listed tenants of a single agent have URLs only if
 * anonymous callers may call, because their names would be disclosed otherwise.
 */
export function publicTenants({ agents, service }: Pick<Settings, "agents" | "service">): (tenant: string) => boolean {
  const isListed = agents.all.some(({ tenant }) => tenant === "");
  const isOpen = service.authenticator === undefined && agents.all.every(({ agent }) => agent.security === undefined);
  if (agents.anyTenant || (isListed && !isOpen)) return () => false;
  return (tenant) => tenant !== "" && agents.resolve(tenant) !== undefined;
}

/** The versions that calls of the first agent have to name; undefined if they need not name one. */
interface VersionsToName {
  readonly version: string | undefined;
  /** The version to name over HTTP+JSON. */
  readonly restVersion: string | undefined;
}

/** Returns the versions to name: calls without one are refused, or their path belongs to another version. */
export function versionsToName({ versions, service, agents }: Settings): VersionsToName {
  const { name } = versions.native;
  const isTaken = tenantsLikePaths(versions.others).some(([tenant]) => tenant === agents.all[0]?.tenant);
  const isStrict = service.strictVersion === true;
  return { version: isStrict ? name : undefined, restVersion: isStrict || isTaken ? name : undefined };
}

/**
 * Returns warnings about tenants whose HTTP+JSON paths belong to another version unless callers name the version. None
 * for an agent that serves any tenant.
 */
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
