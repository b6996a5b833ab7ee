import { describe, expect, it } from "vitest";
import { nextRound } from "../../src/core/next-round.js";

describe("nextRound()", () => {
  it("goes on with the others of a round when one throws, and tells that one", async () => {
    const done: string[] = [];
    const one = (name: string, error?: Error) => ({
      run: () => {
        if (error !== undefined) throw error;
        done.push(name);
      },
      failed: (thrown: unknown) => void done.push(`${name}: ${(thrown as Error).message}`),
    });
    for (const each of [one("a"), one("b", new Error("broken")), one("c")]) nextRound(each);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done).toEqual(["a", "b: broken", "c"]);
    nextRound(one("d"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done).toHaveLength(4);
  });
});
