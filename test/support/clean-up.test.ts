import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { afterEachTest } from "./clean-up.js";
import { root } from "./compiled.js";

const cleaned: string[] = [];
afterEachTest(() => cleaned.splice(0, cleaned.length, "first"));
afterEachTest(() => cleaned.push("never the last"));

describe("afterEachTest()", () => {
  it("runs nothing before the end of the first test", () => {
    expect(cleaned).toEqual([]);
  });

  it("has run what was registered, the last first", () => {
    expect(cleaned).toEqual(["first"]);
  });

  it("is called by every module that several files of tests import", () => {
    const modules = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).filter(
      (name) => /(?<!\.(test|tools|nodes|interop))\.ts$/.test(name) && !/^(interop|nodes)\/|setup\.ts$/.test(name),
    );
    const own = modules.filter((name) => /^after(Each|All)\(/m.test(readFileSync(join(root, "test", name), "utf8")));
    expect(own).toEqual([]);
  });
});
