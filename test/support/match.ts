import type { JsonValue } from "@bufbuild/protobuf";

/** Values that a case has saved, by name. Strings of patterns and requests name them as `{name}`. */
export type Saved = ReadonlyMap<string, string>;

/**
 * Expected form of an answer, as JSON. Objects may have further members; lists have to be complete. Matchers stand for
 * values that a test cannot know.
 */
export type Pattern =
  | Matcher
  | string
  | number
  | boolean
  | null
  | readonly Pattern[]
  | { readonly [k: string]: Pattern };

/** Placeholder for a value that a pattern cannot contain literally. */
export class Matcher {
  /** Faults of a value, each with its path; empty if it fits. */
  readonly faults: (value: JsonValue | undefined, path: string, saved: Saved) => string[];

  constructor(faults: Matcher["faults"]) {
    this.faults = faults;
  }
}

/** Differences of a value from a pattern; empty if it fits. */
export function differences(value: JsonValue | undefined, pattern: Pattern, saved: Saved, path = ""): string[] {
  if (pattern instanceof Matcher) return pattern.faults(value, path, saved);
  if (typeof pattern === "string") return same(value, fill(pattern, saved), path);
  if (typeof pattern !== "object" || pattern === null) return same(value, pattern, path);
  if (isList(pattern)) return listDifferences(value, pattern, saved, path);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return [`${at(path)} is no object: ${show(value)}`];
  return Object.entries(pattern).flatMap(([name, member]) =>
    differences(value[fill(name, saved)], member, saved, path === "" ? name : `${path}.${name}`),
  );
}

function listDifferences(
  value: JsonValue | undefined,
  pattern: readonly Pattern[],
  saved: Saved,
  path: string,
): string[] {
  if (!Array.isArray(value)) return [`${at(path)} is no list: ${show(value)}`];
  if (value.length !== pattern.length) {
    return [`${at(path)} has ${value.length} items instead of ${pattern.length}: ${show(value)}`];
  }
  return pattern.flatMap((item, i) => differences(value[i], item, saved, `${path}[${i}]`));
}

function same(value: JsonValue | undefined, expected: JsonValue, path: string): string[] {
  return value === expected ? [] : [`${at(path)} is ${show(value)} instead of ${show(expected)}`];
}

function isList(pattern: object): pattern is readonly Pattern[] {
  return Array.isArray(pattern);
}

const at = (path: string): string => (path === "" ? "the whole" : path);
const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 400) ?? "absent";

/** Puts saved values in the place of their names; names that are not known stay as they are. */
export function fill(text: string, saved: Saved): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => saved.get(name) ?? whole);
}

/** As `fill`, for all strings in a JSON value, names of members included. */
export function fillAll<T extends JsonValue>(value: T, saved: Saved): T {
  if (typeof value === "string") return fill(value, saved) as T;
  if (Array.isArray(value)) return value.map((item) => fillAll(item, saved)) as unknown as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [fill(name, saved), fillAll(member, saved)]);
  return Object.fromEntries(entries) as T;
}

function judge(fits: (value: JsonValue | undefined) => boolean, what: string): Matcher {
  return new Matcher((value, path) => (fits(value) ? [] : [`${at(path)} is not ${what}: ${show(value)}`]));
}

/** An empty list. JSON that is made of a binary message omits such lists. */
export const noItems: Matcher = judge(
  (value) => value === undefined || (Array.isArray(value) && value.length === 0),
  "without items",
);

/** An absent member. */
export const absent: Matcher = judge((value) => value === undefined, "absent");

/** Any value. */
export const present: Matcher = judge((value) => value !== undefined, "present");

/** An identifier: a text that is not empty. */
export const anId: Matcher = judge((value) => typeof value === "string" && value.trim() !== "", "an id");

/** A timestamp in UTC with milliseconds (specification 5.6.1). */
export const aTime: Matcher = judge(
  (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/.test(value),
  "a timestamp in UTC",
);

/** A text of a form. */
export function like(form: RegExp): Matcher {
  return judge((value) => typeof value === "string" && form.test(value), `like ${form}`);
}

/** A number that is not less. */
export function atLeast(least: number): Matcher {
  return judge((value) => typeof value === "number" && value >= least, `at least ${least}`);
}

/** A list of so many items. */
export function items(count: number): Matcher {
  return judge((value) => Array.isArray(value) && value.length === count, `a list of ${count}`);
}

export function not(pattern: Pattern): Matcher {
  return new Matcher((value, path, saved) =>
    differences(value, pattern, saved).length > 0 ? [] : [`${at(path)} is what it should not be: ${show(value)}`],
  );
}

/** A list with an item that fits. */
export function having(pattern: Pattern): Matcher {
  return new Matcher((value, path, saved) =>
    Array.isArray(value) && value.some((item) => differences(item, pattern, saved).length === 0)
      ? []
      : [`${at(path)} has no item that fits: ${show(value)}`],
  );
}

/** A list, each item of which fits. */
export function each(pattern: Pattern): Matcher {
  return new Matcher((value, path, saved) =>
    Array.isArray(value)
      ? value.flatMap((item, i) => differences(item, pattern, saved, `${path}[${i}]`))
      : [`${at(path)} is no list: ${show(value)}`],
  );
}

export function all(...patterns: Pattern[]): Matcher {
  return new Matcher((value, path, saved) => patterns.flatMap((pattern) => differences(value, pattern, saved, path)));
}

/** An object with exactly these members. */
export function exactly(pattern: { readonly [name: string]: Pattern }): Matcher {
  return new Matcher((value, path, saved) => {
    const names = typeof value === "object" && value !== null ? Object.keys(value) : [];
    const extra = names.filter((name) => !Object.hasOwn(pattern, name)).map((name) => `${at(path)} has ${name} too`);
    return [...differences(value, pattern, saved, path), ...extra];
  });
}

/** The value of a saved place, compared as JSON: for objects that have to be what they were before. */
export function savedJson(name: string): Matcher {
  return new Matcher((value, path, saved) => same(JSON.stringify(value) ?? "absent", saved.get(name) ?? "", path));
}
