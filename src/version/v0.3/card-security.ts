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

/** A scheme of 0.3 as 1.0 has it; of an unknown type it is one that nobody can satisfy. */
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
