/** Levels and values of a schema that are read. */
const MAX_LEVELS = 24;
const MAX_VALUES = 20_000;

/** A group with a repetition in it that is repeated itself, which may take forever on a short text. */
const NESTED = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]/;

/**
 * Returns a copy of a schema of an agent that is safe to check by: without patterns that may hang the page, and without
 * references to other documents. The agent checks the answer itself.
 *
 * @throws RangeError if the schema is too large or too deep
 */
export function prepared(schema: unknown): unknown {
  let count = 0;
  const copy = (value: unknown, level: number): unknown => {
    count += 1;
    if (level > MAX_LEVELS || count > MAX_VALUES) throw new RangeError("The schema is too large.");
    if (Array.isArray(value)) return value.map((each) => copy(each, level + 1));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).filter(([name, each]) => !isUnsafe(name, each));
    return Object.fromEntries(members.map(([name, each]) => [name, copy(each, level + 1)]));
  };
  return copy(schema, 0);
}

function isUnsafe(name: string, value: unknown): boolean {
  if (name === "pattern") return typeof value === "string" && (NESTED.test(value) || value.length > 2_000);
  if (name === "patternProperties" || name === "$id" || name === "$schema") return typeof value !== "boolean";
  return name === "$ref" && typeof value === "string" && !value.startsWith("#");
}
