import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { inventory } from "./inventory.js";

const TESTS = join(import.meta.dirname, "..");

describe("the inventory of limits", () => {
  it("has each limit, and no other: a new one says where it is judged, and what fails without it [SRV-SEC-04]", () => {
    expect(Object.keys(inventory).toSorted()).toEqual(Object.keys(defaultLimits).toSorted());
  });

  it("has at most 45 limits: a number that operators would not tune is a constant beside its use", () => {
    expect(Object.keys(inventory).length).toBeLessThanOrEqual(45);
  });

  it.each(Object.entries(inventory))("%s has a test that sets it, or shows it", (limit, { test, as, why }) => {
    if (test === "none") return expect(why, limit).toBeDefined();
    const path = join(TESTS, test);
    expect(existsSync(path), `${test} is not there`).toBe(true);
    expect(readFileSync(path, "utf8")).toContain(as ?? limit);
  });

  it.each(Object.entries(inventory).filter(([, { test }]) => test.startsWith("limits/")))(
    "%s is tried over every binding, each spoken by a client of its own",
    (_limit, { test }) => {
      expect(readFileSync(join(TESTS, test), "utf8")).toMatch(/describe\.each\(everyBinding/);
    },
  );
});
