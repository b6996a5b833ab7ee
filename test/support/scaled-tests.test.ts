import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./compiled.js";
import { scaledTests } from "./scaled-tests.js";

describe("scaledTests()", () => {
  const scaled = scaledTests();

  it("lists every test file that imports cover.ts", () => {
    const importing = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts"))
      .filter((name) => /from "[./]+\/(support\/)?cover\.js"/.test(readFileSync(join(root, "test", name), "utf8")));
    expect(importing.length).toBeGreaterThan(40);
    for (const name of importing) expect(scaled).toContain(`test/${name.replaceAll("\\", "/")}`);
  });

  it("lists those that import it through another file", () => {
    expect(scaled).toContain("test/slow-engine/memory.test.ts");
  });

  it("lists no other", () => {
    expect(scaled).not.toContain("test/support/sse.test.ts");
    expect(scaled).not.toContain("test/engine/engine.test.ts");
    expect(scaled).not.toContain("test/support/scaled-tests.test.ts");
  });
});
