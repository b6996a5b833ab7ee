import { create, type DescMessage, equals, fromJson, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { canonicalCard, canonicalText, membersOfCard, withoutEmpty } from "../../../src/card/signing/canonical.js";
import { jsonOfCard } from "../../../src/card/signing/card-json.js";
import { scaled } from "../../support/soak.js";
import { anyMessage } from "../../wire/arbitrary.js";

/** Fields that every card needs. Tests add the others. */
const rest = {
  supportedInterfaces: [],
  version: "1",
  defaultInputModes: [],
  defaultOutputModes: [],
  description: "",
  skills: [],
};
const canonical = async (json: object): Promise<JsonObject> =>
  JSON.parse(await canonicalCard({ name: "A", ...rest, ...json }));

describe("canonicalCard()", () => {
  it("is the text that the specification shows [SRV-SIGN-01 SRV-SIGN-03 SRV-SIGN-04 SRV-SIGN-05]", async () => {
    const card = {
      name: "Example Agent",
      description: "",
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
      skills: [],
    };
    const shown =
      '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}';
    // The specification's fragment lacks REQUIRED fields. They are removed before the comparison.
    const {
      version: _,
      supportedInterfaces: _i,
      defaultInputModes: _m,
      defaultOutputModes: _o,
      ...rest
    } = JSON.parse(await canonicalCard(card));
    expect(await canonicalText(rest)).toBe(shown);
  });

  // Each row has a card as written, and its signed form.
  it.each([
    ["an optional field that is not set", {}, {}],
    ["an optional field at its default", { documentationUrl: "", iconUrl: "" }, { documentationUrl: "", iconUrl: "" }],
    ["an optional field that is null", { iconUrl: null }, {}],
    ["a switch at its default", { capabilities: { streaming: false } }, { capabilities: { streaming: false } }],
    ["a message that is set and empty", { capabilities: {} }, { capabilities: {} }],
    ["a member of a one-of that is empty", scheme({ mtlsSecurityScheme: {} }), scheme({ mtlsSecurityScheme: {} })],
    ["a scalar at its default", extension({ uri: "u", description: "", required: false }), extension({ uri: "u" })],
    ["a list that is empty", { securityRequirements: [], signatures: [] }, {}],
    ["a map that is empty", { securitySchemes: {} }, {}],
    ["REQUIRED fields of a nested message", { provider: { url: "" } }, { provider: { url: "", organization: "" } }],
    ["an entry of a map", requirement({ key: { list: [] } }), requirement({ key: {} })],
    ["values within free JSON", params({ a: "", b: [], c: null, d: {} }), params({ a: "", b: [], c: null, d: {} })],
    ["signatures", { signatures: [{ protected: "a", signature: "b" }] }, {}],
    ["the contract's own spelling", { icon_url: "x" }, { iconUrl: "x" }],
  ])("keeps or leaves out %s [SRV-SIGN-02 SRV-SIGN-06 SRV-SIGN-07 SRV-SIGN-08]", async (_what, written, signed) => {
    expect(await canonical(written)).toEqual({ name: "A", ...rest, ...signed });
  });

  it("has every REQUIRED field, whatever was written", async () => {
    const required = [
      "defaultInputModes",
      "defaultOutputModes",
      "description",
      "name",
      "skills",
      "supportedInterfaces",
      "version",
    ];
    expect(Object.keys(JSON.parse(await canonicalCard({})))).toEqual(required);
  });

  it("orders members by UTF-16 and writes numbers and texts as RFC 8785 does [SRV-SIGN-09]", async () => {
    // RFC 8785, 3.2.2 and 3.2.3.
    const numbers = JSON.parse("[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0]");
    const text = '€$\u000f\nA\'B"\\\\"/\u2028';
    const order = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, ö: 7 };
    const [extensions] = [await canonicalCard(params({ numbers, text, order }))];
    expect(extensions).toContain('"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0]');
    expect(extensions).toContain('"text":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\u2028"');
    expect(extensions).toContain('"order":{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  });

  it("knows every type that a card has a field of", () => {
    const seen = new Set<DescMessage>();
    const strange: string[] = [];
    const look = (desc: DescMessage): void => {
      if (seen.has(desc) || desc.typeName === "google.protobuf.Struct") return;
      seen.add(desc);
      for (const field of desc.fields) {
        if (field.message !== undefined) look(field.message);
        else if (![ScalarType.STRING, ScalarType.BOOL].includes(field.scalar as ScalarType))
          strange.push(String(field));
      }
    };
    look(AgentCardSchema);
    expect(strange).toEqual([]);
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a member twice", '{"name":"good","name":"evil"}'],
    ["a member twice, deep inside", '{"capabilities":{"extensions":[{"params":{"a:":1,"b":{"x":1,"x":2}}}]}}'],
    ["a member in two spellings", '{"iconUrl":"a","icon_url":"b"}'],
    ["a text where a list belongs", '{"skills":""}'],
    ["a number where a text belongs", '{"name":1}'],
    ["an item that is null", '{"skills":[null]}'],
    ["half a surrogate pair", '{"name":"\\ud800"}'],
    ["no UTF-8", Uint8Array.from([0x22, 0xff, 0x22])],
    ["nesting without end", `{"x":${"[".repeat(200_000)}${"]".repeat(200_000)}}`],
    [
      "parameters nested without end",
      `{"capabilities":{"extensions":[{"params":{"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}}]}}`,
    ],
  ])("refuses %s", async (_what, text) => {
    await expect(canonicalCard(text).then(() => membersOfCard(text))).rejects.toMatchObject({ name: "CardFormError" });
  });

  it("says nothing of a text that it cannot read, which may be a key", () => {
    expect(() => jsonOfCard("SECRET {")).toThrow(/^It is not JSON\.$/);
  });

  it("takes a colon, quotes and backslashes in texts for what they are", async () => {
    const text = '{ "name": "a\\":{\\\\", "description": ":" }';
    expect(JSON.parse(await canonicalCard(text))).toMatchObject({ name: 'a":{\\', description: ":" });
  });
});

describe("the canonical form of any card", () => {
  const anyCard = anyMessage(AgentCardSchema) as fc.Arbitrary<AgentCard>;
  const without = (card: AgentCard): AgentCard => create(AgentCardSchema, { ...card, signatures: [] });

  it("is that of another card exactly where both mean the same", async () => {
    await fc.assert(
      fc.asyncProperty(anyCard, anyCard, async (one, other) => {
        const same = (await canonicalCard(one)) === (await canonicalCard(other));
        expect(same).toBe(equals(AgentCardSchema, without(one), without(other)));
      }),
    );
  });

  it("changes with every value of the card", async () => {
    await fc.assert(
      fc.asyncProperty(anyCard, fc.nat(), async (card, seed) => {
        const json = jsonOfCard(card);
        delete json.signatures;
        const changed = changedSomewhere(json, seed);
        fc.pre(changed !== undefined);
        const before = await canonicalCard(json);
        const again = await canonicalCard(changed as JsonObject);
        const [a, b] = [json, changed].map((each) => fromJson(AgentCardSchema, each as JsonObject));
        // A change that protobuf does not distinguish leaves the text unchanged.
        expect(again === before).toBe(equals(AgentCardSchema, a as AgentCard, b as AgentCard));
      }),
      { numRuns: scaled(100, 300) },
    );
  });

  it("stays the same however the card is written", async () => {
    await fc.assert(
      fc.asyncProperty(anyCard, fc.nat(), async (card, seed) => {
        const again = JSON.stringify(otherwise(AgentCardSchema, jsonOfCard(card), seed), null, seed % 4);
        expect(await canonicalCard(again)).toBe(await canonicalCard(card));
      }),
      { numRuns: scaled(100, 300) },
    );
  });
});

describe("withoutEmpty()", () => {
  it("drops what other libraries drop", () => {
    const json = { a: "", b: [], c: {}, d: [{}, ["", { x: "" }], 1], e: { f: { g: "" }, h: false, i: 0 }, j: null };
    expect(withoutEmpty(json)).toEqual({ d: [1], e: { h: false, i: 0 } });
    expect(withoutEmpty({ a: {} })).toEqual({});
  });
});

function extension(fields: object): object {
  return { capabilities: { extensions: [fields] } };
}

function params(values: object): object {
  return extension({ params: values });
}

function scheme(value: object): object {
  return { securitySchemes: { a: value } };
}

function requirement(schemes: object): object {
  return { securityRequirements: [{ schemes }] };
}

/** Changes a text or a switch of the JSON, or removes a member or an item. Undefined if the JSON has none of them. */
function changedSomewhere(json: JsonObject | Record<string, unknown>, seed: number): unknown {
  const copy = structuredClone(json);
  const changes: (() => void)[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      const at = value as Record<string, unknown>;
      if (typeof inner === "string") changes.push(() => Object.defineProperty(at, name, { value: `${inner}x` }));
      if (typeof inner === "boolean") changes.push(() => Object.defineProperty(at, name, { value: !inner }));
      changes.push(() => (Array.isArray(value) ? value.splice(Number(name), 1) : delete at[name]));
      look(inner);
    }
  };
  look(copy);
  if (changes.length === 0) return undefined;
  changes[seed % changes.length]?.();
  return copy;
}

/**
 * Writes the same card differently: other order of members, the contract's own names, and explicit defaults and nulls.
 */
function otherwise(desc: DescMessage, json: Record<string, unknown>, seed: number): Record<string, unknown> {
  if (desc.typeName === "google.protobuf.Struct") return Object.fromEntries(Object.entries(json).toReversed());
  const inside = (field: DescMessage["fields"][number], value: unknown): unknown =>
    field.message === undefined ? value : otherwise(field.message, value as Record<string, unknown>, seed + 1);
  const members = desc.fields.flatMap((field, i): [string, unknown][] => {
    const name = (seed + i) % 3 === 0 ? field.name : field.jsonName;
    const value = json[field.jsonName];
    if (value === undefined) {
      if (field.fieldKind === "list" && seed % 2 === 0) return [[name, []]];
      if (
        field.fieldKind === "scalar" &&
        field.proto.proto3Optional !== true &&
        field.oneof === undefined &&
        seed % 2 === 0
      ) {
        return [[name, field.scalar === ScalarType.BOOL ? false : ""]];
      }
      return (seed + i) % 5 === 0 ? [[name, null]] : [];
    }
    if (field.fieldKind === "list") return [[name, (value as unknown[]).map((item) => inside(field, item))]];
    if (field.fieldKind === "map") {
      return [[name, Object.fromEntries(Object.entries(value as object).map(([k, v]) => [k, inside(field, v)]))]];
    }
    return [[name, inside(field, value)]];
  });
  return Object.fromEntries(seed % 2 === 0 ? members.toReversed() : members);
}
