import { servedVersions } from "../version/versions.js";
import type { Route } from "../wire/routes.js";

/**
 * Values that no tenant may have, because the path of a request would be read as something else: the literal first
 * segments of the service's own routes, such as `tasks`, beside which a tenant stands in `/{tenant}/tasks`; and the segment that
 * RFC 8615 reserves. Where paths of another version begin as those of a tenant do, `A2A-Version` tells them apart.
 */
export const reservedTenants: ReadonlySet<string> = new Set([
  ".well-known",
  ...servedVersions.native.rest.endpoints.flatMap((route) => firstLiteral(route) ?? []),
]);

function firstLiteral({ template: { segments, customVerb } }: Route): string | undefined {
  const [first] = segments;
  if (first === undefined || !("literal" in first)) return undefined;
  return segments.length === 1 && customVerb !== "" ? `${first.literal}:${customVerb}` : first.literal;
}

/** Why a tenant cannot be declared, as a sentence that begins with it, or undefined when it can. */
export function tenantFault(tenant: string): string | undefined {
  if (tenant.trim() === "") return "a tenant is empty";
  if (tenant.includes("/")) return `the tenant "${tenant}" contains a slash`;
  return reservedTenants.has(tenant) ? `the tenant "${tenant}" is reserved: paths begin with it` : undefined;
}
