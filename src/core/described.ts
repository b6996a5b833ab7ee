/** The most members of an object that a description names. */
const MAX_MEMBERS = 10;

/** The most characters of a name in a description. */
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

/** The first element, without what it contains in turn. */
function first(value: unknown): string {
  return Array.isArray(value) ? "a list" : describe(value);
}

function short(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
  const plain = name.replace(/[\u0000-\u001f\u007f-\u009f]/g, "");
  return plain.length <= MAX_NAME ? plain : `${plain.slice(0, MAX_NAME)}…`;
}
