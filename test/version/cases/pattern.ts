import type { JsonValue } from "@bufbuild/protobuf";
import type { Pattern } from "./case.js";

/**
 * Meaning of a pattern. An object: each of its members has to fit, others are allowed. A list: the same length, item by
 * item. Strings, numbers, booleans and null: equal. Strings that begin with `$` are one of the words below.
 */

/** Differences of a value from a pattern whose variables are filled in; empty if it fits. */
export function faults(value: JsonValue | undefined, pattern: Pattern, path = ""): string[] {
  if (typeof pattern === "string" && pattern.startsWith("$")) return wordFaults(value, pattern, path);
  if (Array.isArray(pattern)) return listFaults(value, pattern, path);
  if (typeof pattern !== "object" || pattern === null) {
    return value === pattern ? [] : [`${at(path)} is ${show(value)} instead of ${show(pattern)}`];
  }
  const names = Object.keys(pattern);
  if (names.some((name) => name.startsWith("$"))) return operatorFaults(value, pattern, path);
  if (!isObject(value)) return [`${at(path)} is no object: ${show(value)}`];
  return names.flatMap((name) =>
    faults(own(value, name), pattern[name] as Pattern, path === "" ? name : `${path}.${name}`),
  );
}

/** Differences of a stream's events from a list of patterns. Each `$zeroOrMore` stands for any number of events. */
export function eventFaults(events: readonly JsonValue[], patterns: readonly Pattern[]): string[] {
  // The differences at the furthest match are the most useful.
  let [furthest, found] = [-1, ["the stream has no events"]];
  const note = (at: number, faultsThere: string[]): false => {
    if (at > furthest) [furthest, found] = [at, faultsThere];
    return false;
  };
  const fits = (event: number, place: number): boolean => {
    const pattern = patterns[place];
    if (pattern === undefined) {
      return event === events.length || note(event, [`event ${event} is too many: ${show(events[event])}`]);
    }
    const repeated = isObject(pattern) ? pattern.$zeroOrMore : undefined;
    if (repeated !== undefined && fits(event, place + 1)) return true;
    if (event === events.length) return note(event, [`there is no event ${event}; expected: ${show(pattern)}`]);
    const wrong = faults(events[event], repeated ?? pattern, `event ${event}`);
    if (wrong.length > 0) return note(event, wrong);
    return fits(event + 1, repeated === undefined ? place + 1 : place);
  };
  return fits(0, 0) ? [] : found;
}

const isString = (value: JsonValue | undefined): value is string => typeof value === "string";

const words: Readonly<Record<string, (value: JsonValue | undefined) => boolean>> = {
  $string: (value) => isString(value) && value !== "",
  $uuid: (value) => isString(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value),
  $iso8601: (value) => isString(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/.test(value),
  $int: (value) => Number.isInteger(value),
  $bool: (value) => typeof value === "boolean",
  $array: (value) => Array.isArray(value),
  $object: isObject,
  $any: (value) => value !== undefined,
  "$any?": () => true,
  $absent: (value) => value === undefined,
};

function wordFaults(value: JsonValue | undefined, word: string, path: string): string[] {
  const fits = words[word];
  if (fits === undefined) throw new Error(`The pattern has an unknown word: ${word}`);
  return fits(value) ? [] : [`${at(path)} is ${show(value)} instead of ${word}`];
}

type Operator = (value: JsonValue | undefined, operand: Pattern, path: string) => string[];

const operators: Readonly<Record<string, Operator>> = {
  $oneOf: (value, operand, path) => {
    const found = list(operand).map((each) => faults(value, each, path));
    return found.some((each) => each.length === 0) ? [] : [`${at(path)} is ${show(value)}, none of ${show(operand)}`];
  },
  $not: (value, operand, path) =>
    value !== undefined && faults(value, operand, path).length > 0
      ? []
      : [`${at(path)} is ${show(value)}, which it should not be`],
  $startsWith: (value, operand, path) =>
    isString(value) && value.startsWith(`${operand}`) ? [] : [`${at(path)} is ${show(value)}, not ${operand}...`],
  $contains: (value, operand, path) =>
    isString(value) && value.includes(`${operand}`) ? [] : [`${at(path)} is ${show(value)}, without ${operand}`],
  $matches: (value, operand, path) =>
    isString(value) && new RegExp(`${operand}`).test(value)
      ? []
      : [`${at(path)} is ${show(value)}, not like ${operand}`],
  $each: (value, operand, path) => {
    if (!Array.isArray(value) || value.length === 0) return [`${at(path)} is ${show(value)} instead of a list`];
    return value.flatMap((item, i) => faults(item, operand, `${path}[${i}]`));
  },
  $includes: (value, operand, path) => {
    const items = Array.isArray(value) ? value : [];
    const missing = list(operand).filter((each) => !items.some((item) => faults(item, each).length === 0));
    return missing.map((each) => `${at(path)} is ${show(value)}, without ${show(each)}`);
  },
  $length: (value, operand, path) =>
    Array.isArray(value) && value.length === operand ? [] : [`${at(path)} is ${show(value)}, not ${operand} items`],
};

function operatorFaults(value: JsonValue | undefined, pattern: { [name: string]: Pattern }, path: string): string[] {
  const [entry, ...others] = Object.entries(pattern);
  const operator = entry === undefined ? undefined : operators[entry[0]];
  if (entry === undefined || operator === undefined || others.length > 0) {
    throw new Error(`The pattern has an unknown operator: ${show(pattern)}`);
  }
  return operator(value, entry[1], path);
}

function listFaults(value: JsonValue | undefined, pattern: readonly Pattern[], path: string): string[] {
  if (!Array.isArray(value)) return [`${at(path)} is no list: ${show(value)}`];
  if (value.length !== pattern.length) {
    return [`${at(path)} has ${value.length} items instead of ${pattern.length}: ${show(value)}`];
  }
  return pattern.flatMap((item, i) => faults(value[i], item, `${path}[${i}]`));
}

function list(operand: Pattern): readonly Pattern[] {
  if (!Array.isArray(operand)) throw new Error(`The pattern has no list: ${show(operand)}`);
  return operand;
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const own = (value: { [name: string]: JsonValue }, name: string): JsonValue | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined;
const at = (path: string): string => (path === "" ? "the whole" : path);
const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 600) ?? "absent";
