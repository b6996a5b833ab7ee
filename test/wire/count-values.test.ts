import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import { MessageSchema, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { exceedsBinary, excessOfJson } from "../../src/wire/count-values.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("excessOfJson()", () => {
  it("counts elements and members at every depth (SRV-SEC-04)", () => {
    const many = JSON.stringify({ a: Array.from({ length: 50_000 }, () => ({})) });
    expect(excessOfJson(bytes(many), 1_000)).toBe("values");
    expect(excessOfJson(bytes(many), 200_000)).toBeUndefined();
  });

  it("does not count what stands in strings", () => {
    const text = JSON.stringify({ text: '[{,\\"'.repeat(50_000) });
    expect(excessOfJson(bytes(text), 10)).toBeUndefined();
  });

  it("comes to an end for a string that does not", () => {
    expect(excessOfJson(bytes(`"${"\\".repeat(100_001)}`), 10)).toBeUndefined();
  });

  it("finds what nests too deep, wherever it does, and nothing in what is wide", () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${"}]".repeat(levels / 2)}`;
    const wide = `[${Array(1_000).fill(nested(300)).join(",")}]`;
    expect(excessOfJson(bytes(wide), 1_000_000)).toBeUndefined();
    expect(excessOfJson(bytes(`[${wide},${nested(500)}]`), 1_000_000)).toBe("levels");
    expect(excessOfJson(bytes(JSON.stringify({ text: "[".repeat(100_000) })), 1_000_000)).toBeUndefined();
  });
});

describe("exceedsBinary()", () => {
  const request = (count: number) =>
    toBinary(
      SendMessageRequestSchema,
      create(SendMessageRequestSchema, {
        message: { parts: Array.from({ length: count }, () => ({ content: { case: "text", value: "a" } as const })) },
      }),
    );

  it("counts the fields of messages at every depth, without decoding them", () => {
    expect(exceedsBinary(SendMessageRequestSchema, request(50_000), 10_000)).toBe(true);
    expect(exceedsBinary(SendMessageRequestSchema, request(50_000), 100_002)).toBe(false);
  });

  it("counts what stands in maps and in free JSON, at every depth, as it is counted in JSON", () => {
    const list = Array.from({ length: 20_000 }, (_, i) => ({ [`k${i}`]: [true] }));
    const free = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { metadata: { list } }));
    const text = bytes(JSON.stringify({ metadata: { list } }));
    for (const [max, exceeds] of [
      [59_000, true],
      [61_000, false],
    ] as const) {
      expect(exceedsBinary(SendMessageRequestSchema, free, max)).toBe(exceeds);
      expect(excessOfJson(text, max) === "values").toBe(exceeds);
    }
  });

  it("counts the fields that a value has too many of", () => {
    const value = new BinaryWriter().tag(6, WireType.LengthDelimited).fork();
    value.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string("k");
    value.tag(2, WireType.LengthDelimited).fork();
    for (let i = 0; i < 50_000; i++) value.tag(1, WireType.Varint).int32(0);
    const hostile = value.join().join().join().finish();
    expect(exceedsBinary(MessageSchema, hostile, 40_000)).toBe(true);
  });

  it("lets a large text be one field", () => {
    const message = { parts: [{ content: { case: "text", value: "x".repeat(1_000_000) } as const }] };
    const large = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message }));
    expect(exceedsBinary(SendMessageRequestSchema, large, 3)).toBe(false);
  });

  it("throws for bytes that are no message, as decoding does", () => {
    expect(() => exceedsBinary(SendMessageRequestSchema, new Uint8Array(100_000).fill(0xff), 10)).toThrow();
  });
});
