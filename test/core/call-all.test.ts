import { describe, expect, it } from "vitest";
import { callAll } from "../../src/core/event-loop.js";

describe("callAll()", () => {
  it("calls the others when one throws, and reports that", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const called: number[] = [];
    const broken = (): void => {
      throw new Error("broken");
    };
    const note = (n: number): void => void called.push(n);
    callAll([note, broken, (n: number) => note(n + 1)], 1);
    expect(called).toEqual([1, 2]);
    expect((await warned).message).toBe("broken");
  });
});
