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
