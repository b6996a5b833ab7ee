import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { StringValueSchema, TimestampSchema, timestampFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  AgentCapabilitiesSchema,
  AgentCardSchema,
  ListTasksResponseSchema,
  MessageSchema,
  PartSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isRequired } from "../../src/wire/field-rules.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { scaled } from "../support/soak.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

/** Output of protobuf-es, changed in the points in which this protocol and its clients need more. */
function expected(message: ReflectMessage): JsonObject {
  const json = toJson(message.desc, message.message) as JsonObject;
  for (const field of message.fields) {
    if (message.isSet(field)) json[field.jsonName] = refine(field, message, json[field.jsonName] as JsonValue);
    else if ((isRequired(field) && field.fieldKind !== "message") || field.name === "configs")
      json[field.jsonName] = defaultOf(field);
  }
  return json;
}

function refine(field: DescField, message: ReflectMessage, json: JsonValue): JsonValue {
  const desc = field.message;
  if (desc?.typeName === "google.protobuf.Timestamp") return new Date(json as string).toISOString();
  if (desc === undefined || desc.typeName.startsWith("google.protobuf.")) return json;
  if (field.fieldKind === "list") return [...message.get(field)].map((item) => expected(item as ReflectMessage));
  if (field.fieldKind === "map") {
    const entries = [...message.get(field)] as [string, ReflectMessage][];
    return Object.fromEntries(entries.map(([name, item]) => [name, expected(item)]));
  }
  return expected(message.get(field) as ReflectMessage);
}

function defaultOf(field: DescField): JsonValue {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  if (field.fieldKind === "enum") return field.enum.values[0]?.name ?? 0;
  return field.fieldKind === "scalar"
    ? ((field.getDefaultValue() as JsonValue) ?? (field.scalar === 9 ? "" : 0))
    : null;
}

const written = (desc: DescMessage, message: Message): unknown => JSON.parse(jsonWriter(desc)(message));

describe("jsonWriter()", () => {
  for (const desc of contractTypes) {
    it(`writes ${desc.typeName} as protobuf-es does, with REQUIRED fields and milliseconds`, () => {
      fc.assert(
        fc.property(anyMessage(desc), (message) => {
          expect(written(desc, message)).toEqual(expected(reflect(desc, message)));
          const again = fromJson(desc, written(desc, message) as JsonValue);
          expect(written(desc, again)).toEqual(written(desc, message));
        }),
        { numRuns: scaled(25, 60) },
      );
    });
  }

  it("keeps REQUIRED fields at their default and leaves out others", () => {
    expect(jsonWriter(ListTasksResponseSchema)(create(ListTasksResponseSchema))).toBe(
      '{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}',
    );
    expect(written(MessageSchema, create(MessageSchema))).toEqual({
      messageId: "",
      role: "ROLE_UNSPECIFIED",
      parts: [],
    });
    expect(written(TaskSchema, create(TaskSchema))).toEqual({ id: "" });
    expect(written(AgentCardSchema, create(AgentCardSchema))).toMatchObject({ skills: [], supportedInterfaces: [] });
  });

  it("writes fields with explicit presence when they are set, also to their default", () => {
    const message = create(AgentCapabilitiesSchema, { streaming: false });
    expect(jsonWriter(AgentCapabilitiesSchema)(message)).toBe('{"streaming":false}');
  });

  it("writes timestamps with three fraction digits", () => {
    const timestampOf = (seconds: bigint, nanos: number) =>
      jsonWriter(TaskStatusSchema)(
        create(TaskStatusSchema, { state: TaskState.WORKING, timestamp: { seconds, nanos } }),
      );
    expect(timestampOf(1761647400n, 0)).toContain('"timestamp":"2025-10-28T10:30:00.000Z"');
    expect(timestampOf(1761647400n, 7_999_999)).toContain('"timestamp":"2025-10-28T10:30:00.007Z"');
    expect(timestampOf(-62135596800n, 0)).toContain('"0001-01-01T00:00:00.000Z"');
    expect(timestampOf(253402300799n, 999_999_999)).toContain('"9999-12-31T23:59:59.999Z"');
    expect(jsonWriter(TimestampSchema)(timestampFromMs(-1))).toBe('"1969-12-31T23:59:59.999Z"');
  });

  it("writes bytes in base64 with padding", () => {
    const part = create(PartSchema, { content: { case: "raw", value: new Uint8Array([255, 254, 62, 63]) } });
    expect(jsonWriter(PartSchema)(part)).toBe('{"raw":"//4+Pw=="}');
  });

  it("writes a set one-of member at its default, and nothing for an unset one", () => {
    expect(jsonWriter(PartSchema)(create(PartSchema, { content: { case: "text", value: "" } }))).toBe('{"text":""}');
    expect(jsonWriter(StreamResponseSchema)(create(StreamResponseSchema))).toBe("{}");
  });

  it("keeps a number that no enum name stands for", () => {
    expect(written(TaskStatusSchema, create(TaskStatusSchema, { state: 77 as TaskState }))).toEqual({ state: 77 });
  });

  it("leaves rare types to protobuf-es", () => {
    const info = create(RetryInfoSchema, { retryDelay: { seconds: 1n, nanos: 500_000_000 } });
    expect(jsonWriter(RetryInfoSchema)(info)).toBe('{"retryDelay":"1.500s"}');
    expect(jsonWriter(StringValueSchema)(create(StringValueSchema, { value: "x" }))).toBe('"x"');
  });

  it("escapes what JSON cannot hold as it is", () => {
    const odd = 'a"b\\c\n\u0000\ud800é😀';
    const part = create(PartSchema, { content: { case: "text", value: odd } });
    expect(JSON.parse(jsonWriter(PartSchema)(part))).toEqual({ text: odd });
  });

  it("refuses what has no JSON form", () => {
    const refused = (init: object) => () => jsonWriter(PartSchema)(create(PartSchema, init));
    const reason = expect.objectContaining({ reason: "INTERNAL", message: "Internal error." });
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(refused({ content: { case: "data", value: { kind: { case: "numberValue", value } } } })).toThrow(reason);
      expect(refused({ metadata: { deep: [value] } })).toThrow(reason);
    }
    expect(refused({ content: { case: "data", value: create(ValueSchema) } })).toThrow(reason);
    expect(refused({ metadata: { when: undefined } })).toThrow(reason);
    expect(refused({ content: { case: "text", value: 5 } })).toThrow(reason);
    expect(() => jsonWriter(TimestampSchema)(create(TimestampSchema, { seconds: 253402300800n }))).toThrow(reason);
    const endless: Record<string, unknown> = {};
    endless.self = endless;
    expect(refused({ metadata: endless })).toThrow(reason);
  });
});
