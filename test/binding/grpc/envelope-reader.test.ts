import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EnvelopeReader, isOneMessage } from "../../../src/binding/grpc/envelope-reader.js";
import { Refusal } from "../../../src/binding/grpc/internal-service.js";
import { A2AError, StatusCode } from "../../../src/core/error.js";

const MAX = 5_000;

function envelope(bytes: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.from([flag, 0, 0, 0, 0]);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** A body, cut at these places. */
function cut(body: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (body.length + 1)), body.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, i) => body.subarray(at[i], end));
}

const messages = fc.array(fc.tuple(fc.uint8Array({ maxLength: MAX }), fc.boolean()), { maxLength: 6 });
const places = fc.array(fc.nat(), { maxLength: 40 });

describe("EnvelopeReader", () => {
  it("gives the same messages however their bytes are cut", () => {
    fc.assert(
      fc.property(messages, places, fc.boolean(), (all, at, isEach) => {
        const body = Buffer.concat(all.map(([bytes, isCompressed]) => envelope(bytes, isCompressed ? 1 : 0)));
        const reader = new EnvelopeReader(MAX);
        const pieces = isEach ? cut(body, [...body.keys()]) : cut(body, at);
        const found = pieces.flatMap((piece) => reader.read(piece));
        expect(found.map(({ bytes, isCompressed }) => [bytes.toString("hex"), isCompressed])).toEqual(
          all.map(([bytes, isCompressed]) => [Buffer.from(bytes).toString("hex"), isCompressed]),
        );
        expect(reader.isInside).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it("knows that a message is not whole", () => {
    const body = envelope(Buffer.from("hello"));
    for (let length = 1; length < body.length; length++) {
      const reader = new EnvelopeReader(MAX);
      expect(reader.read(body.subarray(0, length))).toEqual([]);
      expect(reader.isInside).toBe(true);
    }
  });

  it("takes any bytes, or refuses them", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (pieces) => {
        const reader = new EnvelopeReader(MAX);
        try {
          for (const piece of pieces)
            for (const { bytes } of reader.read(Buffer.from(piece))) expect(bytes.length <= MAX);
        } catch (error) {
          expect(error instanceof Refusal || error instanceof A2AError).toBe(true);
        }
      }),
    );
  });

  it("refuses a message by the length that it names", () => {
    const prefix = envelope(Buffer.alloc(MAX + 1)).subarray(0, 5);
    const reader = new EnvelopeReader(MAX);
    expect(reader.read(prefix.subarray(0, 4))).toEqual([]);
    const code = StatusCode.RESOURCE_EXHAUSTED;
    expect(() => reader.read(prefix.subarray(4))).toThrow(expect.objectContaining({ code }));
    expect(new EnvelopeReader(MAX).read(envelope(Buffer.alloc(MAX)))).toHaveLength(1);
  });
});

describe("isOneMessage()", () => {
  it("is true of what the reader finds to be one, whole and not compressed", () => {
    fc.assert(
      fc.property(messages, fc.nat(20), (all, length) => {
        const body = Buffer.concat(all.map(([bytes, isCompressed]) => envelope(bytes, isCompressed ? 1 : 0)));
        for (const piece of [body, body.subarray(0, length), Buffer.concat([body, Buffer.alloc(1)])]) {
          const reader = new EnvelopeReader(MAX);
          const found = reader.read(piece);
          const isOne = found.length === 1 && !reader.isInside && found[0]?.isCompressed === false;
          expect(isOneMessage(piece, MAX)).toBe(isOne);
        }
      }),
    );
    expect(isOneMessage(envelope(Buffer.alloc(MAX + 1)), MAX)).toBe(false);
  });
});
