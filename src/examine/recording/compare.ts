import type { JsonValue } from "@bufbuild/protobuf";
import { diffArrays } from "diff";
import { isJsonObject } from "../../wire/json-struct.js";
import type { RecordedAnswer, RecordedPart } from "./answer.js";
import type { Clean } from "./format.js";

/** Changed lines beyond which two answers count as wholly different. The time of a comparison grows with their square. */
const MAX_CHANGES = 1_000;

/**
 * Maximum number of lines of a part that are compared one by one. The rest counts as one line, because there may be
 * millions.
 */
const MAX_LINES = 100_000;

export interface ComparisonRules {
  /** True to compare states, names and kinds of parts, but not their content. */
  readonly isShape: boolean;
  /** Removes the values from the new answer that were removed from the recorded one. */
  readonly clean: Clean;
}

/** Returns the lines that differ between a recorded and a new answer, see `differences`. */
export function compareAnswers(
  before: RecordedAnswer,
  after: RecordedAnswer,
  { isShape, clean }: ComparisonRules,
): readonly string[] {
  return differences(linesOf(before, isShape), linesOf(after, isShape).map(clean));
}

/** Returns the lines of both sides with their marks: gone (-), new (+) and unchanged; empty if they are the same. */
export function differences(before: readonly string[], after: readonly string[]): readonly string[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: MAX_CHANGES });
  if (changes === undefined) return [...before.map((line) => `  - ${line}`), ...after.map((line) => `  + ${line}`)];
  if (changes.every(({ added, removed }) => !added && !removed)) return [];
  return changes.flatMap(({ added, removed, value }) =>
    value.map((line) => `  ${added ? "+" : removed ? "-" : " "} ${line}`),
  );
}

/** Returns an answer as lines for a comparison, with its artifacts by name. @param isShape true to leave out what texts, data and files hold */
export function linesOf({ state, message, artifacts, error }: RecordedAnswer, isShape: boolean): readonly string[] {
  if (error !== null) return [`Error: ${error}`];
  const parts = (all: readonly RecordedPart[]): string[] => all.flatMap((part) => partLines(part, isShape));
  const byName = artifacts.toSorted((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
  return [
    ...(state === null ? [] : [`State: ${state}`]),
    ...(message.length === 0 ? [] : ["Message:", ...parts(message)]),
    ...byName.flatMap(({ name, parts: own }) => [`Artifact ${JSON.stringify(name)}:`, ...parts(own)]),
  ];
}

function partLines(part: RecordedPart, isShape: boolean): string[] {
  if ("text" in part || "data" in part) {
    const { mediaType = "" } = part;
    const kind = `  (${"text" in part ? "text" : "data"})${mediaType && ` ${mediaType}`}`;
    if (isShape) return [kind];
    const content = "text" in part ? part.text : JSON.stringify(sorted(withoutFormId(part.data)), null, 2);
    const lines = linesIn(content).map((line) => `  ${line}`);
    return mediaType === "" ? lines : [kind, ...lines];
  }
  const { name, mediaType, ...content } = part;
  return [`  (file) ${JSON.stringify(name)} ${mediaType}${isShape ? "" : ` ${JSON.stringify(content)}`}`];
}

function linesIn(text: string): string[] {
  const lines = text.split("\n", MAX_LINES);
  if (lines.length < MAX_LINES) return lines;
  const rest = text.slice(lines.reduce((sum, { length }) => sum + length + 1, 0));
  return rest === "" ? lines : [...lines, rest];
}

/** Sorts the members, whose order does not matter. */
function sorted(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(sorted);
  if (!isJsonObject(json)) return json;
  const members = Object.entries(json).map(([name, value]) => [name, sorted(value)] as const);
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The id of a form differs each time. */
function withoutFormId(data: JsonValue): JsonValue {
  if (!isJsonObject(data) || data.type !== "form") return data;
  const { id: _, ...rest } = data;
  return rest as JsonValue;
}
