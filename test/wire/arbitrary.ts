import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import * as errorDetails from "../../gen/google/rpc/error_details_pb.js";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Every message of the contract, and those that accompany errors. */
export const contractTypes: readonly DescMessage[] = [
  ...file_lf_a2a_v1_a2a.messages,
  ...errorDetails.file_google_rpc_error_details.messages,
];

/** Whole Unicode strings, with the characters in them that JSON escapes. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom('"', "\\", "\n", "\u0000", "\u2028", "é", "😀", "a"), maxLength: 8 }),
  },
);

const jsonValue: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 3 }).map(withoutMinusZero);

/** JSON has it, but JavaScript prints it as 0. */
function withoutMinusZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const struct = fc.dictionary(text, jsonValue, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>;

const timestamp = fc.record({
  seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
  nanos: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999_999 })),
});

function valueMessage(json: unknown): Value {
  const list = (items: readonly unknown[]) => ({ values: items.map(valueMessage) });
  if (json === null) return create(ValueSchema, { kind: { case: "nullValue", value: 0 } });
  if (typeof json === "string") return create(ValueSchema, { kind: { case: "stringValue", value: json } });
  if (typeof json === "number") return create(ValueSchema, { kind: { case: "numberValue", value: json } });
  if (typeof json === "boolean") return create(ValueSchema, { kind: { case: "boolValue", value: json } });
  if (Array.isArray(json)) return create(ValueSchema, { kind: { case: "listValue", value: list(json) as never } });
  const entries = Object.entries(json as object).map(([name, value]) => [name, valueMessage(value)]);
  return create(ValueSchema, {
    kind: { case: "structValue", value: { fields: Object.fromEntries(entries) } as never },
  });
}

function scalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 20 });
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.INT32:
      return fc.integer();
    case ScalarType.UINT32:
      return fc.nat();
    default:
      throw new Error(`no arbitrary for scalar ${type}`);
  }
}

function item(field: DescField): fc.Arbitrary<unknown> {
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map((value) => value.number), 77);
  if (field.message === undefined) return scalar(field.scalar);
  switch (field.message.typeName) {
    case "google.protobuf.Struct":
      return struct;
    case "google.protobuf.Value":
      return jsonValue.map(valueMessage);
    case "google.protobuf.Timestamp":
      return timestamp;
    case "google.protobuf.Duration":
      return fc.record({
        seconds: fc.bigInt({ min: 0n, max: 1_000_000n }),
        nanos: fc.integer({ min: 0, max: 999_999_999 }),
      });
    default:
      return messageInit(field.message);
  }
}

function member(field: DescField): fc.Arbitrary<unknown> {
  if (field.fieldKind === "list") return fc.array(item(field), { maxLength: 3 });
  if (field.fieldKind === "map") return fc.dictionary(text, item(field), { maxKeys: 3, noNullPrototype: true });
  return item(field);
}

function messageInit(desc: DescMessage): fc.Arbitrary<Record<string, unknown>> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const each of desc.members) {
    members[each.localName] =
      each.kind === "oneof"
        ? fc.oneof(...each.fields.map((field) => fc.record({ case: fc.constant(field.localName), value: item(field) })))
        : member(each);
  }
  return fc.record(members, { requiredKeys: [] });
}

/** Messages of a type with any of their fields set; no field at all is one of them. */
export function anyMessage(desc: DescMessage): fc.Arbitrary<Message> {
  return messageInit(desc).map((init) => create(desc, init as never));
}
