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
