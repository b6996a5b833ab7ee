import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  AnySchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
  StringValueSchema,
  StructSchema,
  TypeSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentCard,
  AgentCardSchema,
  MessageSchema,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { file_parley_log_v1_log } from "../../gen/parley/log/v1/log_pb.js";
import { binaryReader } from "../../src/wire/binary-reader.js";
import { toValue } from "../../src/wire/json-value.js";
import { scaled } from "../support/soak.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

const types = [...contractTypes, ...file_parley_log_v1_log.messages];

const failed = Symbol("failed");

function result<T>(read: () => T): T | typeof failed {
  try {
    return read();
  } catch {
    return failed;
  }
}

/** Compares the reader with protobuf-es. Returns what both read. */
function same(desc: DescMessage, bytes: Uint8Array, levels?: number): unknown {
  const expected = result(() => fromBinary(desc, bytes, levels === undefined ? {} : { recursionLimit: levels }));
  const actual = result(() => binaryReader(desc, levels)(bytes));
  expect(actual).toStrictEqual(expected);
  return actual;
}

/** A field with the bytes of a text or a message. */
function tagged(field: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();
}

const anyType = fc.constantFrom(...types);

/** Bytes of a field as no writer makes them, but with a tag of the type. */
function anyField(desc: DescMessage): fc.Arbitrary<Uint8Array> {
  const number = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...desc.fields.map((field) => field.number), 1, 2) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 29 - 1 }) },
  );
  const wireType = fc.constantFrom(0, 0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7);
  const content = fc.oneof(
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 12 }) },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.uint8Array({ min: 0x80, minLength: 3, maxLength: 12 }) },
  );
  return fc.tuple(number, wireType, content).map(([no, type, data]) => {
    const head = new BinaryWriter().uint32(((no << 3) | type) >>> 0);
    return Buffer.from(type === WireType.LengthDelimited ? head.bytes(data).finish() : [...head.finish(), ...data]);
  });
}

/** Bytes of a message with some of them changed, left out or added. */
function damaged(desc: DescMessage): fc.Arbitrary<Uint8Array> {
  const fields = fc.array(anyField(desc), { maxLength: 3 });
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff));
  const edit = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2), fc.array(byte, { maxLength: 2 }));
  return fc.tuple(anyMessage(desc), fields, fc.array(edit, { maxLength: 3 })).map(([message, extra, edits]) => {
    const bytes = [...toBinary(desc, message), ...extra.flatMap((field) => [...field])];
    for (const [where, remove, add] of edits) bytes.splice(Math.floor(where * bytes.length), remove, ...add);
    return Buffer.from(bytes);
  });
}

describe("binaryReader()", () => {
  it.each(types.map((desc) => [desc.name, desc] as const))("reads any %s as protobuf-es does", (_name, desc) => {
    const read = binaryReader(desc);
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        const bytes = toBinary(desc, message);
        expect(read(bytes)).toStrictEqual(fromBinary(desc, bytes));
        same(desc, Buffer.from(bytes));
      }),
      { numRuns: scaled(20, 100) },
    );
  });

  it("reads the same of damaged bytes as protobuf-es, or fails like it", () => {
    const seen = { read: 0, failed: 0 };
    const cases = anyType.chain((desc) => fc.tuple(fc.constant(desc), damaged(desc)));
    fc.assert(
      fc.property(cases, ([desc, bytes]) => {
        seen[same(desc, bytes) === failed ? "failed" : "read"]++;
      }),
      { numRuns: scaled(1_500, 5_000) },
    );
    expect(seen.read).toBeGreaterThan(100);
    expect(seen.failed).toBeGreaterThan(100);
  });

  it("merges a message that comes in two parts, as protobuf-es does", () => {
    const cases = anyType.chain((desc) => fc.tuple(fc.constant(desc), anyMessage(desc), anyMessage(desc)));
    fc.assert(
      fc.property(cases, ([desc, first, second]) => {
        expect(same(desc, Buffer.concat([toBinary(desc, first), toBinary(desc, second)]))).not.toBe(failed);
      }),
      { numRuns: scaled(300, 3_000) },
    );
    const data = (json: unknown) => ({ content: { case: "data" as const, value: toValue(json) } });
    const parts = [{ a: 1, b: { c: 1 } }, { b: { d: [1] }, e: null }, [1], [2], "text"];
    for (const one of parts) {
      for (const other of parts) {
        const bytes = [one, other].map((json) => toBinary(PartSchema, create(PartSchema, data(json))));
        same(PartSchema, Buffer.concat(bytes));
      }
    }
    const metadata = parts
      .slice(0, 2)
      .map((json) => toBinary(MessageSchema, create(MessageSchema, { metadata: json as never })));
    expect(same(MessageSchema, Buffer.concat(metadata))).toMatchObject({ metadata: { a: 1, b: { d: [1] }, e: null } });
  });

  it("fails for every part of a message that protobuf-es fails for", () => {
    const parts = [
      { content: { case: "text" as const, value: "a\u00e9" } },
      { filename: "f", metadata: { a: [true] } },
    ];
    const message = create(MessageSchema, { messageId: "m", parts, metadata: { a: 1.5 }, referenceTaskIds: ["t"] });
    const bytes = Buffer.from(toBinary(MessageSchema, message));
    const read = Array.from(bytes, (_, end) => same(MessageSchema, bytes.subarray(0, end)));
    expect(read.filter((each) => each === failed).length).toBeGreaterThan(bytes.length / 2);
  });

  it("reads an entry of a map whose parts come twice, or not at all", () => {
    const scheme = (field: number, text: string): Uint8Array => tagged(2, tagged(1, tagged(field, Buffer.from(text))));
    const name = (text: string): Uint8Array => tagged(1, Buffer.from(text));
    const entries = [
      [name("a"), scheme(1, "d"), scheme(2, "l")],
      [scheme(1, "d"), name("a"), name("b")],
      [name("__proto__"), scheme(1, "d")],
      [name("c")],
      [],
    ];
    const card = same(AgentCardSchema, Buffer.concat(entries.map((entry) => tagged(8, Buffer.concat(entry)))));
    expect(Object.keys((card as AgentCard).securitySchemes)).toEqual(["a", "b", "__proto__", "c", ""]);
  });

  it("reads a null whose number is another", () => {
    for (const number of [0, 1, -1, 2 ** 31 - 1]) {
      const value = new BinaryWriter().tag(1, WireType.Varint).int32(number).finish();
      expect(same(PartSchema, tagged(4, value))).toMatchObject({ content: { value: { kind: { value: number } } } });
    }
  });

  it("stops at the same level of messages as protobuf-es", () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    const read = [];
    for (let levels = 40; levels < 55; levels++) {
      const data = toBinary(
        PartSchema,
        create(PartSchema, { content: { case: "data", value: toValue(nested(levels)) } }),
      );
      const metadata = toBinary(MessageSchema, create(MessageSchema, { metadata: { a: nested(levels) } as never }));
      const groups = Uint8Array.from([...Array(2 * levels).fill(0x7b), ...Array(2 * levels).fill(0x7c)]);
      for (const limit of [undefined, 90, 200]) {
        read.push(same(PartSchema, data, limit), same(MessageSchema, metadata, limit), same(TaskSchema, groups, limit));
      }
    }
    expect(read.filter((each) => each === failed).length).toBeGreaterThan(10);
    expect(read.filter((each) => each !== failed).length).toBeGreaterThan(10);
  });

  it("keeps views of the bytes it is given, and unknown fields", () => {
    const message = create(SendMessageRequestSchema, {
      message: {
        messageId: "m",
        role: Role.USER,
        parts: [{ content: { case: "raw", value: Uint8Array.of(1, 2, 3) } }],
      },
    });
    const bytes = Buffer.concat([toBinary(SendMessageRequestSchema, message), Buffer.from([0xc0, 0x3e, 7])]);
    const read = binaryReader(SendMessageRequestSchema)(bytes);
    const raw = read.message?.parts[0]?.content.value;
    expect(raw).toEqual(Buffer.of(1, 2, 3));
    expect((raw as Buffer).buffer).toBe(bytes.buffer);
    expect(read.$unknown).toEqual([{ no: 1000, wireType: 0, data: Buffer.of(7) }]);
  });

  it("leaves types with other features to protobuf-es", () => {
    const file = toBinary(FileDescriptorProtoSchema, StructSchema.file.proto);
    for (const desc of [FileDescriptorProtoSchema, TypeSchema, AnySchema, ...file_google_protobuf_wrappers.messages]) {
      same(
        desc,
        desc === FileDescriptorProtoSchema
          ? file
          : toBinary(StringValueSchema, create(StringValueSchema, { value: "a" })),
      );
    }
    fc.assert(
      fc.property(
        fc.constantFrom(TypeSchema, AnySchema, ...file_google_protobuf_wrappers.messages),
        fc.uint8Array(),
        (desc, bytes) => {
          same(desc, bytes);
        },
      ),
    );
  });
});
