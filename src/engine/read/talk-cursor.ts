import { base64Of, fromBase64, utf8Of } from "../../core/bytes.js";
import { comparePlaces, type Utterance } from "../../task/talk.js";

/** The place of an utterance in its conversation: they are ordered by time, then task, then place in the task. */
export interface TalkPlace extends Pick<Utterance, "ms" | "position" | "after"> {
  readonly taskId: string;
}

/** The place of a task in the list of its context. */
export interface ListPlace {
  readonly statusTime: number;
  readonly taskId: string;
}

/** The decoded cursor of an utterance. */
export interface TalkCursor {
  readonly place: TalkPlace;
  /** The tasks of the list up to this one have no older utterances; undefined if the first one may have. */
  readonly skip: ListPlace | undefined;
}

/** Compares two places in the conversation. */
export function compareTalk(a: TalkPlace, b: TalkPlace): number {
  if (a.ms !== b.ms) return a.ms - b.ms;
  if (a.taskId !== b.taskId) return a.taskId < b.taskId ? -1 : 1;
  return comparePlaces(a, b);
}

export function encodeCursor(values: readonly (string | number)[]): string {
  return base64Of(utf8Of(JSON.stringify(values)));
}

/** Encodes the cursor of an utterance. */
export function talkCursor({ place, skip }: TalkCursor): string {
  const { ms, taskId, position, after } = place;
  return encodeCursor([ms, taskId, position, after, ...(skip === undefined ? [] : [skip.statusTime, skip.taskId])]);
}

/** Decodes the cursor of an utterance. @throws TypeError */
export function talkCursorOf(text: string): TalkCursor {
  const [ms, taskId, position, after, statusTime, head] = decoded(text);
  if (typeof ms !== "number" || typeof taskId !== "string") throw notACursor();
  if (typeof position !== "number" || typeof after !== "number") throw notACursor();
  const skip = typeof statusTime === "number" && typeof head === "string" ? { statusTime, taskId: head } : undefined;
  return { place: { ms, taskId, position, after }, skip };
}

/** Decodes the cursor of a task. @throws TypeError */
export function listCursorOf(text: string): ListPlace {
  const [statusTime, taskId] = decoded(text);
  if (typeof statusTime !== "number" || typeof taskId !== "string") throw notACursor();
  return { statusTime, taskId };
}

function decoded(text: string): unknown[] {
  try {
    const values: unknown = JSON.parse(new TextDecoder().decode(fromBase64(text)));
    if (Array.isArray(values)) return values;
  } catch {
    // Reported below.
  }
  throw notACursor();
}

function notACursor(): TypeError {
  return new TypeError("`before` is not the cursor of an item of a conversation.");
}
