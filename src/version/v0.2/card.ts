import { membersOf } from "../../core/members.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { type CardJson, mapItems, mapValues } from "../card-json.js";
import { cardToV03 } from "../v0.3/card.js";
import type { CardConversions } from "../version.js";

/** The last release of 0.2. Earlier ones ignored the member. */
const RELEASE = "0.2.6";

/**
 * Converts the JSON of a card of 1.0 to 0.2, whose clients read only `url` and use JSON-RPC. A scheme of mutual TLS
 * stays, although 0.2 does not define it, because leaving it out would hide a requirement. Undefined if `cardToV03`
 * returns undefined.
 */
export function cardToV02(card: CardJson): CardJson | undefined {
  const converted = cardToV03(card, "0.2");
  if (converted === undefined || converted.preferredTransport !== "JSONRPC") return undefined;
  const { securitySchemes, skills, capabilities } = converted;
  return {
    ...converted,
    protocolVersion: RELEASE,
    capabilities: { ...membersOf(capabilities), stateTransitionHistory: false },
    ...(securitySchemes !== undefined && { securitySchemes: mapValues(securitySchemes, schemeToV02) }),
    skills: mapItems(skills, skillToV02),
  };
}

function schemeToV02(scheme: unknown): unknown {
  if (!isJsonObject(scheme)) return scheme;
  const { oauth2MetadataUrl: _, ...rest } = scheme;
  return rest;
}

function skillToV02(skill: unknown): unknown {
  if (!isJsonObject(skill)) return skill;
  const { security: _, ...rest } = skill;
  return rest;
}

/** The cards of 0.2 that a server shows. */
export const cards: CardConversions = { convert: cardToV02 };
