/** Returns true for a value with members: an object, an array, an error or a function, but not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Returns true for a string. */
export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Returns the members of a value, for reading. A value that is not an object has none. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Returns the message of a thrown value, which may be anything. */
export function messageIn(thrown: unknown): string {
  const { message } = membersOf(thrown);
  return typeof message === "string" ? message : String(thrown);
}

/** Returns a value that the caller knows to exist, such as an element below the length of its array. */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError("a value is missing");
  return value;
}

/** Returns the result of `work`. If it throws, returns that of `failed`, or undefined without `failed`. */
export function attempt<T, F = undefined>(work: () => T, failed?: (error: unknown) => F): T | F {
  try {
    return work();
  } catch (error) {
    return failed?.(error) as F;
  }
}
