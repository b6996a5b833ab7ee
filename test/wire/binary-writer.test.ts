import { create, fromBinary, fromJson, type JsonObject, type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageSchema, PartSchema, TaskSchema, TaskStatusSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { binaryWriter } from "../../src/wire/binary-writer.js";
import { scaled } from "../support/soak.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

const textPart = (value: string) => create(PartSchema, { content: { case: "text", value } });

describe("binaryWriter()", () => {
  it.each([...contractTypes, LogEntrySchema].map((desc) => [desc.name, desc] as const))(
    "writes the bytes of protobuf-es for any %s",
    (_name, desc) => {
      const write = binaryWriter(desc);
      fc.assert(
        fc.property(anyMessage(desc), (message) => {
          expect(write(message)).toEqual(Buffer.from(toBinary(desc, message)));
        }),
        { numRuns: scaled(20, 50) },
      );
    },
  );

  it("writes texts of every length and alphabet", () => {
    const write = binaryWriter(PartSchema);
    for (const unit of ["a", "é", "€", "😀", "a😀é"]) {
      for (const count of [0, 1, 20, 63, 64, 65, 127, 128, 129, 5_000, 20_000, 800_000]) {
        const part = textPart(unit.repeat(count));
        expect(Buffer.compare(write(part), toBinary(PartSchema, part))).toBe(0);
      }
    }
  });

  it("replaces half a surrogate pair, as protobuf-es does", () => {
    for (const value of ["\ud800", "a\udc00b", `${"x".repeat(200)}\ud800`]) {
      const part = textPart(value);
      expect(binaryWriter(PartSchema)(part)).toEqual(Buffer.from(toBinary(PartSchema, part)));
    }
  });

  it("puts lengths of one to four bytes before messages in messages", () => {
    const write = binaryWriter(MessageSchema);
    for (const size of [0, 100, 120, 130, 16_370, 16_390, 2_097_140, 2_097_160]) {
      const message = create(MessageSchema, { messageId: "m", parts: [textPart("x".repeat(size)), textPart("y")] });
      expect(Buffer.compare(write(message), toBinary(MessageSchema, message))).toBe(0);
    }
  });

  it("writes data and metadata with every kind of value, as protobuf-es does", () => {
    const json = JSON.parse(
      '{"__proto__": {"a": [1, -0, 0.1, 1e300, null, true, false, "", "€", {}]}, "": [[], [[]]], "\\ud800": "x"}',
    ) as JsonObject;
    const wide = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`member ${i}`, [i, { i: String(i) }]]));
    const content = (data: JsonObject) => ({ case: "data", value: fromJson(ValueSchema, data) }) as const;
    for (const value of [json, wide, {}]) {
      const part = create(PartSchema, { content: content(value), metadata: value });
      expect(Buffer.compare(binaryWriter(PartSchema)(part), toBinary(PartSchema, part))).toBe(0);
    }
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, -0].map((value) =>
      create(ValueSchema, { kind: { case: "numberValue", value } }),
    );
    for (const value of [...odd, create(ValueSchema)]) {
      expect(binaryWriter(ValueSchema)(value)).toEqual(Buffer.from(toBinary(ValueSchema, value)));
    }
  });

  it("writes numbers of every size", () => {
    const write = binaryWriter(TimestampSchema);
    const seconds = [0n, 1n, -1n, 127n, 128n, 2n ** 32n - 1n, 2n ** 32n, -(2n ** 62n), 2n ** 63n - 1n, -(2n ** 63n)];
    for (const second of seconds) {
      for (const nanos of [0, 1, 999_999_999, -1, -(2 ** 31), 2 ** 31 - 1]) {
        const time = create(TimestampSchema, { seconds: second, nanos });
        expect(write(time)).toEqual(Buffer.from(toBinary(TimestampSchema, time)));
      }
    }
  });

  it("keeps fields that the contract does not know, at every depth", () => {
    const part = new BinaryWriter().tag(1, WireType.LengthDelimited).string("text").tag(900, WireType.Varint).uint32(7);
    const bytes = new BinaryWriter()
      .tag(5, WireType.LengthDelimited)
      .bytes(part.finish())
      .tag(70_000, WireType.LengthDelimited)
      .string("later")
      .finish();
    expect(binaryWriter(MessageSchema)(fromBinary(MessageSchema, bytes))).toEqual(Buffer.from(bytes));
  });

  it("gives each message bytes of its own", () => {
    const write = binaryWriter(PartSchema);
    const first = write(textPart("first"));
    const before = Buffer.from(first);
    write(textPart("other"));
    expect(first).toEqual(before);
  });

  it("refuses values of another type, and goes on with the next message", () => {
    const write = binaryWriter(TaskSchema);
    const task = (id: unknown, state: unknown): Message & { $typeName: "lf.a2a.v1.Task" } => {
      const made = create(TaskSchema, { status: create(TaskStatusSchema) });
      Object.assign(made, { id });
      Object.assign(made.status as object, { state });
      return made as never;
    };
    for (const wrong of [task(7, 1), task("t", "WORKING"), task("t", 1.5), task("t", 2 ** 31)]) {
      expect(() => write(wrong as never)).toThrow(TypeError);
    }
    const right = task("t", 3);
    expect(write(right as never)).toEqual(Buffer.from(toBinary(TaskSchema, right as never)));
  });
});
