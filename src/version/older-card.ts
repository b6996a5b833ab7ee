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
 * The JSON of a card before 1.0 as one of 1.0, whose interfaces say the version; undefined for what looks like no such card. One that
 * does not name its version is of 0.2 unless it has what only cards of 0.1 had, or lacks what all of 0.2 had: the two cannot always be told.
 * Nothing of its form is checked: what does not fit is passed on for the reader of 1.0 cards.
 */
export function olderCard(card: CardJson): CardJson | undefined {
  if (typeof card.url !== "string") return undefined;
  if (typeof card.protocolVersion === "string" && card.protocolVersion.trim() !== "") {
    const version = parseVersion(card.protocolVersion) ?? card.protocolVersion.slice(0, 32);
    return version === "0.1" ? cardFromV01(card) : cardFromV03(card, version);
  }
  return isOfV01(card) ? cardFromV01(card) : cardFromV03(card, "0.2");
}

function isOfV01(card: CardJson): boolean {
  const has = (name: string): boolean => isSet(card[name]);
  if (sinceV02.some(has) || (isJsonObject(card.capabilities) && isSet(card.capabilities.extensions))) return false;
  // Libraries of 0.1 wrote null for what is not there, and those of 0.2 had no such member.
  if ("authentication" in card || !inEveryV02.every(has)) return true;
  if (Array.isArray(card.skills) && card.skills.some(lacksMembersOfV02)) return true;
  return [card.defaultInputModes, card.defaultOutputModes].some(
    (modes) => Array.isArray(modes) && modes.includes("text"),
  );
}

/** Each skill of 0.2 has to have them. */
const lacksMembersOfV02 = (skill: unknown): boolean =>
  isJsonObject(skill) && !(isSet(skill.description) && isSet(skill.tags));
