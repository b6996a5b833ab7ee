import { membersOf } from "../core/members.js";
import { COUNTED_EVENT_LEVELS } from "../core/nesting.js";
import { InvalidAgentEvent } from "./checked-copies.js";
import type { Content } from "./event.js";

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
