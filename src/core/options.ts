import { isRecord, membersOf } from "./members.js";
import { withoutSecrets } from "./net.js";

/**
 * Returns the faults of an option's value, as sentences that begin with the option's name. Options from plain JavaScript
 * may have values of any type.
 */
export type OptionCheck = (name: string, value: unknown) => readonly string[];

/** The check of each option of a type: a missing or an unknown one does not compile. */
export type OptionChecks<T extends object = Readonly<Record<string, unknown>>> = {
  readonly [K in keyof T]-?: OptionCheck;
};

/**
 * Returns the first faults of options: missing ones, unknown names, and values that fail their checks. Undefined is the
 * same as omitted.
 *
 * @param place what precedes the names, such as `limits.`
 */
export function optionFaults(
  options: unknown,
  checks: OptionChecks,
  place = "",
  required: readonly string[] = [],
): string[] {
  const members = membersOf(options);
  let at = place.slice(0, -1) || "the options";
  // Without options, those that are required are missing.
  const areNone = options === undefined || (options === null && required.length > 0);
  if (!areNone && (!isRecord(options) || Array.isArray(options))) {
    return [`${at} ${place === "" ? "are" : "is"} ${typeName(options)}, not an object`];
  }
  try {
    return firstFaults(new Set([...required, ...Object.keys(members)]), (name) => {
      at = place + name;
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined) return [unknownName(place || "the option ", name, Object.keys(checks))];
      const value = members[name];
      if (value !== undefined) return check(at, value);
      return required.includes(name) ? [`${at} is missing`] : [];
    });
  } catch {
    // A getter or a proxy may throw anything.
    return [`${at} cannot be read`];
  }
}

/**
 * Checks the options of a function, with `optionFaults`.
 *
 * @param what name of the function, written before the faults
 * @throws TypeError that names every fault
 */
export function assertOptions(
  what: string,
  options: unknown,
  checks: OptionChecks,
  required: readonly string[] = [],
): void {
  const faults = optionFaults(options, checks, "", required);
  if (faults.length > 0) throw new TypeError(`${what}: ${faults.join("; ")}.`);
}

/** Returns the options that are not undefined, for the defaults below them. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Formats a value for an error text, without the secrets of URLs. Texts are quoted, because "8080" is not 8080. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(withoutSecrets(value));
  return isRecord(value) ? typeName(value) : String(value);
}

/** Names the type of a value that may be a secret. */
export function typeName(value: unknown): string {
  if (typeof value === "string") return value === "" ? "an empty text" : "a text";
  if (Array.isArray(value)) return "a list";
  return value === null ? "null" : `a value of type ${typeof value}`;
}

/**
 * Checks a value by a predicate.
 *
 * @param show formats the value: `typeName` if it may be a secret
 */
export function expects(
  what: string,
  isRight: (value: unknown) => boolean,
  show: (value: unknown) => string = shown,
): OptionCheck {
  return (name, value) => (isRight(value) ? [] : [`${name} is ${show(value)}, not ${what}`]);
}

/** Checks a value by a function that returns the rest of the sentence about its fault. */
export function judged(faultOf: (value: unknown) => string | undefined): OptionCheck {
  return (name, value) => {
    const fault = faultOf(value);
    return fault === undefined ? [] : [`${name} ${fault}`];
  };
}

export function anything(): OptionCheck {
  return () => [];
}

export function aWholeNumber(min: number, max: number): OptionCheck {
  const isRight = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return expects(`a whole number from ${min} to ${max}`, isRight);
}

export function aBoolean(): OptionCheck {
  return expects("true or false", (value) => typeof value === "boolean");
}

/** A text, optionally one that meets a condition. */
export function aText(what = "a text", isRight: (text: string) => boolean = () => true): OptionCheck {
  return expects(what, (value) => typeof value === "string" && isRight(value));
}

/** A text that may be a secret. */
export function aSecret(): OptionCheck {
  return expects("a non-empty text", (value) => typeof value === "string" && value !== "", typeName);
}

export function aFunction(): OptionCheck {
  return expects("a function", (value) => typeof value === "function");
}

export function oneOf(choices: readonly unknown[]): OptionCheck {
  const [rest, last] = [choices.slice(0, -1).map(shown).join(", "), shown(choices.at(-1))];
  return expects(rest === "" ? last : `${rest} or ${last}`, (value) => choices.includes(value));
}

/** An object with these functions. */
export function havingFunctions(...names: readonly string[]): OptionCheck {
  return (option, value) => {
    const missing = names.filter((name) => typeof membersOf(value)[name] !== "function");
    return missing.length === 0 ? [] : [`${option} has no function ${missing.join(", ")}`];
  };
}

/** A value that a predicate accepts, or one that passes the check. */
export function unless(isRight: (value: unknown) => boolean, check: OptionCheck): OptionCheck {
  return (name, value) => (isRight(value) ? [] : check(name, value));
}

export function aLogger(): OptionCheck {
  return havingFunctions("debug", "info", "warn", "error");
}

export function listOf(check: OptionCheck, mayBeEmpty = false, what = "a list"): OptionCheck {
  return (name, value) => {
    if (!Array.isArray(value)) return [`${name} is ${typeName(value)}, not ${what}`];
    if (value.length === 0 && !mayBeEmpty) return [`${name} is empty`];
    return firstFaults(value.entries(), ([i, each]) => check(`${name}[${i}]`, each));
  };
}

/** An object, of any members. */
export function anObject(): OptionCheck {
  // The names are read because those of a proxy may throw.
  return expects("an object", (value) => typeof value === "object" && value !== null && !!Object.keys(value), typeName);
}

/** An object of options with checks of their own. */
export function anObjectOf(
  checks: OptionChecks,
  required: readonly string[] = [],
  what = "an object of options",
): OptionCheck {
  return (name, value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? optionFaults(value, checks, `${name}.`, required)
      : [`${name} is ${typeName(value)}, not ${what}`];
}

/** Returns the checks of options with the names of these, such as limits with defaults. */
export function checksOf(options: object, checkOf: (name: string) => OptionCheck): OptionChecks {
  return Object.fromEntries(Object.keys(options).map((name) => [name, checkOf(name)]));
}

/** Maximum number of members that a description names. */
const MAX_MEMBERS = 10;

/** Maximum number of characters of a name in a description. */
const MAX_NAME = 40;

/**
 * Describes a value by its type and the names of its members, such as `an object with the members kind and text`. The values
 * of members never appear, because they may be secrets. Safe for values that throw when they are read.
 */
export function described(value: unknown): string {
  try {
    return describe(value);
  } catch {
    return "an object that cannot be read";
  }
}

function describe(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return value === "" ? "an empty text" : `a text of ${value.length} characters`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list that begins with ${first(value[0])}`;
  const type: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  const kind = typeof type === "string" && type !== "" && type !== "Object" ? `a value of ${short(type)}` : "an object";
  const names = Object.keys(value);
  if (names.length === 0) return kind === "an object" ? "an object without members" : kind;
  const shown = names.slice(0, MAX_MEMBERS).map(short).join(", ");
  return `${kind} with the members ${shown}${names.length > MAX_MEMBERS ? ", …" : ""}`;
}

/** Describes the first element without its own contents. */
function first(value: unknown): string {
  return Array.isArray(value) ? "a list" : describe(value);
}

function short(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
  const plain = name.replace(/[\u0000-\u001f\u007f-\u009f]/g, "");
  return plain.length <= MAX_NAME ? plain : `${plain.slice(0, MAX_NAME)}…`;
}

/** Maximum edit distance between a name and the known name suggested for it. */
const MAX_OFF = 3;

/** Maximum number of faults that an error names. */
const MAX_FAULTS = 10;

/** Returns the faults of the first wrong items, and `…` if there may be more. The others are not checked. */
export function firstFaults<T>(items: Iterable<T>, faultsOf: (item: T) => readonly string[]): string[] {
  const faults: string[] = [];
  for (const item of items) {
    faults.push(...faultsOf(item));
    if (faults.length > MAX_FAULTS) return [...faults.slice(0, MAX_FAULTS), "…"];
  }
  return faults;
}

/** Describes the first unknown names, as `unknownName` does. */
export function unknownNames(what: string, names: Iterable<string>, known: readonly string[]): string[] {
  return firstFaults(names, (name) => (known.includes(name) ? [] : [unknownName(what, name, known)]));
}

/** Describes an unknown name and suggests the nearest known one, if one is near. */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `${what}${name} is not known${near === undefined ? "" : `: did you mean ${near}?`}`;
}

/**
 * Returns the known name nearest to a name, or undefined if none is near.
 *
 * @param maxOff maximum edit distance
 */
export function nearest(name: string, known: readonly string[], maxOff: number = MAX_OFF): string | undefined {
  const offs = known.map((each) => [distance(name.toLowerCase(), each.toLowerCase()), each] as const);
  const [off, near] = offs.sort(([a], [b]) => a - b)[0] ?? [];
  return off !== undefined && off <= Math.min(maxOff, name.length / 2) ? near : undefined;
}

/** Number of letters to insert, delete or replace to turn one text into the other (Levenshtein distance). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const changed = (row[j] ?? 0) + (letter === to[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
