import type { HeadKey } from "./operator-store.js";

/** The place of a task in a list by status. */
export function headKeyOf({ statusTime, taskId }: HeadKey): HeadKey {
  return { statusTime, taskId };
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
