import { describe, expect, it } from "vitest";
import { scaledTests } from "./scaled-tests.js";

describe("scaledTests()", () => {
  const scaled = scaledTests();

  it("lists files that import cover.ts", () => {
    expect(scaled.length).toBeGreaterThan(20);
    for (const name of ["auth/matrix", "cli/a2a/tls", "conformance/tasks", "support/cover"]) {
      expect(scaled).toContain(`test/${name}.test.ts`);
    }
  });

  it("lists tests alone, as those that import it through another file would not be listed", () => {
    expect(scaled.filter((name) => !name.endsWith(".test.ts"))).toEqual([]);
  });

  it("lists no other", () => {
    expect(scaled).not.toContain("test/support/sse.test.ts");
    expect(scaled).not.toContain("test/engine/engine.test.ts");
    expect(scaled).not.toContain("test/support/scaled-tests.test.ts");
  });
});
