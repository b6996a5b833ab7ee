import { isJsonObject } from "../../wire/json-struct.js";
import { type CardJson, copied, isSet, mapItems, mapValues } from "../card-json.js";

/**
 * Security schemes and requirements of cards, between 1.0 and the form of OpenAPI that 0.2 and 0.3 have: a
 * scheme says its `type`, a requirement is a plain map of scopes.
 */

/** A kind of scheme: its member in 1.0, its `type`, and members with another name there: those of 1.0, those of 0.3. */
const kinds: readonly (readonly [member: string, type: string, renamed?: readonly [string, string]])[] = [
  ["apiKeySecurityScheme", "apiKey", ["location", "in"]],
  ["httpAuthSecurityScheme", "http"],
  ["oauth2SecurityScheme", "oauth2"],
  ["openIdConnectSecurityScheme", "openIdConnect"],
  ["mtlsSecurityScheme", "mutualTLS"],
];

/** Flows that both have, in the order in which one of several is kept: 1.0 has one alone. */
const flows = ["authorizationCode", "clientCredentials", "implicit", "password"];

/** Converts a scheme of 0.3 to 1.0; an unknown type becomes a scheme that cannot be satisfied. */
export function schemeFromV03(scheme: unknown): unknown {
  if (!isJsonObject(scheme)) return scheme;
  // ProtoJSON of the 0.3 contract, and union cards, have the members of 1.0 already.
  const given = kinds.find(([member]) => isJsonObject(scheme[member]));
  if (given !== undefined) return { [given[0]]: scheme[given[0]] };
  const kind = kinds.find(([, type]) => type === scheme.type);
  if (kind === undefined) return {};
  const [member, , renamed] = kind;
  const { type: _, ...members } = scheme;
  if (renamed !== undefined) {
    const [to, from] = renamed;
    if (isSet(members[from])) members[to] = members[from];
    delete members[from];
  }
  if (isJsonObject(members.flows)) members.flows = oneFlow(members.flows);
  return { [member]: members };
}

function oneFlow(given: CardJson): CardJson {
  const kept = flows.find((flow) => isJsonObject(given[flow])) ?? "deviceCode";
  return copied(given, [kept]);
}

/** Requirements of 0.3 as 1.0 has them. */
export function requirementsFromV03(security: unknown): unknown {
  return mapItems(security, (requirement) => {
    if (!isJsonObject(requirement)) return requirement;
    // ProtoJSON of the 0.3 contract; a scheme may be called "schemes", and has a list then.
    if (isJsonObject(requirement.schemes)) return requirement;
    return { schemes: mapValues(requirement, (scopes) => ({ list: scopes })) };
  });
}

/** A scheme of 1.0 as 0.3 has it; undefined where 0.3 cannot say it: it has no device flow. */
export function schemeToV03(scheme: unknown): CardJson | undefined {
  const found = kindOf(scheme);
  if (found === undefined) return undefined;
  const { type, value } = found;
  switch (type) {
    case "apiKey": {
      const { location, ...rest } = value;
      return { type, ...rest, in: placeOf(location) };
    }
    case "oauth2": {
      const allowed = isJsonObject(value.flows) ? mapValues(copied(value.flows, flows), flowToV03) : {};
      return Object.keys(allowed as object).length === 0 ? undefined : { type, ...value, flows: allowed };
    }
    default:
      return { type, ...value };
  }
}

/**
 * A scheme in both forms at once, for readers of either: members of a flow that 0.3 lacks are kept, since some readers
 * of 1.0 use the older form if it has a `type`.
 */
export function schemeInBoth(scheme: unknown): unknown {
  const found = kindOf(scheme);
  if (found === undefined) return scheme;
  const { type, value } = found;
  const { location, ...rest } = value;
  return { type, ...rest, ...(type === "apiKey" && { in: placeOf(location) }), ...(scheme as CardJson) };
}

function kindOf(scheme: unknown): { readonly type: string; readonly value: CardJson } | undefined {
  if (!isJsonObject(scheme)) return undefined;
  for (const [member, type] of kinds) {
    const value = scheme[member];
    if (isJsonObject(value)) return { type, value };
  }
  return undefined;
}

const placeOf = (location: unknown): unknown => (location === "query" || location === "cookie" ? location : "header");

function flowToV03(flow: unknown): unknown {
  if (!isJsonObject(flow)) return flow;
  const { pkceRequired: _, ...rest } = flow;
  // Required there, and not written where 1.0 has none.
  return { ...rest, scopes: rest.scopes ?? {} };
}

/**
 * Requirements of 1.0 as 0.3 has them, without the alternatives that name a scheme that 0.3 cannot say. Undefined where nothing is
 * left of them: an empty list would say that no authentication is needed.
 */
export function requirementsToV03(requirements: unknown, schemes: CardJson): unknown[] | undefined {
  const given = Array.isArray(requirements) ? requirements : [];
  const kept = given
    .map((requirement) => (isJsonObject(requirement) ? (requirement.schemes ?? {}) : {}))
    .filter((needed) => Object.keys(needed).every((name) => Object.hasOwn(schemes, name)))
    .map((needed) => mapValues(needed, (scopes) => (isJsonObject(scopes) ? (scopes.list ?? []) : [])));
  return kept.length === 0 && given.length > 0 ? undefined : kept;
}
