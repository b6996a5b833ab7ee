import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { NullValue, type Value } from "@bufbuild/protobuf/wkt";
import { membersOf } from "../core/members.js";
import { jsonOf, listMessage, setOwn, structMessage, valueMessage } from "../wire/json-value.js";
import { COUNTED_EVENT_LEVELS, EVENT_JSON_LEVELS } from "../wire/nesting.js";
import type { Content } from "./event.js";

/**
 * An agent's values are checked and copied when it yields them: it may continue to use a buffer or an object after
 * yielding it, and may be untyped.
 */

/** Thrown for a yielded value that the protocol cannot represent. The text is safe to show. */
export class InvalidAgentEvent extends Error {
  override name = "InvalidAgentEvent";
  /** Description of the rejected value, for the log only. */
  readonly yielded: string | undefined;

  constructor(message: string, yielded?: string) {
    super(message);
    this.yielded = yielded;
  }
}

/** Checks a text. Half surrogate pairs, which UTF-8 cannot represent, become the replacement character. */
export function checkedText(what: string, value: string): string {
  if (typeof value !== "string") throw new InvalidAgentEvent(`${what} must be a string`);
  return value.isWellFormed() ? value : value.toWellFormed();
}

/** Checks a list of texts. */
export function checkedTexts(what: string, values: readonly string[]): string[] {
  return checkedList(what, values).map((value) => checkedText(what, value));
}

/** Checks that a value is a list. */
export function checkedList<T>(what: string, values: readonly T[]): readonly T[] {
  if (!Array.isArray(values)) throw new InvalidAgentEvent(`${what} must be a list`);
  return values;
}

/** Checks and copies bytes. */
export function checkedBytes(what: string, value: Uint8Array): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new InvalidAgentEvent(`${what} must be a Uint8Array`);
  return new Uint8Array(value);
}

/** Checks and copies a JSON object. */
export function checkedObject(what: string, value: JsonObject): JsonObject {
  const copy = jsonOf(checkedValue(what, value));
  if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) return copy;
  throw new InvalidAgentEvent(`${what} must be an object`);
}

/** Checks a JSON value and converts it to its message. */
export function checkedValue(what: string, json: JsonValue, depth = 0): Value {
  return valueMessage(checkedKind(what, json, depth));
}

function checkedKind(what: string, json: JsonValue, depth: number): Value["kind"] {
  if (typeof json === "string") return { case: "stringValue", value: checkedText(what, json) };
  if (typeof json === "boolean") return { case: "boolValue", value: json };
  if (typeof json === "number" && Number.isFinite(json)) return { case: "numberValue", value: json };
  if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
  if (typeof json !== "object") throw new InvalidAgentEvent(`${what} must be JSON`);
  if (depth >= EVENT_JSON_LEVELS)
    throw new InvalidAgentEvent(`${what} may be nested at most ${EVENT_JSON_LEVELS} levels deep`);
  if (Array.isArray(json)) {
    return { case: "listValue", value: listMessage(Array.from(json, (inner) => checkedValue(what, inner, depth + 1))) };
  }
  const prototype: unknown = Object.getPrototypeOf(json);
  if (prototype !== Object.prototype && prototype !== null) throw new InvalidAgentEvent(`${what} must be JSON`);
  const fields: Record<string, Value> = {};
  for (const name of Object.keys(json)) {
    setOwn(fields, checkedText(what, name), checkedValue(what, json[name] as JsonValue, depth + 1));
  }
  return { case: "structValue", value: structMessage(fields) };
}

/**
 * Parts of one event, and its JSON members, elements and extensions. An event is checked, measured and encoded in one
 * go, which blocks the event loop.
 */
export const eventBounds = { maxParts: 10_000, maxValues: 50_000 } as const;

/** The counted parts of an event's content. The agent may be untyped. */
interface Counted {
  readonly parts?: unknown;
  readonly data?: unknown;
  readonly metadata?: unknown;
  readonly extensions?: unknown;
  readonly text?: unknown;
}

/**
 * Counts the values of an event: members and elements of JSON, and extensions.
 * @throws InvalidAgentEvent for too many parts or values, without reading the rest
 */
export function checkValues(content: Content | Counted | undefined): number {
  if (typeof content !== "object" || content === null) return 0;
  const counted: Counted = Array.isArray(content) ? { parts: content } : membersOf(content);
  const { parts, data, metadata, extensions, text } = counted;
  // The common case.
  if (parts === undefined && data === undefined && metadata === undefined && extensions === undefined) return 0;
  const list = Array.isArray(parts) ? parts : [];
  if (list.length + (text === undefined ? 0 : 1) + (data === undefined ? 0 : 1) > eventBounds.maxParts) {
    throw new InvalidAgentEvent(`an event may have at most ${eventBounds.maxParts} parts; more come in further events`);
  }
  const most: number = eventBounds.maxValues;
  let left = less(less(less(most, extensions, 0), metadata, 0), data, 0);
  for (let at = 0; at < list.length && left >= 0; at++) {
    const part = membersOf(list[at]);
    left = less(less(left, part.metadata, 0), part.data, 0);
  }
  if (left >= 0) return most - left;
  throw new InvalidAgentEvent(`an event may have at most ${most} values (members and elements of JSON, extensions)`);
}

/** Returns a count less the members and elements of a value; negative if there are more. */
function less(left: number, value: unknown, depth: number): number {
  if (left < 0 || typeof value !== "object" || value === null || depth > COUNTED_EVENT_LEVELS) return left;
  let rest = left;
  if (Array.isArray(value)) {
    rest -= value.length;
    for (let at = 0; at < value.length && rest >= 0; at++) rest = less(rest, value[at], depth + 1);
    return rest;
  }
  for (const name in value) {
    rest = less(rest - 1, membersOf(value)[name], depth + 1);
    if (rest < 0) break;
  }
  return rest;
}
