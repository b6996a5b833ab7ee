import { tenantsLikePaths } from "../version/recognition.js";
import type { Settings } from "./options.js";

/**
 * The tenants that have URLs of their own, for versions whose messages have none. Those of several agents are named in public cards.
 * Those that one agent has a list of are nobody's business who cannot say who he is: they have URLs where everybody may call.
 */
export function publicTenants({ agents, service }: Pick<Settings, "agents" | "service">): (tenant: string) => boolean {
  const isListed = agents.all.some(({ tenant }) => tenant === "");
  const isOpen = service.authenticator === undefined && agents.all.every(({ agent }) => agent.security === undefined);
  if (agents.anyTenant || (isListed && !isOpen)) return () => false;
  return (tenant) => tenant !== "" && agents.resolve(tenant) !== undefined;
}

/** The versions that calls of the first agent have to name; undefined: none. */
interface VersionsToName {
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
