import { membersOf } from "../../core/members.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { type CardJson, copied, isSet, mapItems, mapValues } from "../card-json.js";

/**
 * Conversions of a card's security schemes and requirements between 1.0 and the OpenAPI form of 0.2 and 0.3: a scheme
 * has a `type`, and a requirement is a plain map of scopes.
 */

/** A kind of scheme: its member in 1.0, its `type`, and a renamed member with its name in 1.0 and in 0.3. */
const kinds: readonly (readonly [member: string, type: string, renamed?: readonly [string, string]])[] = [
  ["apiKeySecurityScheme", "apiKey", ["location", "in"]],
  ["httpAuthSecurityScheme", "http"],
  ["oauth2SecurityScheme", "oauth2"],
  ["openIdConnectSecurityScheme", "openIdConnect"],
  ["mtlsSecurityScheme", "mutualTLS"],
];

/** Flows that both versions have, by precedence, because 1.0 keeps only one. */
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

/** Converts requirements of 0.3 to 1.0. */
export function requirementsFromV03(security: unknown): unknown {
  return mapItems(security, (requirement) => {
    if (!isJsonObject(requirement)) return requirement;
    // ProtoJSON of the 0.3 contract. A scheme may be called "schemes", but its value is a list.
    if (isJsonObject(requirement.schemes)) return requirement;
    return { schemes: mapValues(requirement, (scopes) => ({ list: scopes })) };
  });
}

/** Converts a scheme of 1.0 to 0.3. Undefined if 0.3 cannot express it, because it lacks the device flow. */
export function schemeToV03(scheme: unknown): CardJson | undefined {
  const found = typedScheme(scheme);
  if (found === undefined) return undefined;
  const { type, value } = found;
  switch (type) {
    case "apiKey": {
      const { location, ...rest } = value;
      return { type, ...rest, in: keyLocation(location) };
    }
    case "oauth2": {
      const allowed = isJsonObject(value.flows) ? mapValues(copied(value.flows, flows), flowToV03) : {};
      return Object.keys(membersOf(allowed)).length === 0 ? undefined : { type, ...value, flows: allowed };
    }
    default:
      return { type, ...value };
  }
}

/**
 * Returns a scheme in both forms at once, for readers of either. Members of a flow that 0.3 lacks are kept, because
 * some readers of 1.0 use the older form if it has a `type`.
 */
export function schemeInBoth(scheme: unknown): unknown {
  const found = typedScheme(scheme);
  if (found === undefined) return scheme;
  const { type, value } = found;
  const { location, ...rest } = value;
  return { type, ...rest, ...(type === "apiKey" && { in: keyLocation(location) }), ...(scheme as CardJson) };
}

function typedScheme(scheme: unknown): { readonly type: string; readonly value: CardJson } | undefined {
  if (!isJsonObject(scheme)) return undefined;
  for (const [member, type] of kinds) {
    const value = scheme[member];
    if (isJsonObject(value)) return { type, value };
  }
  return undefined;
}

const keyLocation = (location: unknown): unknown =>
  location === "query" || location === "cookie" ? location : "header";

function flowToV03(flow: unknown): unknown {
  if (!isJsonObject(flow)) return flow;
  const { pkceRequired: _, ...rest } = flow;
  // 0.3 requires the scopes; 1.0 omits empty ones.
  return { ...rest, scopes: rest.scopes ?? {} };
}

/**
 * Converts requirements of 1.0 to 0.3, without the alternatives that use a scheme that 0.3 cannot express. Undefined if
 * no alternative is left, because an empty list would mean that no authentication is required.
 */
export function requirementsToV03(requirements: unknown, schemes: CardJson): unknown[] | undefined {
  const given = Array.isArray(requirements) ? requirements : [];
  const kept = given
    .map((requirement) => (isJsonObject(requirement) ? (requirement.schemes ?? {}) : {}))
    .filter((needed) => Object.keys(needed).every((name) => Object.hasOwn(schemes, name)))
    .map((needed) => mapValues(needed, (scopes) => (isJsonObject(scopes) ? (scopes.list ?? []) : [])));
  return kept.length === 0 && given.length > 0 ? undefined : kept;
}
