import { isJsonObject } from "../wire/json-struct.js";
import { setOwn } from "../wire/json-value.js";

/** The JSON of a card in the form of some version. Its values are read and never changed. */
export type CardJson = Readonly<Record<string, unknown>>;

/** Copies the named members that are present. `null` means absent (ProtoJSON, and early writers). */
export function copied(from: CardJson, names: readonly string[]): Record<string, unknown> {
  const to: Record<string, unknown> = {};
  for (const name of names) if (isSet(from[name])) to[name] = from[name];
  return to;
}

/** True if a member is present and not empty. */
export const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns the text; the other one for an empty text or a value of another type. */
export const textOr = (value: unknown, other: string): string =>
  typeof value === "string" && value !== "" ? value : other;

/** Maps the values of an object. Any other value is returned unchanged, for the reader to reject. */
export function mapValues(json: unknown, make: (value: unknown, name: string) => unknown): unknown {
  if (!isJsonObject(json)) return json;
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) setOwn(made, name, make(value, name));
  return made;
}

/** Maps the items of a list. Any other value is returned unchanged. */
export function mapItems(json: unknown, make: (item: unknown) => unknown): unknown {
  return Array.isArray(json) ? json.map(make) : json;
}
