import { StoreError } from "./task-store.js";

/**
 * A segment is the stored form of one append: its entries, each preceded by its length as a base-128 varint, low bits
 * first. One row for several entries costs one index insertion instead of several.
 */

/** An append larger than this many bytes becomes several segments, so that a short read never loads a long one. */
export const MAX_SEGMENT_BYTES: number = 16 * 1024;

/** One `read` stops after this many bytes, but returns at least one entry: a page of a log, not all of it. */
export const READ_BYTES: number = 1024 * 1024;

/** Size of a segment: its number of entries, and their bytes including the length prefixes. */
interface SegmentSize {
  readonly count: number;
  readonly bytes: number;
}

/** A segment that is about to be stored. */
export interface Segment {
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** Divides entries into segments of at most MAX_SEGMENT_BYTES; a larger entry gets a separate one. */
export function planSegments(entries: readonly Uint8Array[]): SegmentSize[] {
  const sizes: SegmentSize[] = [];
  let count = 0;
  let bytes = 0;
  for (const entry of entries) {
    const size = prefixSize(entry.length) + entry.length;
    if (count > 0 && bytes + size > MAX_SEGMENT_BYTES) {
      sizes.push({ count, bytes });
      count = 0;
      bytes = 0;
    }
    count += 1;
    bytes += size;
  }
  if (count > 0) sizes.push({ count, bytes });
  return sizes;
}

/** Writes entries into `target` from `offset`, and returns the end offset. */
export function writeEntries(target: Uint8Array, offset: number, entries: Iterable<Uint8Array>): number {
  let at = offset;
  for (const entry of entries) {
    let rest = entry.length;
    while (rest >= 0x80) {
      target[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    target[at++] = rest;
    target.set(entry, at);
    at += entry.length;
  }
  return at;
}

/**
 * Appends a segment's entries to `into`, after skipping `skip`, until `into` has `limit`. They are views of `bytes`,
 * which the caller must not share.
 * @throws StoreError `damaged` if the bytes are not `count` entries.
 */
export function readEntries(segment: Segment, skip: number, limit: number, into: Uint8Array[]): void {
  const { bytes, count } = segment;
  let at = 0;
  for (let index = 0; index < count && into.length < limit; index++) {
    let length = 0;
    let scale = 1;
    let byte = 0x80;
    while (byte >= 0x80) {
      byte = bytes[at++] ?? broken();
      length += (byte & 0x7f) * scale;
      scale *= 0x80;
    }
    if (at + length > bytes.length) broken();
    if (index >= skip) into.push(new Uint8Array(bytes.buffer, bytes.byteOffset + at, length));
    at += length;
  }
}

/** Does as `readEntries`, but appends the rest of a cut segment: its rest for the first cut entry, then empty ones. */
export function salvageEntries(segment: Segment, skip: number, limit: number, into: Uint8Array[]): void {
  const { bytes, count } = segment;
  const found: Uint8Array[] = [];
  try {
    readEntries(segment, 0, count, found);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const last = found.at(-1);
    const at = last === undefined ? bytes.byteOffset : last.byteOffset + last.length;
    found.push(new Uint8Array(bytes.buffer, at, bytes.byteOffset + bytes.length - at));
  }
  const end = Math.min(count, skip + limit - into.length);
  while (found.length < end) found.push(new Uint8Array(0));
  for (const entry of found.slice(skip, end)) into.push(entry);
}

function prefixSize(length: number): number {
  let size = 1;
  for (let rest = length; rest >= 0x80; rest >>>= 7) size += 1;
  return size;
}

function broken(): never {
  throw new StoreError("damaged", "A stored segment is shorter than its entries.");
}
