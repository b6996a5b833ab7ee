import { clone, isMessage } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, AgentCardInput, ExtendedCard } from "../agent/agent.js";
import { type AgentSecurity, securityCard, securityFaults } from "../auth/security.js";
import { isPromiseLike } from "../core/async.js";
import type { Caller } from "../core/call.js";
import { aBoolean, firstFaults, nearest, shown } from "../core/options.js";
import { servedVersions } from "../version/versions.js";
import type { Route } from "../wire/routes.js";
import { buildCard, checkCard, type ServerCapabilities } from "./build.js";
import { ConfigurationError } from "./faults.js";

/** An agent with its card, ready to be served. */
export interface AgentRegistration {
  /** Tenant that its interfaces declare; empty where a server has one agent. */
  readonly tenant: string;
  readonly agent: Agent;
  /** The public card, complete but for `supportedInterfaces`, which depends on where the server listens. */
  readonly card: AgentCard;
  /**
   * The extended card for a caller, complete as `card` is, or undefined if the caller is rejected; the field is
   * undefined if the agent has none (specification 3.1.11, 13.3). Omitted fields are as on the public card.
   *
   * @throws ConfigurationError if the agent's function returns an invalid card.
   */
  readonly extendedCard?: (caller: Caller) => AgentCard | undefined | Promise<AgentCard | undefined>;
}

/** The agents of one endpoint. */
export interface AgentDirectory {
  /** Returns the agent for the tenant of a request, or undefined. */
  resolve(tenant: string): AgentRegistration | undefined;
  /** True if requests may name any tenant. */
  readonly anyTenant: boolean;
  /** The tenants that requests may name, with the empty one; empty if they may name any. */
  readonly knownTenants: readonly string[];
  /** All agents. The well-known path shows the card of the first. */
  readonly all: readonly AgentRegistration[];
}

/** The agents that a server serves: one, or several by tenant. */
export type AgentsInput = AgentsGiven &
  ({ readonly agent: Agent } | { readonly agents: Readonly<Record<string, Agent>> });

/** `AgentsInput` before the check that it has `agent` or `agents`. */
export interface AgentsGiven {
  /** The agent that the server serves. */
  readonly agent?: Agent;
  /**
   * Several agents of one endpoint, by tenant. The root shows the first one. Callers of versions without tenants find
   * each at `/{tenant}`.
   */
  readonly agents?: Readonly<Record<string, Agent>>;
  /** With `agent`: the tenants it serves besides the empty one, each with its own tasks. Default: any tenant. */
  readonly tenants?: readonly string[];
}

/** Capabilities that depend on the server alone; the extended card depends on the agent. */
type ServerWired = Omit<ServerCapabilities, "extendedAgentCard">;

/**
 * Checks the agents of a server and their cards.
 *
 * @throws ConfigurationError that names every fault of every agent, card and tenant.
 */
export function registerAgents(input: AgentsGiven, wired: ServerWired): AgentDirectory {
  if (typeof input.agents === "string") {
    throw new ConfigurationError("Invalid agents", ["agents is a text: give an object of agents by tenant"]);
  }
  const faults = shapeFaults(input);
  const several = Object.entries(input.agents ?? {});
  const given: [string, Agent][] = input.agent === undefined ? several : [["", input.agent]];
  const all = given.flatMap(([tenant, agent]) => {
    const place = tenant === "" ? "" : `agents.${tenant}: `;
    const served = registration(tenant, agent, wired);
    faults.push(...served.faults.map((fault) => place + fault));
    return served.agent === undefined ? [] : [served.agent];
  });
  if (faults.length > 0) throw new ConfigurationError("Invalid agents", faults);
  const anyTenant = input.agents === undefined && input.tenants === undefined;
  const knownTenants = anyTenant ? [] : ["", ...(input.tenants ?? Object.keys(input.agents ?? {}))];
  return { all, anyTenant, knownTenants, resolve: resolver(input, all) };
}

function shapeFaults({ agent, agents, tenants }: AgentsGiven): string[] {
  const faults: string[] = [];
  const names = Object.keys(agents ?? {});
  if (agent === undefined && names.length === 0) faults.push("agent is missing: give `agent`, or `agents` by tenant");
  if (agent !== undefined && agents !== undefined) faults.push("agent and agents exclude each other");
  if (agents !== undefined && tenants !== undefined) faults.push("tenants goes with agent: agents has its own tenants");
  if (Array.isArray(agents)) faults.push("agents is a list: give an object of agents by tenant");
  if (tenants !== undefined && !Array.isArray(tenants)) {
    faults.push("tenants is not a list");
    return faults;
  }
  return [...faults, ...firstFaults([...names, ...(tenants ?? [])], tenantFaults)];
}

function registration(
  tenant: string,
  agent: Agent,
  wired: ServerWired,
): { agent?: AgentRegistration; faults: readonly string[] } {
  if (typeof agent?.execute !== "function") return { faults: ["the agent has no function execute"] };
  // A generator has a different constructor; an async function returns no events.
  if (agent.execute.constructor.name === "AsyncFunction") {
    return { faults: ["execute is an async function: write `async *execute(turn)`, which yields events"] };
  }
  if (typeof agent.card !== "object" || agent.card === null) return { faults: ["the agent has no card"] };
  const typos = agentFaults(agent);
  if (typos.length > 0) return { faults: typos };
  // An agent without tasks has no events to send.
  const pushNotifications = wired.pushNotifications && agent.responds !== "message";
  const all: ServerCapabilities = { ...wired, pushNotifications, extendedAgentCard: agent.extendedCard !== undefined };
  const { extendedCard, security } = agent;
  const declared = securityFaultsOf(agent);
  if (declared.length > 0) return { faults: declared };
  const { card, faults: cardFaults } = checkCard(withSecurity(agent.card, security), all);
  const faults = cardFaults.map(placedIn("card"));
  if (extendedCard === undefined) return { agent: { tenant, agent, card }, faults };
  if (typeof extendedCard === "function") {
    const built = (input: ExtendedCard | null): AgentCard | undefined => {
      if (input === undefined || input === null) return undefined;
      if (typeof input !== "object") throw new TypeError("extendedCard() gives a card, or undefined");
      return buildCard(withSecurity(extend(card, input), security), all);
    };
    const forCaller: AgentRegistration["extendedCard"] = (caller) => {
      const input = extendedCard(caller);
      return isPromiseLike(input) ? Promise.resolve(input).then(built) : built(input);
    };
    return { agent: { tenant, agent, card, extendedCard: forCaller }, faults };
  }
  const extended = checkCard(withSecurity(extend(card, extendedCard), security), all);
  // The extended card inherits faults of the public one, so they are reported once.
  const more = extended.faults.filter((fault) => !cardFaults.includes(fault)).map(placedIn("extendedCard"));
  const served: AgentRegistration = { tenant, agent, card, extendedCard: () => clone(AgentCardSchema, extended.card) };
  return { agent: served, faults: [...faults, ...more] };
}

/** Puts the place before faults that begin with the field of a card. */
const placedIn =
  (place: string) =>
  (fault: string): string =>
    fault.startsWith("the card ") ? `${place}: ${fault}` : `${place}.${fault}`;

/** The fields of an agent. */
export const agentFields: readonly string[] = [
  "card",
  "security",
  "responds",
  "remembers",
  "accept",
  "recover",
  "checkOutputModes",
  "extendedCard",
  "execute",
];

/** Faults of an agent's fields. Unknown fields are allowed, unless their name is close to that of a missing field. */
function agentFaults(agent: Agent): string[] {
  const faults: string[] = [];
  const missing = agentFields.filter((field) => !(field in agent));
  for (const name of Object.keys(agent)) {
    const near = agentFields.includes(name) ? undefined : nearest(name, missing);
    if (near !== undefined) faults.push(`the agent's field ${name} is not known: did you mean ${near}?`);
  }
  const { responds = "task", remembers = false, recover = "fail" } = agent;
  if (!["task", "message", "either"].includes(responds)) {
    faults.push(`responds is ${shown(responds)}, not "task", "message" or "either"`);
  }
  const { extendedCard, accept, checkOutputModes = false } = agent;
  faults.push(...aBoolean()("remembers", remembers), ...aBoolean()("checkOutputModes", checkOutputModes));
  if (accept !== undefined && typeof accept !== "function") faults.push("accept is not a function");
  if (extendedCard !== undefined && (extendedCard === null || !["object", "function"].includes(typeof extendedCard))) {
    faults.push("extendedCard is neither a card nor a function");
  }
  if (typeof recover !== "function" && !["fail", "restart"].includes(recover)) {
    faults.push(`recover is ${shown(recover)}, not "fail", "restart" or a function`);
  }
  return faults;
}

/** Faults of an agent's security declaration, and of a card that repeats it. */
function securityFaultsOf({ card, extendedCard, security }: Agent): string[] {
  if (security === undefined) return [];
  const faults = securityFaults(security);
  const { securitySchemes = {}, securityRequirements = [], skills = [] } = card;
  if (Object.keys(securitySchemes).length > 0 || securityRequirements.length > 0) {
    faults.push("card.securitySchemes and card.securityRequirements come from security: leave them out");
  }
  // A function makes the extended card per caller, so its skills are unknown here.
  if (typeof extendedCard === "function") return faults;
  const ids = [...skills, ...(extendedCard?.skills ?? [])].map(({ id }) => id);
  const unknown = Object.keys(security?.skills ?? {}).filter((id) => !ids.includes(id));
  return [...faults, ...unknown.map((id) => `security.skills.${id} is not a skill of the card`)];
}

/**
 * Adds the fields of the extended card to the public one. A protobuf message replaces it, as none of its fields is
 * absent.
 */
function extend(card: AgentCard, extended: AgentCardInput): AgentCardInput {
  if (isMessage(extended)) return extended;
  const { $typeName: _name, $unknown: _unknown, ...fields } = card;
  return { ...fields, ...extended };
}

/**
 * Returns the function that finds an agent by tenant. A single agent takes requests without a tenant, and those with
 * any tenant or one of `tenants`. Several agents take only requests with their own tenant: a request without one is not
 * given to an arbitrary agent (specification 8.3.2).
 */
function resolver({ agents, tenants }: AgentsGiven, all: readonly AgentRegistration[]): AgentDirectory["resolve"] {
  const only = all.length === 1 ? all[0] : undefined;
  const byTenant = new Map(all.map((served) => [served.tenant, served]));
  if (agents !== undefined) return (tenant) => (tenant === "" ? only : byTenant.get(tenant));
  const listed = tenants === undefined ? undefined : new Set(["", ...tenants]);
  return (tenant) => (listed === undefined || listed.has(tenant) ? only : undefined);
}

/** A card with the agent's security declaration (specification 4.4.1, 4.4.5, 4.5). */
function withSecurity(card: AgentCardInput, security: AgentSecurity | undefined): AgentCardInput {
  if (security === undefined) return card;
  const { skills: required, ...declared } = securityCard(security);
  const skills = (card.skills ?? []).map((skill) => {
    const securityRequirements = skill.id === undefined ? undefined : required[skill.id];
    return securityRequirements === undefined ? skill : { ...objectFields(skill), securityRequirements };
  });
  return { ...objectFields(card), ...declared, skills } as AgentCardInput;
}

/** Returns the set fields of a message as a plain object; other inputs unchanged. */
function objectFields<T extends object>(input: T): Omit<T, "$typeName" | "$unknown"> {
  if (!isMessage(input)) return input;
  const { $typeName: _name, $unknown: _unknown, ...fields } = input;
  return fields as unknown as Omit<T, "$typeName" | "$unknown">;
}

/**
 * Forbidden tenants, which would be ambiguous in the path of a request: the literal first segments of the service's
 * routes, such as `tasks`, next to `/{tenant}/tasks`; and the segment that RFC 8615 reserves. `A2A-Version` resolves
 * conflicts with the paths of other versions.
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

/** Returns the reason to reject a tenant, as a sentence that begins with it; none for one that is allowed. */
function tenantFaults(tenant: unknown): string[] {
  if (typeof tenant !== "string") return [`a tenant is ${shown(tenant)}, not a text`];
  if (tenant.trim() === "") return ["a tenant is empty"];
  if (tenant.includes("/")) return [`the tenant ${shown(tenant)} contains a slash`];
  return reservedTenants.has(tenant) ? [`the tenant ${shown(tenant)} is reserved: paths begin with it`] : [];
}
