import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Pattern } from "./case.js";
import { eventFaults, faults } from "./pattern.js";
import { Variables } from "./variables.js";

type Row = readonly [
  pattern: Pattern,
  fits: readonly (JsonValue | undefined)[],
  not: readonly (JsonValue | undefined)[],
];

const uuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

const table: readonly Row[] = [
  ["a", ["a"], ["b", "", null, undefined, ["a"]]],
  [1, [1], ["1", 1.5, undefined]],
  [true, [true], [false, "true", undefined]],
  [null, [null], [undefined, 0, ""]],
  [{ a: 1 }, [{ a: 1 }, { a: 1, b: 2 }], [{}, { a: 2 }, [1], null, undefined, "a"]],
  [{}, [{}, { a: 1 }], [[], null, undefined]],
  [[1, "$any"], [[1, 2]], [[1], [1, 2, 3], [2, 1], {}, undefined]],
  ["$string", ["x"], ["", 1, null, undefined]],
  ["$uuid", [uuid, uuid.toUpperCase()], ["x", `${uuid}0`, undefined]],
  [
    "$iso8601",
    ["2025-04-02T16:59:25Z", "2025-04-02T16:59:25.331844", "2025-04-02T16:59:25+02:00"],
    ["2025-04-02", 1, undefined],
  ],
  ["$int", [0, -3], [1.5, "1", undefined]],
  ["$bool", [true, false], [0, "true", undefined]],
  ["$array", [[], [1]], [{}, undefined]],
  ["$object", [{}, { a: 1 }], [[], null, undefined]],
  ["$any", [null, 0, "", []], [undefined]],
  ["$any?", [null, 0, undefined], []],
  ["$absent", [undefined], [null, "", 0]],
  [{ a: "$absent" }, [{}, { b: 1 }], [{ a: null }, { a: 1 }]],
  [{ toString: "$absent" }, [{}], [{ toString: 1 }]],
  [{ $oneOf: [1, "$absent"] }, [1, undefined], [2, null]],
  [{ a: { $oneOf: [false, "$absent"] } }, [{}, { a: false }], [{ a: true }]],
  [{ $not: "a" }, ["b", 1, null], ["a", undefined]],
  [{ $startsWith: "ab" }, ["ab", "abc"], ["a", "cab", undefined, 1]],
  [{ $contains: "b" }, ["abc"], ["ac", undefined]],
  [{ $matches: "^[a-z-]+$" }, ["input-required"], ["TASK_STATE_WORKING", 1, undefined]],
  [{ $each: { a: 1 } }, [[{ a: 1 }], [{ a: 1 }, { a: 1, b: 2 }]], [[], [{ a: 1 }, { a: 2 }], {}, undefined]],
  [{ $includes: [1, 2] }, [[2, 3, 1]], [[1], [], undefined]],
  [{ $length: 2 }, [[1, 2]], [[1], "ab", undefined]],
];

describe("a pattern", () => {
  it.each(table)("%j", (pattern, fits, not) => {
    for (const value of fits) expect(faults(value, pattern), `${JSON.stringify(value)} fits`).toEqual([]);
    for (const value of not) expect(faults(value, pattern), `${JSON.stringify(value)} does not fit`).not.toEqual([]);
  });

  it("says where a value differs", () => {
    const pattern = { result: { parts: [{ text: "$string" }] } };
    expect(faults({ result: { parts: [{ text: "" }] } }, pattern)).toEqual([
      'result.parts[0].text is "" instead of $string',
    ]);
  });

  it.each([["$sting"], [{ $ofOne: [1] }], [{ $oneOf: [1], $length: 1 }], [{ $oneOf: 1 }]])(
    "with a word that is not known fails whatever the value is: %j",
    (pattern) => {
      expect(() => faults(1, pattern as Pattern)).toThrow("The pattern has");
    },
  );
});

describe("patterns of events", () => {
  const many = { $zeroOrMore: { a: 1 } };
  it.each([
    [[], [], true],
    [[{ a: 1 }], [], false],
    [[], [{ a: 1 }], false],
    [[{ a: 1 }, { b: 1 }], [{ a: 1 }, { b: 1 }], true],
    [[{ b: 1 }, { a: 1 }], [{ a: 1 }, { b: 1 }], false],
    [[{ a: 1 }], [{ a: 1 }, { b: 1 }], false],
    [[{ b: 1 }], [many, { b: 1 }], true],
    [[{ a: 1 }, { a: 1 }, { b: 1 }], [many, { b: 1 }], true],
    [[{ a: 1 }, { c: 1 }, { b: 1 }], [many, { b: 1 }], false],
    // Later patterns may need events that an earlier one has matched, so the match backtracks.
    [[{ a: 1 }, { a: 1 }], [many, { a: 1 }], true],
    [[], [many], true],
    [[{ a: 2 }], [many], false],
  ] as const)("%j, %j: %s", (events, patterns, fits) => {
    expect(eventFaults(events, patterns as readonly Pattern[]).length === 0).toBe(fits);
  });
});

describe("variables", () => {
  it("are filled in everywhere, and a UUID is the same for the same name", () => {
    const variables = new Variables({ rpc: "/" });
    const filled: Record<string, string[]> = variables.fillAll({ "${rpc}": ["${uuid:a}", "${uuid:a}", "${uuid:b}"] });
    const [first, second, other] = filled["/"] ?? [];
    expect(faults(first, "$uuid")).toEqual([]);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
    expect(variables.fillAll([1, null, { a: true }])).toEqual([1, null, { a: true }]);
    expect(() => variables.fill("${nothing}")).toThrow("no value nothing");
  });

  it("are captured from where a pointer leads", () => {
    const variables = new Variables({});
    variables.capture({ body: { list: [{ id: "x" }] } }, { id: "/body/list/0/id" });
    expect(variables.fill("tasks/${id}")).toBe("tasks/x");
    expect(() => variables.capture({ body: {} }, { id: "/body/id" })).toThrow("nothing to capture at /body/id");
  });
});
