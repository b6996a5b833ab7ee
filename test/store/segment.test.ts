import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MAX_SEGMENT_BYTES,
  planSegments,
  readEntries,
  type Segment,
  salvageEntries,
  writeEntries,
} from "../../src/store/segment.js";

/** Sizes at which a length takes one byte more, and around the size of a segment. */
const edges = [0, 1, 127, 128, 129, 16_383, 16_384, MAX_SEGMENT_BYTES - 4, MAX_SEGMENT_BYTES, MAX_SEGMENT_BYTES + 1];

const entry = fc
  .tuple(fc.oneof({ weight: 5, arbitrary: fc.nat(300) }, fc.constantFrom(...edges)), fc.nat(255))
  .map(([size, fill]) => new Uint8Array(size).fill(fill));

function pack(entries: readonly Uint8Array[]): Segment[] {
  let first = 0;
  return planSegments(entries).map(({ count, bytes }) => {
    const target = new Uint8Array(bytes);
    expect(writeEntries(target, 0, entries.slice(first, first + count))).toBe(bytes);
    first += count;
    return { count, bytes: target };
  });
}

function unpack(
  segments: readonly Segment[],
  skip = 0,
  limit = Number.POSITIVE_INFINITY,
  read = readEntries,
): Uint8Array[] {
  const entries: Uint8Array[] = [];
  let before = 0;
  for (const segment of segments) {
    read(segment, Math.max(0, skip - before), limit, entries);
    before += segment.count;
  }
  return entries;
}

/** Comparing arrays of 64 KiB element by element takes seconds; their text does not. */
const texts = (entries: readonly Uint8Array[]): string[] => entries.map((each) => Buffer.from(each).toString("latin1"));

describe("planSegments()", () => {
  it("counts every entry once and keeps segments small", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 40 }), (entries) => {
        const plan = planSegments(entries);
        expect(plan.reduce((sum, { count }) => sum + count, 0)).toBe(entries.length);
        for (const { count, bytes } of plan) expect(count === 1 || bytes <= MAX_SEGMENT_BYTES).toBe(true);
      }),
    );
  });

  it("makes one segment of what fits, and none of nothing", () => {
    expect(planSegments([])).toEqual([]);
    expect(planSegments([new Uint8Array(0)])).toEqual([{ count: 1, bytes: 1 }]);
    expect(planSegments(Array.from({ length: 3 }, () => new Uint8Array(200)))).toEqual([{ count: 3, bytes: 606 }]);
  });

  it("gives a large entry a segment for itself", () => {
    const plan = planSegments([new Uint8Array(10), new Uint8Array(MAX_SEGMENT_BYTES), new Uint8Array(10)]);
    expect(plan.map(({ count }) => count)).toEqual([1, 1, 1]);
  });
});

describe("readEntries()", () => {
  it("gives back what was written", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 40 }), (entries) => {
        expect(texts(unpack(pack(entries)))).toEqual(texts(entries));
      }),
    );
  });

  it("skips and stops where it is asked to", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), fc.nat(25), fc.nat(25), (entries, skip, limit) => {
        expect(texts(unpack(pack(entries), skip, limit))).toEqual(texts(entries.slice(skip, skip + limit)));
      }),
    );
  });

  it("reads from the middle of a larger buffer", () => {
    const entries = [new Uint8Array([1, 2]), new Uint8Array([3])];
    const memory = new Uint8Array(20).fill(0xff);
    const end = writeEntries(memory, 5, entries);
    expect(unpack([{ count: 2, bytes: memory.subarray(5, end) }])).toEqual(entries);
  });

  it("says that a segment is damaged instead of reading beyond it", () => {
    const [segment] = pack([new Uint8Array(200).fill(1), new Uint8Array(5)]);
    const bytes = segment?.bytes ?? new Uint8Array(0);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => unpack([{ count: 2, bytes: bytes.subarray(0, length) }])).toThrowError(
        expect.objectContaining({ name: "StoreError", kind: "damaged" }),
      );
    }
    expect(() => unpack([{ count: 3, bytes }])).toThrowError(expect.objectContaining({ kind: "damaged" }));
  });
});

describe("salvageEntries()", () => {
  it("reads sound segments as readEntries() does", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), fc.nat(25), fc.nat(25), (entries, skip, limit) => {
        const segments = pack(entries);
        expect(texts(unpack(segments, skip, limit, salvageEntries))).toEqual(texts(unpack(segments, skip, limit)));
      }),
    );
  });

  it("gives the sound entries of a cut segment, then its rest, then empty ones", () => {
    const entries = [1, 2, 3, 4].map((fill) => new Uint8Array(3).fill(fill));
    const [segment = { count: 0, bytes: new Uint8Array() }] = pack(entries);
    const all = Number.POSITIVE_INFINITY;
    for (let length = 0; length < segment.bytes.length; length++) {
      const bytes = segment.bytes.subarray(0, length);
      const found = unpack([{ count: 4, bytes }], 0, all, salvageEntries);
      const sound = Math.floor(length / 4);
      const rest = segment.bytes.subarray(sound * 4, length);
      expect(texts(found)).toEqual(texts([...entries.slice(0, sound), rest, ...entries.slice(sound + 1).map(empty)]));
      for (const [skip, limit] of [
        [1, 2],
        [3, 4],
        [0, 1],
      ] as const) {
        const page = unpack([{ count: 4, bytes }], skip, limit, salvageEntries);
        expect(texts(page)).toEqual(texts(found.slice(skip, skip + limit)));
      }
    }
  });
});

const empty = (): Uint8Array => new Uint8Array(0);
