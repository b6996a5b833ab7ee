import type { FoundCard } from "../client/discovery/discovery.js";
import { cardViolations } from "./card-validate.js";
import { type Line, lineOf, type Place } from "./line.js";

export const placeOfCard = ({ url = "" }: FoundCard): Place => ({ binding: "", version: "", url });

/** The rule that a valid card meets. */
export const validRule = {
  name: "card",
  section: "4.4.1",
  requirement: "the card is valid",
  mend: "add or change these members of the card",
};

/** Returns the line of a card's violations. */
export function checkedCard(found: FoundCard): Line {
  const violations = cardViolations(JSON.parse(found.text ?? "{}"));
  const fault = violations.map(({ path, description }) => `${path} ${description}`).join("; ");
  return lineOf(placeOfCard(found), validRule, violations.length === 0 ? undefined : { fault });
}
