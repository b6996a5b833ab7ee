import { clone, create, type DescMessage, equals, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PartSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isSameMessage } from "../../src/client/follow/update.js";
import { anyMessage, contractTypes } from "../wire/arbitrary.js";

/** A message with a second one that is equal or differs in one or in all members. */
function pair(desc: DescMessage): fc.Arbitrary<readonly [Message, Message]> {
  const member = desc.members.length === 0 ? fc.constant("") : fc.constantFrom(...desc.members.map((m) => m.localName));
  return fc
    .tuple(anyMessage(desc), anyMessage(desc), member, fc.constantFrom("copy", "member", "other"))
    .map(([one, other, name, how]) => {
      if (how === "other") return [one, other];
      const copy = clone(desc, one);
      const from = other as unknown as Record<string, unknown>;
      if (how === "member" && name !== "") Object.assign(copy, { [name]: from[name] });
      return [one, copy];
    });
}

describe("isSameMessage()", () => {
  it.each(contractTypes.map((desc) => [desc.typeName, desc] as const))(
    "says of %s what the library says",
    (_, desc) => {
      fc.assert(
        fc.property(pair(desc), ([one, other]) => {
          expect(isSameMessage(one, other)).toBe(equals(desc, one, other));
          expect(isSameMessage(other, one)).toBe(equals(desc, one, other));
        }),
      );
    },
  );

  it("does not mind the order of members, nor what nobody knows", () => {
    const one = create(TaskSchema, { id: "1", metadata: { a: 1, b: { c: [null, { d: true }], e: "" } } });
    const other = create(TaskSchema, { metadata: { b: { e: "", c: [null, { d: true }] }, a: 1 }, id: "1" });
    other.$unknown = [{ no: 99, wireType: 0, data: new Uint8Array([1]) }];
    expect(isSameMessage(one, other)).toBe(true);
  });

  it.each<[string, object, object]>([
    ["an empty object is none", { metadata: {} }, {}],
    ["an object is a list", { metadata: { a: {} } }, { metadata: { a: [] } }],
    ["null is absent", { metadata: { a: null } }, { metadata: {} }],
    ["a member is one that every object has", { metadata: JSON.parse('{"__proto__":{}}') }, { metadata: { a: {} } }],
    ["a list is longer", { metadata: { a: [1] } }, { metadata: { a: [1, 2] } }],
    ["bytes differ", { content: { case: "raw", value: new Uint8Array([1, 2]) } }, raw(1, 3)],
    ["bytes are fewer", { content: { case: "raw", value: new Uint8Array([1, 2]) } }, raw(1)],
    ["a text is an address", { content: { case: "text", value: "a" } }, { content: { case: "url", value: "a" } }],
  ])("tells apart where %s", (_, one, other) => {
    expect(isSameMessage(create(PartSchema, one), create(PartSchema, other))).toBe(false);
    expect(isSameMessage(create(PartSchema, other), create(PartSchema, one))).toBe(false);
    expect(isSameMessage(create(PartSchema, one), create(PartSchema, one))).toBe(true);
  });
});

function raw(...bytes: number[]): object {
  return { content: { case: "raw", value: new Uint8Array(bytes) } };
}
