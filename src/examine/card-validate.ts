import { reflect } from "@bufbuild/protobuf/reflect";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { missingFields } from "../card/required.js";
import { valueFaults } from "../card/rules.js";
import { membersOfCard } from "../card/signing/canonical.js";
import type { FoundCard } from "../client/discovery/discovery.js";
import { A2AError } from "../core/error.js";
import { isOlderMember, olderCard } from "../version/card-from-older.js";
import { jsonReader } from "../wire/json-reader.js";
import { isJsonObject } from "../wire/json-struct.js";
import { type Line, lineOf, type Subject } from "./check.js";

/** One way in which a card violates the specification. */
export interface CardViolation {
  /** JSON pointer (RFC 6901) into the card. */
  readonly path: string;
  readonly description: string;
}

/**
 * Returns everything in which a card violates the specification: unknown and missing members, and values. A card of an
 * older version is checked as the card of 1.0 that it means, and members for older clients are allowed.
 */
export function cardViolations(given: unknown): readonly CardViolation[] {
  if (!isJsonObject(given)) return [{ path: "", description: "is not a JSON object" }];
  const json = given.supportedInterfaces === undefined ? (olderCard(given) ?? given) : given;
  try {
    const card = jsonReader(AgentCardSchema)(structuredClone(json));
    const faults = [
      ...missingFields(reflect(AgentCardSchema, card)),
      ...(card.supportedInterfaces.length === 0 ? ["supportedInterfaces is empty"] : []),
      ...(card.skills.length === 0 ? ["skills is empty"] : []),
      // The rules are for cards that a server signs itself.
      ...valueFaults({ ...card, signatures: [] }),
    ];
    const { unknown } = membersOfCard(json);
    const extra = unknown.filter((place) => typeof given.url !== "string" || !isOlderMember(place));
    return [
      ...extra.map((place) => ({ path: pointer(place), description: "is not known to A2A 1.0" })),
      ...faults.map(violationIn),
    ];
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return error.violations.map(({ field, description }) => ({ path: pointer(field), description }));
  }
}

/** Splits a sentence that begins with its place. */
function violationIn(fault: string): CardViolation {
  const at = fault.indexOf(" ");
  return { path: pointer(fault.slice(0, at)), description: fault.slice(at + 1) };
}

/** Converts a place such as `skills[0].tags` to a JSON pointer. */
function pointer(place: string): string {
  if (place === "") return "";
  const names = place.replaceAll(/\[(\d+)\]/g, ".$1").split(".");
  return `/${names.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`;
}

export const subjectOfCard = ({ url = "" }: FoundCard): Subject => ({ binding: "", version: "", url });

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
  return lineOf(subjectOfCard(found), validRule, violations.length === 0 ? undefined : { fault });
}
