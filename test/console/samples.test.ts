import { describe, expect, it } from "vitest";
import { samplesIn } from "../../console/src/operate/server/prometheus.js";
import { gauges, keyOf, quantilesOf, rates, type Sample, sampleOf } from "../../console/src/operate/server/samples.js";

/** The numbers of the console's charts. */

const calls = keyOf("parley_calls_total", "binding");

/** A sample with this many calls of each binding. */
function sample(seconds: number, counts: Readonly<Record<string, number>>): Sample {
  const lines = Object.entries(counts).flatMap(([binding, count]) => [
    `parley_calls_total{binding="${binding}",method="GetTask",version="1.0",code="OK"} ${count - 1}`,
    `parley_calls_total{binding="${binding}",method="ListTasks",version="1.0",code="OK"} 1`,
  ]);
  return sampleOf(lines.join("\n"), seconds * 1_000);
}

const histogram = (seconds: number, counts: readonly [le: string, count: number][]): Sample =>
  sampleOf(
    counts.map(([le, count]) => `parley_append_duration_seconds_bucket{le="${le}"} ${count}`).join("\n"),
    seconds * 1_000,
  );

describe("samplesIn()", () => {
  it("reads names, labels and values, and leaves other lines out", () => {
    const text = [
      "# HELP a An a.",
      "a 1",
      'b{x="1, {2}",y="say \\"hi\\"\\n\\\\"} 2.5e3 1700000000',
      'c{le="+Inf"} +Inf',
      "not a sample",
      "d NaN",
      "",
    ].join("\n");
    expect([...samplesIn(text)].map(({ name, labels, value }) => [name, Object.fromEntries(labels), value])).toEqual([
      ["a", {}, 1],
      ["b", { x: "1, {2}", y: 'say "hi"\n\\' }, 2_500],
      ["c", { le: "+Inf" }, Number.POSITIVE_INFINITY],
    ]);
  });
});

describe("rates()", () => {
  it("gives what a counter grew by in a second, the sum of its series", () => {
    const samples = [sample(0, { rest: 10 }), sample(5, { rest: 20, grpc: 5 })];
    expect(rates(samples, calls)).toEqual([
      { name: "rest", values: [undefined, 2] },
      { name: "grpc", values: [undefined, 1] },
    ]);
  });

  it("counts from 0 after the server has started again", () => {
    expect(rates([sample(0, { rest: 100 }), sample(5, { rest: 10 })], calls)[0]?.values).toEqual([undefined, 2]);
  });
});

describe("quantilesOf()", () => {
  it("estimates them from what was observed between the samples", () => {
    const samples = [
      histogram(0, [
        ["0.1", 50],
        ["1", 50],
        ["+Inf", 50],
      ]),
      histogram(5, [
        ["0.1", 50],
        ["1", 150],
        ["+Inf", 150],
      ]),
      histogram(10, [
        ["0.1", 50],
        ["1", 150],
        ["+Inf", 150],
      ]),
    ];
    const [p50, p95] = quantilesOf(samples, "parley_append_duration_seconds");
    expect(p50?.name).toBe("p50");
    expect(p50?.values[0]).toBe(undefined);
    expect(p50?.values[1]).toBeCloseTo(0.55);
    expect(p95?.values[1]).toBeCloseTo(0.955);
  });

  it("has no value without an observation, and at most the last bound", () => {
    const name = "parley_append_duration_seconds";
    const none = [
      histogram(0, [
        ["1", 5],
        ["+Inf", 5],
      ]),
      histogram(5, [
        ["1", 5],
        ["+Inf", 5],
      ]),
    ];
    expect(quantilesOf(none, name)[0]?.values).toEqual([undefined, undefined]);
    const large = [
      histogram(0, [
        ["1", 0],
        ["+Inf", 0],
      ]),
      histogram(5, [
        ["1", 0],
        ["+Inf", 5],
      ]),
    ];
    expect(quantilesOf(large, name)[0]?.values).toEqual([undefined, 1]);
  });
});

describe("gauges()", () => {
  it("gives a line for each value of the label", () => {
    const key = keyOf("parley_event_loop_delay_seconds", "stat");
    const text = 'parley_event_loop_delay_seconds{stat="max"} 0.2\nparley_event_loop_delay_seconds{stat="p50"} 0.1';
    expect(gauges([sampleOf(text, 0)], key)).toEqual([
      { name: "max", values: [0.2] },
      { name: "p50", values: [0.1] },
    ]);
  });
});
