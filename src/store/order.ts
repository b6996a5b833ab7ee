import type { HeadKey, HeadsPage, HeadsRequest } from "./operator-store.js";
import type { TaskHead } from "./task-head.js";

/** The place of a task in a list by status. */
export function headKeyOf({ statusTime, taskId }: HeadKey): HeadKey {
  return { statusTime, taskId };
}

/** A range of a list by status, newest first: keys below `before`, from `from` on. */
export interface KeyRange {
  readonly before: HeadKey;
  readonly from: HeadKey;
}

/** The range of a request. The empty id is the first one, so a time alone is a key as well. */
export function rangeOf({
  statusFrom,
  statusBefore,
  after,
}: Pick<HeadsRequest, "statusFrom" | "statusBefore" | "after">): KeyRange {
  const from = { statusTime: statusFrom ?? Number.MIN_SAFE_INTEGER, taskId: "" };
  const before = { statusTime: statusBefore ?? Number.MAX_SAFE_INTEGER, taskId: "" };
  const isLater = after === undefined || before.statusTime <= after.statusTime;
  return { from, before: isLater ? before : after };
}

/** A page that ends where the list was cut, if it was. */
export function headsPage(heads: readonly TaskHead[], limit: number): HeadsPage {
  const last = heads.at(-1);
  return last === undefined || heads.length < limit ? { heads } : { heads, next: headKeyOf(last) };
}

/** Compares places in a list by status, the oldest first. */
export function compareHeadKeys(a: HeadKey, b: HeadKey): number {
  return a.statusTime - b.statusTime || compareIds(a.taskId, b.taskId);
}

/**
 * Compares ids by their UTF-8 bytes, as every store does. JavaScript compares UTF-16, which orders only characters
 * beyond U+FFFF differently: their surrogates sort below U+E000 to U+FFFF instead of above.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  return isHalf ? unit + 0x10000 : unit;
}
