import { create, type DescMessage, equals, fromBinary, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AgentCardSchema,
  GetTaskRequestSchema,
  MessageSchema,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../src/core/error.js";
import { jsonReader } from "../../src/wire/json-reader.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { scaled } from "../support/soak.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

/** Violations of an input, by path; empty if the reader accepts it. */
function violations(desc: DescMessage, json: unknown): Record<string, string> {
  try {
    jsonReader(desc)(json);
    return {};
  } catch (error) {
    const { reason, violations } = error as A2AError;
    expect(reason).toBe("INVALID_PARAMS");
    return Object.fromEntries(violations.map(({ field, description }) => [field, description]));
  }
}

describe("an enum", () => {
  it("names what may be chosen, and not the value that stands for none", () => {
    const role = (): unknown => jsonReader(MessageSchema)({ role: "user" });
    expect(role).toThrow("role: must be one of ROLE_USER, ROLE_AGENT");
  });
});

describe("jsonReader()", () => {
  for (const desc of contractTypes) {
    it(`reads ${desc.typeName} as protobuf-es does`, () => {
      fc.assert(
        fc.property(anyMessage(desc), (message) => {
          const read = jsonReader(desc)(toJson(desc, message));
          expect(equals(desc, read, message)).toBe(true);
          expect(read).toEqual(message);
          expect(toBinary(desc, read)).toEqual(toBinary(desc, message));
          expect(reflect(desc, read).fields.length).toBe(desc.fields.length);
        }),
        { numRuns: scaled(25, 60) },
      );
    });

    it(`throws nothing but violations at any JSON for ${desc.typeName}`, () => {
      const names = desc.fields.flatMap((field) => [field.jsonName, field.name]);
      const key = names.length === 0 ? fc.string() : fc.oneof(fc.constantFrom(...names), fc.constant("__proto__"));
      const json = fc.letrec((tie) => ({
        value: fc.oneof(
          { depthSize: "small" },
          fc.constantFrom(null, true, 1.5, Number.POSITIVE_INFINITY, "x", "2025-01-01T00:00:00Z", "\ud800"),
          fc.array(tie("value"), { maxLength: 3 }),
          tie("object"),
        ),
        object: fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
      })).value;
      fc.assert(
        fc.property(fc.oneof(json, fc.anything({ withBigInt: true, withDate: true, withMap: true })), (input) => {
          try {
            const message = jsonReader(desc)(input);
            expect(equals(desc, fromBinary(desc, toBinary(desc, message)), message)).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(A2AError);
            expect((error as A2AError).reason).toBe("INVALID_PARAMS");
          }
        }),
        { numRuns: scaled(25, 60) },
      );
    });
  }

  it("makes what create() makes", () => {
    expect(jsonReader(AgentCardSchema)({})).toStrictEqual(create(AgentCardSchema));
    expect(
      jsonReader(SendMessageRequestSchema)({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } }),
    ).toStrictEqual(
      create(SendMessageRequestSchema, {
        message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "hi" } }] },
      }),
    );
    const [first, second] = [jsonReader(MessageSchema)({}), jsonReader(MessageSchema)({})];
    first.extensions.push("x");
    expect(second.extensions).toEqual([]);
  });

  it("ignores unknown members", () => {
    expect(violations(GetTaskRequestSchema, { id: "t", kind: "task", toString: 1, constructor: {} })).toEqual({});
  });

  it("accepts names as in the proto, but not beside the other name", () => {
    const read = jsonReader(GetTaskRequestSchema)({ history_length: 3 });
    expect(read.historyLength).toBe(3);
    expect(violations(GetTaskRequestSchema, { history_length: 3, historyLength: 4 })).toHaveProperty("history_length");
  });

  it("takes null for absence, except for a Value", () => {
    expect(jsonReader(GetTaskRequestSchema)({ id: null, historyLength: null })).toStrictEqual(
      create(GetTaskRequestSchema),
    );
    expect(jsonReader(MessageSchema)({ parts: null, metadata: null })).toStrictEqual(create(MessageSchema));
    expect(jsonReader(PartSchema)({ text: null, url: "u" }).content).toEqual({ case: "url", value: "u" });
    expect(jsonReader(PartSchema)({ data: null }).content).toMatchObject({
      case: "data",
      value: { kind: { case: "nullValue" } },
    });
  });

  it("reads enums by name and by number", () => {
    const state = (value: JsonValue) => jsonReader(TaskStatusSchema)({ state: value }).state;
    expect(state("TASK_STATE_WORKING")).toBe(2);
    expect(state(2)).toBe(2);
    expect(state(99)).toBe(99);
    for (const value of ["working", "WORKING", "2", 1.5, 2 ** 31, true]) {
      expect(violations(TaskStatusSchema, { state: value }).state).toContain("TASK_STATE_WORKING");
    }
  });

  it("reads int32 from numbers and numeric strings", () => {
    const length = (value: JsonValue) => jsonReader(GetTaskRequestSchema)({ historyLength: value }).historyLength;
    expect([10, "10", 1e2, "1e2", "10.0", -(2 ** 31), -0, "-0"].map(length)).toEqual([
      10,
      10,
      100,
      100,
      10,
      -(2 ** 31),
      0,
      0,
    ]);
    for (const value of [1.5, "1.5", 2 ** 31, "", " 1", "0x10", "ten", true, [1]]) {
      expect(violations(GetTaskRequestSchema, { historyLength: value })).toHaveProperty("historyLength");
    }
  });

  it("reads base64 of both alphabets, padded or not", () => {
    const raw = (value: JsonValue) => [...(jsonReader(PartSchema)({ raw: value }).content.value as Uint8Array)];
    for (const text of ["//4+Pw==", "//4+Pw", "__4-Pw==", "__4-Pw"]) expect(raw(text)).toEqual([255, 254, 62, 63]);
    expect(raw("")).toEqual([]);
    for (const value of ["a", "ab=", "a===", "ab==c", "é", 5])
      expect(violations(PartSchema, { raw: value })).toHaveProperty("raw");
  });

  it("reads timestamps with zero to nine digits and offsets", () => {
    const at = (value: string) => jsonReader(TaskStatusSchema)({ timestamp: value }).timestamp;
    expect(at("2025-10-28T10:30:00Z")).toMatchObject({ seconds: 1761647400n, nanos: 0 });
    expect(at("2025-10-28T10:30:00.123456789Z")).toMatchObject({ seconds: 1761647400n, nanos: 123_456_789 });
    expect(at("2025-10-28T12:30:00.5+02:00")).toMatchObject({ seconds: 1761647400n, nanos: 500_000_000 });
    expect(at("1969-12-31T23:59:59.5Z")).toMatchObject({ seconds: -1n, nanos: 500_000_000 });
    expect(at("2024-02-29T00:00:00Z")).toBeDefined();
    const bad = [
      "2025-02-29T00:00:00Z",
      "2025-04-31T00:00:00+01:00",
      "2025-01-01",
      "2025-01-01T24:00:00Z",
      "2025-01-01T00:00:60Z",
    ];
    const worse = [
      "0000-01-01T00:00:00Z",
      "2025-01-01T00:00:00",
      "2025-01-01T00:00:00.1234567890Z",
      5,
      "0001-01-01T00:00:00+01:00",
    ];
    for (const value of [...bad, ...worse])
      expect(violations(TaskStatusSchema, { timestamp: value })).toHaveProperty("timestamp");
  });

  it("refuses several members of a one-of", () => {
    expect(violations(PartSchema, { text: "a", url: "b" })).toHaveProperty("url");
    expect(violations(SendMessageResponseSchema, { task: { id: "t" }, message: {} })).toHaveProperty("message");
  });

  it("names every violation with its path", () => {
    const request = {
      tenant: 5,
      message: {
        role: "user",
        parts: [{ text: 1 }, "x", { metadata: { a: { "b c": [Number.POSITIVE_INFINITY] } } }],
        extensions: [null],
      },
      configuration: [],
    };
    expect(Object.keys(violations(SendMessageRequestSchema, request))).toEqual([
      "tenant",
      "message.role",
      "message.parts[0].text",
      "message.parts[1]",
      'message.parts[2].metadata.a["b c"][0]',
      "message.extensions[0]",
      "configuration",
    ]);
    expect(
      violations(AgentCardSchema, { securitySchemes: { "a.b": { apiKeySecurityScheme: { name: 1 } } } }),
    ).toHaveProperty(['securitySchemes["a.b"].apiKeySecurityScheme.name']);
    expect(Object.keys(violations(SendMessageRequestSchema, null))).toEqual([""]);
  });

  it("lists at most 100 violations", () => {
    expect(Object.keys(violations(MessageSchema, { parts: Array.from({ length: 5_000 }, () => 1) }))).toHaveLength(100);
  });

  it("refuses half a surrogate pair, which has no UTF-8 form", () => {
    expect(violations(GetTaskRequestSchema, { id: "\ud800" })).toHaveProperty("id");
    expect(violations(PartSchema, { data: ["\udc00"] })).toHaveProperty("data[0]");
    expect(violations(PartSchema, { metadata: { "\udc00": 1 } })).not.toEqual({});
  });

  it("does not touch prototypes", () => {
    const json = JSON.parse(
      '{"__proto__":{"polluted":1},"metadata":{"__proto__":{"polluted":1}},"data":{"__proto__":{"polluted":1}}}',
    );
    const part = jsonReader(PartSchema)(json);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect((part as { polluted?: number }).polluted).toBeUndefined();
    expect(JSON.parse(jsonWriter(PartSchema)(part))).toEqual({ metadata: json.metadata, data: json.data });
    const card = jsonReader(AgentCardSchema)(JSON.parse('{"securitySchemes":{"__proto__":{}}}'));
    expect(Object.keys(card.securitySchemes)).toEqual(["__proto__"]);
  });

  it("refuses nesting that a binary reader would not follow, and accepts nothing else of that kind", () => {
    const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    for (const member of ["data", "metadata"]) {
      const input = (depth: number) => ({
        message: { parts: [{ [member]: member === "data" ? nested(depth) : { a: nested(depth) } }] },
      });
      expect(violations(SendMessageRequestSchema, input(40))).toEqual({});
      expect(Object.values(violations(SendMessageRequestSchema, input(100)))).toEqual(["is nested too deep"]);
      expect(Object.values(violations(SendMessageRequestSchema, input(100_000)))).toEqual(["is nested too deep"]);
      for (let depth = 38; depth < 60; depth++) {
        if (Object.keys(violations(SendMessageRequestSchema, input(depth))).length > 0) break;
        const message = jsonReader(SendMessageRequestSchema)(input(depth));
        expect(
          fromBinary(SendMessageRequestSchema, toBinary(SendMessageRequestSchema, message), {
            recursionLimit: 92,
          } as never),
        ).toBeDefined();
      }
    }
  });
});
