import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { envelopeReader, isOneMessage } from "../../src/binding/grpc/envelope-reader.js";
import { StatusError } from "../../src/binding/grpc/internal-service.js";
import { A2AError, StatusCode } from "../../src/core/error.js";
import { type Envelope, Envelopes } from "../../src/wire/envelopes.js";

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

/** The envelopes that end in a chunk. */
function read(envelopes: Envelopes, chunk: Uint8Array): Envelope[] {
  const all: Envelope[] = [];
  envelopes.push(chunk);
  for (let each = envelopes.take(); each !== undefined; each = envelopes.take()) all.push(each);
  return all;
}

const messages = fc.array(fc.tuple(fc.uint8Array({ maxLength: MAX }), fc.boolean()), { maxLength: 6 });
const places = fc.array(fc.nat(), { maxLength: 40 });

describe("Envelopes", () => {
  it("gives the same messages however their bytes are cut", () => {
    fc.assert(
      fc.property(messages, places, fc.boolean(), (all, at, isEach) => {
        const body = Buffer.concat(all.map(([bytes, isCompressed]) => envelope(bytes, isCompressed ? 1 : 0)));
        const reader = envelopeReader(MAX);
        const pieces = isEach ? cut(body, [...body.keys()]) : cut(body, at);
        const found = pieces.flatMap((piece) => read(reader, piece));
        expect(found.map(({ data, flags }) => [Buffer.from(data).toString("hex"), flags === 1])).toEqual(
          all.map(([bytes, isCompressed]) => [Buffer.from(bytes).toString("hex"), isCompressed]),
        );
        expect(reader.isInside).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it("gives bytes of one kind, wherever they were cut", () => {
    const bytes = new Uint8Array([0, 0, 0, 0, 3, 7, 8, 9]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const envelopes = new Envelopes(() => {});
      const [found] = [bytes.slice(0, cut), bytes.slice(cut)].flatMap((piece) => read(envelopes, piece));
      expect(found?.data).toStrictEqual(new Uint8Array([7, 8, 9]));
      expect(envelopes.isInside).toBe(false);
    }
  });

  it("knows that a message is not whole", () => {
    const body = envelope(Buffer.from("hello"));
    for (let length = 1; length < body.length; length++) {
      const reader = envelopeReader(MAX);
      expect(read(reader, body.subarray(0, length))).toEqual([]);
      expect(reader.isInside).toBe(true);
    }
  });

  it("takes any bytes, or refuses them", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (pieces) => {
        const reader = envelopeReader(MAX);
        try {
          for (const piece of pieces)
            for (const { data } of read(reader, Buffer.from(piece))) expect(data.length <= MAX).toBe(true);
        } catch (error) {
          expect(error instanceof StatusError || error instanceof A2AError).toBe(true);
        }
      }),
    );
  });

  it("refuses a message by the length that it names", () => {
    const prefix = envelope(Buffer.alloc(MAX + 1)).subarray(0, 5);
    const reader = envelopeReader(MAX);
    expect(read(reader, prefix.subarray(0, 4))).toEqual([]);
    const code = StatusCode.RESOURCE_EXHAUSTED;
    expect(() => read(reader, prefix.subarray(4))).toThrow(expect.objectContaining({ code }));
    expect(read(envelopeReader(MAX), envelope(Buffer.alloc(MAX)))).toHaveLength(1);
  });
});

describe("isOneMessage()", () => {
  it("is true of what the reader finds to be one, whole and not compressed", () => {
    fc.assert(
      fc.property(messages, fc.nat(20), (all, length) => {
        const body = Buffer.concat(all.map(([bytes, isCompressed]) => envelope(bytes, isCompressed ? 1 : 0)));
        for (const piece of [body, body.subarray(0, length), Buffer.concat([body, Buffer.alloc(1)])]) {
          const reader = envelopeReader(MAX);
          const found = read(reader, piece);
          const isOne = found.length === 1 && !reader.isInside && found[0]?.flags === 0;
          expect(isOneMessage(piece, MAX)).toBe(isOne);
        }
      }),
    );
    expect(isOneMessage(envelope(Buffer.alloc(MAX + 1)), MAX)).toBe(false);
  });
});
