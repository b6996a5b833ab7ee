import { isJsonObject } from "../wire/json-struct.js";
import { setOwn } from "../wire/json-value.js";

/** The JSON of a card, in the shape of some version. Values are looked through and never changed. */
export type CardJson = Readonly<Record<string, unknown>>;

/** Members with a name of their own in the other shape, where they are there: `null` is absent (ProtoJSON, and early writers). */
export function copied(from: CardJson, names: readonly string[]): Record<string, unknown> {
  const to: Record<string, unknown> = {};
  for (const name of names) if (isSet(from[name])) to[name] = from[name];
  return to;
}

/** True if a member is present and not empty. */
export const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Maps the values of an object. Any other value is returned as it is, for the reader to reject. */
export function mapValues(json: unknown, make: (value: unknown, name: string) => unknown): unknown {
  if (!isJsonObject(json)) return json;
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) setOwn(made, name, make(value, name));
  return made;
}

/** The same of the items of a list. */
export function mapItems(json: unknown, make: (item: unknown) => unknown): unknown {
  return Array.isArray(json) ? json.map(make) : json;
}
