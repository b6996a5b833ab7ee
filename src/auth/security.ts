import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../core/members.js";
import { unknownNames } from "../core/options.js";
import type { SecurityScheme } from "./scheme.js";
import type { SecuritySchemeInput } from "./scheme-card.js";

/**
 * A security requirement: schemes by name, each with the required scopes, all of them mandatory; `"bearer"` is short
 * for `{ bearer: [] }`. `{}` admits callers without credentials. Specification 4.5.
 */
export type RequirementInput = string | Readonly<Record<string, readonly string[]>>;

/** Security schemes and requirements of an agent. Specification 4.5, 7.4. */
export interface AgentSecurity {
  /** Ways to authenticate, by the names that cards and requirements use. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /**
   * Requirements, of which a call has to meet one. If it has several schemes, the caller is that of the first scheme,
   * with the scopes and claims of all. Default: any one of the schemes.
   */
  readonly require?: readonly RequirementInput[];
  /**
   * Further requirements for messages to a skill, by the skill's id, and for later ones to the same task. Requires
   * `skillOf`.
   */
  readonly skills?: Readonly<Record<string, SkillSecurity>>;
  /**
   * Returns the id of the skill that a message addresses, or undefined. The protocol has no field for it; the agent and
   * its clients have to agree on one, such as a metadata field. Runs before anything is stored, and again for each
   * message that continues a task.
   */
  readonly skillOf?: (message: Message) => string | undefined;
}

/** Security requirements of a skill. */
export interface SkillSecurity {
  /** Requirements, of which a message has to meet one, in addition to one of the agent's. */
  readonly require: readonly RequirementInput[];
}

/** Required scopes by scheme. */
export type Requirement = Readonly<Record<string, readonly string[]>>;

/** The requirements of an agent, in full. */
export function requirementsOf({ schemes, require }: AgentSecurity): Requirement[] {
  return (require ?? Object.keys(schemes)).map(requirementOf);
}

/** A requirement in full. */
export function requirementOf(input: RequirementInput): Requirement {
  return typeof input === "string" ? { [input]: [] } : input;
}

/** A declaration on the card, as in the specification's JSON. */
interface SecurityCard {
  readonly securitySchemes: Readonly<Record<string, SecuritySchemeInput>>;
  readonly securityRequirements: readonly RequirementCard[];
  /** By the id of the skill. */
  readonly skills: Readonly<Record<string, readonly RequirementCard[]>>;
}

interface RequirementCard {
  readonly schemes: Record<string, { list: string[] }>;
}

/** The fields of a card that come from a declaration. */
export function securityCard(security: AgentSecurity): SecurityCard {
  const { schemes, skills = {} } = security;
  return {
    securitySchemes: Object.fromEntries(Object.entries(schemes).map(([name, { card }]) => [name, card])),
    securityRequirements: requirementsOf(security).map(cardOf),
    skills: Object.fromEntries(
      Object.entries(skills).map(([id, { require }]) => [id, require.map((each) => cardOf(requirementOf(each)))]),
    ),
  };
}

function cardOf(requirement: Requirement): RequirementCard {
  const schemes = Object.entries(requirement).map(([name, scopes]) => [name, { list: [...scopes] }]);
  return { schemes: Object.fromEntries(schemes) };
}

/** Faults of a declaration, as sentences that begin with the place. */
export function securityFaults(security: unknown): string[] {
  const { schemes, require, skills = {}, skillOf } = (security ?? {}) as Partial<AgentSecurity>;
  // Requirements under an unknown name would not be checked.
  const faults = unknownNames("security.", Object.keys(membersOf(security)), known);
  if (typeof schemes !== "object" || schemes === null || Object.keys(schemes).length === 0) {
    return [...faults, "security.schemes is missing: give at least one scheme, by its name"];
  }
  faults.push(...Object.entries(schemes).flatMap(([name, scheme]) => schemeFaults(`security.schemes.${name}`, scheme)));
  if (require !== undefined) faults.push(...requirementFaults("security.require", require, schemes));
  for (const [id, skill] of Object.entries(skills)) {
    const place = `security.skills.${id}.`;
    faults.push(...unknownNames(place, Object.keys(membersOf(skill)), ["require"]));
    faults.push(...requirementFaults(`${place}require`, skill?.require, schemes));
  }
  if (skillOf !== undefined && typeof skillOf !== "function") faults.push("security.skillOf is not a function");
  if (Object.keys(skills).length > 0 && skillOf === undefined) {
    faults.push("security.skills needs security.skillOf: nothing else says which skill a message is for");
  }
  return faults.length > 0 ? faults : sharedNameFaults(namingSchemes({ schemes, ...(require && { require }) }));
}

const known: readonly (keyof AgentSecurity)[] = ["schemes", "require", "skills", "skillOf"];

/** Returns the schemes that name callers: the first one of each requirement. */
export function namingSchemes(security: AgentSecurity): AgentSecurity["schemes"] {
  const first = new Set(requirementsOf(security).map((requirement) => Object.keys(requirement)[0]));
  return Object.fromEntries(Object.entries(security.schemes).filter(([name]) => first.has(name)));
}

function schemeFaults(place: string, scheme: SecurityScheme | undefined): string[] {
  if (typeof scheme?.open !== "function" || !Array.isArray(scheme.faults)) {
    return [`${place} is not a scheme: make it with a function of parley-a2a/auth, such as jwtScheme`];
  }
  return scheme.faults.map((fault: string) => `${place}: ${fault}`);
}

function requirementFaults(place: string, given: unknown, schemes: AgentSecurity["schemes"]): string[] {
  if (!Array.isArray(given)) return [`${place} is not a list`];
  // An empty list would admit all callers, which must not happen by mistake.
  if (given.length === 0) return [`${place} is empty: leave it out for any one of the schemes, or give [{}] for none`];
  return given.flatMap((input: unknown, i) => {
    const requirement = typeof input === "string" ? { [input]: [] } : input;
    if (typeof requirement !== "object" || requirement === null) return [`${place}[${i}] is not a requirement`];
    return Object.entries(requirement).flatMap(([name, scopes]) => {
      if (!Object.hasOwn(schemes, name)) {
        return [`${place}[${i}] names the scheme "${name}", which security.schemes does not declare`];
      }
      const areScopes = Array.isArray(scopes) && scopes.every(isScope);
      return areScopes ? [] : [`${place}[${i}].${name} is not a list of scopes`];
    });
  });
}

/** RFC 6749, 3.3. */
const isScope = (scope: unknown): boolean => typeof scope === "string" && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope);

type Schemes = Readonly<Record<string, SecurityScheme>>;

/**
 * Finds schemes that may give two callers the same name, and so access to each other's tasks: both take names from
 * outside (an issuer, an authority), or one lists a name that the other may take. Returns sentences that begin with the
 * place.
 */
function sharedNameFaults(schemes: Schemes): string[] {
  const all = Object.entries(schemes);
  const namespaces = new Set(all.flatMap(([, scheme]) => scheme.names?.issuer ?? []));
  if (namespaces.size > 1) {
    return [
      `security.schemes has names of several issuers (${[...namespaces].join(", ")}), which may give two subjects the same name: set owner to tell them apart`,
    ];
  }
  return all.flatMap(([name, scheme]) => {
    const { issuer, mayGive = () => true } = scheme.names ?? {};
    if (issuer === undefined) return [];
    return all.flatMap(([other, listing]) => {
      const taken = listing.names?.listed?.find(mayGive);
      if (taken === undefined) return [];
      return `security.schemes.${name}: ${issuer} may give a subject the name ${JSON.stringify(taken)}, which is an owner of ${other}: set owner of ${name} to tell them apart`;
    });
  });
}

/** Names that two schemes list: one owner, possibly on purpose. */
export function sharedNameWarnings(schemes: Schemes): string[] {
  const all = Object.entries(schemes).map(([name, { names }]) => [name, new Set(names?.listed)] as const);
  return all.flatMap(([name, owners], i) =>
    all.slice(i + 1).flatMap(([other, others]) => {
      const shared = [...owners].filter((owner) => others.has(owner));
      if (shared.length === 0) return [];
      const more = shared.length > 1 ? ` and ${shared.length - 1} more` : "";
      return `the schemes ${name} and ${other} both have the owner ${JSON.stringify(shared[0])}${more}: the credentials of either give access to the same tasks`;
    }),
  );
}
