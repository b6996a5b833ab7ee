import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EVENT_JSON_LEVELS } from "../core/nesting.js";

/**
 * Values of an agent are checked and copied when it yields them: it may go on using a buffer or an object that it
 * yielded, and no type checker stands between it and the log.
 */

/** An agent yielded something that the protocol has no place for; the text is safe to show. */
export class InvalidAgentEvent extends Error {
  override name = "InvalidAgentEvent";
  /** The refused value in words, for the log alone. */
  readonly yielded: string | undefined;

  constructor(message: string, yielded?: string) {
    super(message);
    this.yielded = yielded;
  }
}

/** A text; half surrogate pairs, which have no form in UTF-8, become the replacement character. */
export function checkedText(what: string, value: string): string {
  if (typeof value !== "string") throw new InvalidAgentEvent(`${what} must be a string`);
  return value.isWellFormed() ? value : value.toWellFormed();
}

/** A list of texts. */
export function checkedTexts(what: string, values: readonly string[]): string[] {
  return checkedList(what, values).map((value) => checkedText(what, value));
}

/** The list itself, if it is one. */
export function checkedList<T>(what: string, values: readonly T[]): readonly T[] {
  if (!Array.isArray(values)) throw new InvalidAgentEvent(`${what} must be a list`);
  return values;
}

/** Bytes. */
export function checkedBytes(what: string, value: Uint8Array): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new InvalidAgentEvent(`${what} must be a Uint8Array`);
  return new Uint8Array(value);
}

/** A JSON object. */
export function checkedObject(what: string, value: JsonObject): JsonObject {
  const copy = checkedJson(what, value);
  if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return copy;
  throw new InvalidAgentEvent(`${what} must be an object`);
}

/** A JSON value. */
export function checkedJson(what: string, value: JsonValue, depth = 0): JsonValue {
  if (typeof value === "string") return checkedText(what, value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value !== "object") throw new InvalidAgentEvent(`${what} must be JSON`);
  if (depth >= EVENT_JSON_LEVELS)
    throw new InvalidAgentEvent(`${what} may be nested at most ${EVENT_JSON_LEVELS} levels deep`);
  if (Array.isArray(value)) return value.map((inner) => checkedJson(what, inner, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new InvalidAgentEvent(`${what} must be JSON`);
  const entries = Object.entries(value).map(([key, inner]) => [
    checkedText(what, key),
    checkedJson(what, inner, depth + 1),
  ]);
  return Object.fromEntries(entries) as JsonObject;
}
