import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFault, valueFault } from "../../src/service/rules.js";

const number = (value: number): Value => create(ValueSchema, { kind: { case: "numberValue", value } });
const list = (values: Value[]): Value => create(ValueSchema, { kind: { case: "listValue", value: { values } } });

function nested(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

describe("values of a binary request", () => {
  it("are refused when no JSON could show them", () => {
    expect(valueFault(list([number(1), number(Number.NaN)]))).toMatch(/finite/);
    expect(valueFault(list([create(ValueSchema)]))).toMatch(/kind/);
    expect(jsonFault({ a: [1, { b: Number.POSITIVE_INFINITY }] })).toMatch(/finite/);
  });

  it("are refused when they are nested deeper than a stored entry can be read", () => {
    expect(valueFault(fromJson(ValueSchema, nested(43)))).toBeUndefined();
    expect(valueFault(fromJson(ValueSchema, nested(44)))).toMatch(/deep/);
    expect(jsonFault(nested(43))).toBeUndefined();
    expect(jsonFault(nested(44))).toMatch(/deep/);
  });

  it("are taken when they are JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (json) => {
        expect(valueFault(fromJson(ValueSchema, json as JsonValue))).toBeUndefined();
        expect(jsonFault(json as JsonValue)).toBeUndefined();
      }),
    );
  });
});
