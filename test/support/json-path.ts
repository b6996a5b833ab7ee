import type { JsonValue } from "@bufbuild/protobuf";

/** The value at a place such as `task.history[0].messageId`, or undefined. */
export function valueAt(value: JsonValue | undefined, place: string): JsonValue | undefined {
  let at = value;
  for (const step of place.split(/[.[\]]+/).filter((name) => name !== "")) {
    if (typeof at !== "object" || at === null) return undefined;
    at = Array.isArray(at) ? at[Number(step)] : at[step];
  }
  return at;
}

/** The text at a place. Throws if the value there is not a text. */
export function textAt(value: JsonValue | undefined, place: string): string {
  const found = valueAt(value, place);
  if (typeof found !== "string") throw new Error(`There is no text at ${place} in ${JSON.stringify(value)}.`);
  return found;
}
