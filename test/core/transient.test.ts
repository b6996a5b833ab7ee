import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransientMap, TransientSet } from "../../src/core/maps.js";

const steps = fc.array(fc.tuple(fc.constantFrom("put", "delete"), fc.nat(300)), { maxLength: 2_000 });

describe("TransientMap", () => {
  it("has what a Map has, through growth and back", () => {
    const uuids = Array.from({ length: 301 }, () => randomUUID());
    // Short keys, and keys whose hashed ends are equal.
    const keysOf = fc.constantFrom<(index: number) => string>(
      (index) => uuids[index] as string,
      (index) => `${index}`,
      (index) => `${index}-the same end`,
    );
    fc.assert(
      fc.property(steps, keysOf, (all, keyOf) => {
        const [map, model] = [new TransientMap<number>(), new Map<string, number>()];
        for (const [step, index] of all) {
          const key = keyOf(index);
          if (step === "put") {
            map.set(key, index);
            model.set(key, index);
          } else {
            expect(map.delete(key)).toBe(model.delete(key));
          }
          expect(map.size).toBe(model.size);
          expect(map.get(key)).toBe(model.get(key));
          expect(map.has(key)).toBe(model.has(key));
        }
        expect(map.keys().sort()).toEqual([...model.keys()].sort());
        expect(map.values().sort()).toEqual([...model.values()].sort());
      }),
    );
  });

  it("shrinks again", () => {
    const map = new TransientMap<number>();
    for (let i = 0; i < 10_000; i++) map.set(`${i}`, i);
    for (let i = 0; i < 9_999; i++) expect(map.delete(`${i}`)).toBe(true);
    expect([map.size, map.get("9999"), map.get("1")]).toEqual([1, 9_999, undefined]);
    expect(map.keys()).toEqual(["9999"]);
  });
});

describe("TransientSet", () => {
  it("has what a Set has", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const [set, other, model] = [new TransientSet<object>(), new TransientSet<object>(), new Set<object>()];
        const members = Array.from({ length: 301 }, (_, index) => ({ index }));
        for (const [step, index] of all) {
          const member = members[index] as object;
          // An object may be in several sets.
          other.add(member);
          if (step === "put") {
            set.add(member);
            model.add(member);
          } else {
            expect(set.delete(member)).toBe(model.delete(member));
          }
          expect([set.size, set.has(member)]).toEqual([model.size, model.has(member)]);
        }
        expect(new Set(set.values())).toEqual(model);
      }),
    );
  });
});
