/** Levels and values of a schema that are read. */
const MAX_LEVELS = 24;
const MAX_VALUES = 20_000;

/** Items that a form begins with, in lists within lists too. */
const MAX_ITEMS = 200;

/** A group with a repetition in it that is repeated itself, which may take forever on a short text. */
const NESTED = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]/;

/**
 * Returns a copy of a schema of an agent that is safe to check by: without patterns that may hang the page, and without
 * references to other documents, and with few items to begin with. The agent checks the answer itself.
 *
 * @throws RangeError if the schema is too large or too deep
 */
export function prepared(schema: unknown): unknown {
  let count = 0;
  const copy = (value: unknown, level: number, times = 1): unknown => {
    count += 1;
    if (level > MAX_LEVELS || count > MAX_VALUES) throw new RangeError("The schema is too large.");
    if (Array.isArray(value)) return value.map((each) => copy(each, level + 1, times));
    if (typeof value !== "object" || value === null) return value;
    const { minItems } = value as { readonly minItems?: unknown };
    const items = times * (typeof minItems === "number" ? Math.max(minItems, 1) : 1);
    const isLong = items > MAX_ITEMS;
    const members = Object.entries(value).filter(
      ([name, each]) => !isUnsafe(name, each) && !(isLong && name === "minItems"),
    );
    return Object.fromEntries(members.map(([name, each]) => [name, copy(each, level + 1, isLong ? times : items)]));
  };
  return copy(schema, 0);
}

function isUnsafe(name: string, value: unknown): boolean {
  if (name === "pattern") return typeof value === "string" && (NESTED.test(value) || value.length > 2_000);
  if (name === "patternProperties" || name === "$id" || name === "$schema") return typeof value !== "boolean";
  return name === "$ref" && typeof value === "string" && !value.startsWith("#");
}
