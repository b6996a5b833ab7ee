import { describe, expect, it } from "vitest";
import { boundOf, GOALS, judge } from "../../bench/goals.js";
import { measuredText, summary } from "../../bench/harness/report.js";
import { outcomes } from "../../bench/harness/results.js";

const made = { date: "2026-01-01T00:00:00.000Z", commit: "abc", quick: false, seconds: 3 };

describe("judge()", () => {
  it("meets a lower bound from the bound on", () => {
    expect([0.74, 0.75, 0.76].map((value) => judge("restReply", value).met)).toEqual([false, true, true]);
  });

  it("meets an upper bound up to the bound", () => {
    expect([1.19, 1.2, 1.21].map((value) => judge("finishedMemory", value).met)).toEqual([true, true, false]);
  });

  it("does not meet a goal with what is no number", () => {
    expect(judge("restReply", Number.NaN).met).toBe(false);
  });
});

describe("summary()", () => {
  it("has a line for every goal and tells missed from not measured", () => {
    const rows = [
      { name: "Parley, REST", figures: {}, targets: [judge("restReply", 0.8)] },
      { name: "Parley, JSON-RPC", figures: {}, targets: [judge("jsonRpcReply", 0.5)] },
    ];
    const found = { "http-replies": { ...made, title: "", rows }, memory: { ...made, skipped: "no time left" } };
    const lines = summary(outcomes(found)).split("\n");
    expect(lines).toHaveLength(Object.keys(GOALS).length + 2);
    expect(lines.at(-1)).toBe(`1 met, 1 missed, ${Object.keys(GOALS).length - 2} not measured.`);
    expect(lines.find((line) => line.includes("RSS after 100,000"))).toContain("not measured");
  });

  it("marks a lower bound as one", () => {
    const rows = [{ name: "", figures: {}, targets: [{ ...judge("sseStreamPeer", 900), orMore: true as const }] }];
    expect(summary(outcomes({ "sse-streams": { ...made, title: "", rows } }))).toContain(">= 900 (>= 50)");
  });
});

describe("measuredText()", () => {
  const measured = { ...made, title: "", rows: [] };

  it("counts the scenarios", () => {
    expect(measuredText({ a: measured, b: measured })).toBe("2 of 2 scenarios were measured.");
  });

  it("has a line for each that was not measured, with the reason", () => {
    const found = { a: measured, b: { ...made, skipped: "no time left" }, c: { ...made, error: "Error: no port" } };
    expect(measuredText(found).split("\n")).toEqual([
      "1 of 3 scenarios was measured.",
      "SKIPPED b: no time left",
      "FAILED c: Error: no port",
    ]);
  });
});

describe("boundOf()", () => {
  it("says every goal's bound", () => {
    for (const goal of Object.values(GOALS)) expect(boundOf(goal)).toMatch(/^[<>]= [\d.,]+$/);
  });
});
