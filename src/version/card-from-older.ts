import { isJsonObject } from "../wire/json-struct.js";
import { parseVersion } from "../wire/service-params.js";
import { type CardJson, isSet } from "./card-json.js";
import { cardFromV01 } from "./v0.1/card.js";
import { cardFromV03 } from "./v0.3/card.js";

/** Members that no card of 0.1 has. */
const sinceV02 = [
  "securitySchemes",
  "security",
  "supportsAuthenticatedExtendedCard",
  "preferredTransport",
  "additionalInterfaces",
  "iconUrl",
  "signatures",
];

/** Members that every card since 0.2 has. */
const inEveryV02 = ["description", "defaultInputModes", "defaultOutputModes"];

/**
 * Converts the JSON of a card before 1.0 to 1.0, with the version in its interfaces; undefined if it does not look like
 * such a card. A card without a version is of 0.2 unless it has members of 0.1 only, or lacks members that all of 0.2
 * have; the two are not always distinguishable. The form is not validated: the reader of 1.0 cards does that.
 */
export function olderCard(card: CardJson): CardJson | undefined {
  if (typeof card.url !== "string") return undefined;
  if (typeof card.protocolVersion === "string" && card.protocolVersion.trim() !== "") {
    const version = parseVersion(card.protocolVersion) ?? card.protocolVersion.slice(0, 32);
    return version === "0.1" ? cardFromV01(card) : cardFromV03(card, version);
  }
  return isOfV01(card) ? cardFromV01(card) : cardFromV03(card, "0.2");
}

/**
 * True for the place of a member that cards before 1.0 have, such as `url` or `skills[0].security`. A card for clients of
 * both has them beside its own.
 */
export function isOlderMember(place: string): boolean {
  return /^(?:protocolVersion|url|authentication|supportsAuthenticatedExtendedCard|preferredTransport|additionalInterfaces|security|skills\[\d+\]\.security|securitySchemes\..+)$/.test(
    place,
  );
}

function isOfV01(card: CardJson): boolean {
  const has = (name: string): boolean => isSet(card[name]);
  if (sinceV02.some(has) || (isJsonObject(card.capabilities) && isSet(card.capabilities.extensions))) return false;
  // Libraries of 0.1 write null for absent values; those of 0.2 lack the member.
  if ("authentication" in card || !inEveryV02.every(has)) return true;
  if (Array.isArray(card.skills) && card.skills.some(lacksMembersOfV02)) return true;
  return [card.defaultInputModes, card.defaultOutputModes].some(
    (modes) => Array.isArray(modes) && modes.includes("text"),
  );
}

/** Members that every skill of 0.2 must have. */
const lacksMembersOfV02 = (skill: unknown): boolean =>
  isJsonObject(skill) && !(isSet(skill.description) && isSet(skill.tags));
