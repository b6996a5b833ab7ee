import { CONNECT_BINDING } from "../../wire/card-names.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { setOwn } from "../../wire/json-value.js";
import { parseVersion } from "../../wire/service-params.js";
import { type CardJson, copied, isSet, mapItems, mapValues } from "../card-json.js";
import type { CardConversions } from "../version.js";
import { requirementsFromV03, requirementsToV03, schemeFromV03, schemeInBoth, schemeToV03 } from "./card-security.js";

/** Members of a card that are equal in 0.3 and 1.0. */
const sharedMembers: readonly string[] = [
  "name",
  "description",
  "version",
  "documentationUrl",
  "iconUrl",
  "provider",
  "defaultInputModes",
  "defaultOutputModes",
];

/** Members of a skill that are equal in 0.3 and 1.0. */
const skillMembers = ["id", "name", "description", "tags", "examples", "inputModes", "outputModes"];

const capabilityMembers = ["streaming", "pushNotifications", "extensions"];

/**
 * Converts the JSON of a card of 0.3 or 0.2 to 1.0. Malformed members are passed on unchanged, so that the reader of
 * the result reports them. Signatures are left out, because they cover the original card.
 *
 * @param version `Major.Minor` of its interfaces
 */
export function cardFromV03(card: CardJson, version: string): CardJson {
  const capabilities = isJsonObject(card.capabilities) ? copied(card.capabilities, capabilityMembers) : {};
  if (isSet(card.supportsAuthenticatedExtendedCard)) {
    capabilities.extendedAgentCard = card.supportsAuthenticatedExtendedCard;
  }
  const read: Record<string, unknown> = {
    ...copied(card, sharedMembers),
    supportedInterfaces: interfacesFromV03(card, version),
    capabilities,
  };
  if (isSet(card.securitySchemes)) read.securitySchemes = mapValues(card.securitySchemes, schemeFromV03);
  if (isSet(card.security)) read.securityRequirements = requirementsFromV03(card.security);
  if (isSet(card.skills)) read.skills = mapItems(card.skills, skillFromV03);
  return read;
}

function skillFromV03(skill: unknown): unknown {
  if (!isJsonObject(skill)) return skill;
  const read = copied(skill, skillMembers);
  if (isSet(skill.security)) read.securityRequirements = requirementsFromV03(skill.security);
  return read;
}

/** The main interface first; it is often repeated among the others. */
function interfacesFromV03({ url, preferredTransport, additionalInterfaces }: CardJson, version: string): unknown {
  const main = { url, protocolBinding: isSet(preferredTransport) ? preferredTransport : "JSONRPC" };
  const others = Array.isArray(additionalInterfaces) ? additionalInterfaces.filter(isJsonObject) : [];
  return [
    ...(isSet(url) ? [main] : []),
    ...others
      .map((each) => ({ url: each.url, protocolBinding: each.transport }))
      .filter((each) => each.url !== main.url || each.protocolBinding !== main.protocolBinding),
  ].map((each) => ({ ...each, protocolVersion: version }));
}

/**
 * Converts the JSON of a card of 1.0 to 0.3 (or, by `version`, to 0.2), without signatures, which cover another
 * document. Undefined if that version cannot express the card: it has no interface without a tenant, or none of its
 * security alternatives.
 *
 * @param version `Major.Minor` of the listed interfaces
 */
export function cardToV03(card: CardJson, version: string): CardJson | undefined {
  const interfaces = interfacesToV03(card.supportedInterfaces, version);
  const [main] = interfaces;
  const converted = securityToV03(card);
  if (main === undefined || converted === undefined) return undefined;
  const capabilities = isJsonObject(card.capabilities) ? card.capabilities : {};
  return {
    protocolVersion: `${version}.0`,
    ...copied(card, sharedMembers),
    url: main.url,
    preferredTransport: main.transport,
    additionalInterfaces: interfaces,
    capabilities: copied(capabilities, capabilityMembers),
    ...converted,
    ...(isSet(capabilities.extendedAgentCard) && { supportsAuthenticatedExtendedCard: capabilities.extendedAgentCard }),
  };
}

/** JSON-RPC first: clients that read only `url` speak it. Older clients do not support Connect. */
function interfacesToV03(supported: unknown, version: string): { url: unknown; transport: unknown }[] {
  const all = (Array.isArray(supported) ? supported : []).filter(isJsonObject);
  const served = all
    .filter((each) => parseVersion(String(each.protocolVersion ?? "")) === version && (each.tenant ?? "") === "")
    .filter(({ protocolBinding }) => protocolBinding !== CONNECT_BINDING)
    .map(({ url, protocolBinding }) => ({ url, transport: protocolBinding }));
  const isMain = ({ transport }: { transport: unknown }): boolean => transport === "JSONRPC";
  return [...served.filter(isMain), ...served.filter((each) => !isMain(each))];
}

/** Converts the schemes, the requirements, and the skills, which have requirements of their own. */
function securityToV03(card: CardJson): CardJson | undefined {
  const schemes: Record<string, unknown> = {};
  for (const [name, scheme] of Object.entries(isJsonObject(card.securitySchemes) ? card.securitySchemes : {})) {
    const converted = schemeToV03(scheme);
    if (converted !== undefined) setOwn(schemes, name, converted);
  }
  const security = requirementsToV03(card.securityRequirements, schemes);
  const skills = (Array.isArray(card.skills) ? card.skills : []).map((skill) => skillToV03(skill, schemes));
  if (security === undefined || skills.includes(undefined)) return undefined;
  return {
    ...(Object.keys(schemes).length > 0 && { securitySchemes: schemes }),
    ...(security.length > 0 && { security }),
    skills,
  };
}

function skillToV03(skill: CardJson, schemes: CardJson): CardJson | undefined {
  const security = requirementsToV03(skill.securityRequirements, schemes);
  if (security === undefined) return undefined;
  return { ...copied(skill, skillMembers), ...(security.length > 0 && { security }) };
}

/**
 * Returns one card for clients of both 1.0 and 0.3, each of which reads its own members. Members with the same name
 * have the same meaning, and schemes have both forms. Undefined if 0.3 cannot express the card.
 */
export function cardInBoth(card: CardJson): CardJson | undefined {
  const older = cardToV03(card, "0.3");
  if (older === undefined) return undefined;
  const { securitySchemes } = card;
  const skills = (older.skills as readonly CardJson[]).map((skill, i) => ({
    ...skill,
    ...(card.skills as readonly CardJson[])[i],
  }));
  return {
    ...older,
    ...card,
    ...(isSet(securitySchemes) && { securitySchemes: mapValues(securitySchemes, schemeInBoth) }),
    skills,
  };
}

/** The cards of 0.3 that a server shows. */
export const cards: CardConversions = { convert: (card) => cardToV03(card, "0.3"), inBoth: cardInBoth };
