import { isJsonObject } from "../../wire/json-struct.js";
import { type CardJson, copied, isSet, mapItems, mapValues } from "../card-json.js";
import { requirementsFromV03, schemeFromV03 } from "./card-security.js";

/** Members of a card that 0.3 and 1.0 have alike. */
export const sharedMembers: readonly string[] = [
  "name",
  "description",
  "version",
  "documentationUrl",
  "iconUrl",
  "provider",
  "defaultInputModes",
  "defaultOutputModes",
];

/** Members of a skill that 0.3 and 1.0 have alike. */
const skillMembers = ["id", "name", "description", "tags", "examples", "inputModes", "outputModes"];

const capabilityMembers = ["streaming", "pushNotifications", "extensions"];

/**
 * The JSON of a card of 0.3 or 0.2 as one of 1.0. What is not of the form that it should have is passed on as
 * it is, so that who reads the result finds it. Signatures are left out: they cover the card as it was, and not this one.
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
