import { describe, expect, it } from "vitest";
import { defer } from "../../src/core/event-loop.js";

describe("defer()", () => {
  it("goes on with the others of a round when one throws, and tells that one", async () => {
    const done: string[] = [];
    const one = (name: string, error?: Error) => ({
      run: () => {
        if (error !== undefined) throw error;
        done.push(name);
      },
      failed: (thrown: unknown) => void done.push(`${name}: ${(thrown as Error).message}`),
    });
    for (const each of [one("a"), one("b", new Error("broken")), one("c")]) defer(each);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done).toEqual(["a", "b: broken", "c"]);
    defer(one("d"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done).toHaveLength(4);
  });
});
