import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Counter, Histogram, LabelSets } from "../../src/telemetry/cells.js";
import { Metrics } from "../../src/telemetry/metrics.js";

describe("LabelSets", () => {
  const sets = new LabelSets({ a: ["x", "y", "other"], b: ["1", "2"], c: ["p", "q", "r", "other"] });

  it("gives every combination of values a cell of its own, and names it again", () => {
    const seen = new Set<number>();
    for (const a of ["x", "y", "other"]) {
      for (const b of ["1", "2"]) {
        for (const c of ["p", "q", "r", "other"]) {
          const index = sets.at(a, b, c);
          seen.add(index);
          expect(sets.valuesAt(index)).toEqual([a, b, c]);
        }
      }
    }
    expect([...seen].sort((one, two) => one - two)).toEqual(Array.from({ length: sets.size }, (_, index) => index));
  });

  it.each(["z", "", "__proto__", "constructor", undefined])("counts the unknown value %s as the last one", (value) => {
    expect(sets.valuesAt(sets.at(value, "1", value))).toEqual(["other", "1", "other"]);
  });

  it("has one cell without labels", () => {
    const none = new LabelSets({});
    expect([none.size, none.at(), none.valuesAt(0)]).toEqual([1, 0, []]);
  });
});

describe("Counter", () => {
  it("reports the empty cells of a small one, so that the first increase is one", () => {
    const counter = new Counter({ a: ["x", "y"] });
    counter.add(counter.sets.at("y"), 2);
    expect(counter.read()).toEqual([
      { labels: ["x"], value: 0 },
      { labels: ["y"], value: 2 },
    ]);
  });

  it("reports the used cells of a large one alone", () => {
    const values = Array.from({ length: 100 }, (_, index) => `${index}`);
    const counter = new Counter({ a: values, b: values });
    counter.add(counter.sets.at("17", "4"));
    expect(counter.read()).toEqual([{ labels: ["17", "4"], value: 1 }]);
  });
});

describe("Histogram", () => {
  it("counts a value in the bucket whose bound it does not exceed", () => {
    const histogram = new Histogram([1, 2, 5]);
    for (const value of [0, 1, 1.5, 2, 5, 5.1, Number.POSITIVE_INFINITY]) histogram.observe(value);
    const [{ value } = { value: undefined }] = histogram.read();
    expect(value?.counts).toEqual([2, 2, 1, 2]);
    expect(value?.count).toBe(7);
  });

  it("adds up the values of each label set on its own", () => {
    const histogram = new Histogram([1], { a: ["x", "y"] });
    histogram.observe(0.25, histogram.sets.at("y"));
    histogram.observe(4, histogram.sets.at("y"));
    expect(histogram.read()).toEqual([{ labels: ["y"], value: { counts: [1, 1], sum: 4.25, count: 2 } }]);
  });

  it("reports itself before its first value if it has no labels", () => {
    expect(new Histogram([1]).read()).toEqual([{ labels: [], value: { counts: [0, 0], sum: 0, count: 0 } }]);
  });
});

describe("Metrics", () => {
  it("looks up each label of a call once, and twice the method, whose calls are counted while they are open", () => {
    const metrics = new Metrics({ methods: A2AService.methods, versions: ["1.0", "0.3"] });
    const call = { binding: "rest", method: "GetTask", version: "0.3" };
    const lookups = vi.spyOn(Map.prototype, "get");
    metrics.callBegan(call.method);
    metrics.callEnded(call, "TASK_NOT_FOUND", 0.5);
    const count = lookups.mock.calls.length;
    lookups.mockRestore();
    expect(count).toBe(6);
    const labels = ["rest", "GetTask", "0.3", "TASK_NOT_FOUND"];
    expect(metrics.calls.read()).toEqual([{ labels, value: 1 }]);
    expect(metrics.callDuration.read()).toMatchObject([{ labels, value: { sum: 0.5, count: 1 } }]);
    expect(metrics.openCalls()).toBe(0);
  });
});
