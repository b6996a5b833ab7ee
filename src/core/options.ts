import { firstFaults, unknownName } from "./describe.js";
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

/** A text, optionally of a form. */
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
