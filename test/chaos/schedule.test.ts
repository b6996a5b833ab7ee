import { describe, expect, it } from "vitest";
import { type Step, schedule } from "./schedule.js";

const names = ["kill", "pause", "cut", "loss", "clock"];

function first(count: number, seed: number): Step[] {
  const steps = schedule(seed, names, 3);
  return Array.from({ length: count }, () => steps.next().value);
}

describe("a schedule of faults", () => {
  it("is the same for the same seed, and another for another", () => {
    expect(first(200, 7)).toEqual(first(200, 7));
    expect(first(200, 7)).not.toEqual(first(200, 8));
  });

  it("has every kind about equally often, and never the same one twice at a time", () => {
    const steps = first(300, 7);
    const counts = names.map((name) => steps.flatMap(({ faults }) => faults).filter((one) => one.name === name).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    for (const { faults } of steps) expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
  });
});
