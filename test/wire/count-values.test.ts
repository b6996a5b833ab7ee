import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { exceedsBinary, exceedsJson } from "../../src/wire/count-values.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("exceedsJson()", () => {
  it("counts elements and members at every depth (SRV-SEC-04)", () => {
    const many = JSON.stringify({ a: Array.from({ length: 50_000 }, () => ({})) });
    expect(exceedsJson(bytes(many), 1_000)).toBe(true);
    expect(exceedsJson(bytes(many), 200_000)).toBe(false);
  });

  it("does not count what stands in strings", () => {
    const text = JSON.stringify({ text: '[{,\\"'.repeat(50_000) });
    expect(exceedsJson(bytes(text), 10)).toBe(false);
  });

  it("comes to an end for a string that does not", () => {
    expect(exceedsJson(bytes(`"${"\\".repeat(100_001)}`), 10)).toBe(false);
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

  it("counts what stands in maps and in free JSON, at every depth", () => {
    const list = Array.from({ length: 20_000 }, (_, i) => ({ [`k${i}`]: [true] }));
    const free = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { metadata: { list } }));
    expect(exceedsBinary(SendMessageRequestSchema, free, 100_000)).toBe(true);
    expect(exceedsBinary(SendMessageRequestSchema, free, 300_000)).toBe(false);
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
