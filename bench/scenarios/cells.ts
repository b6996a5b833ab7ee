/** The cost of counting in cells, without the rest of a call. */
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { median } from "../harness/rates.js";
import type { Scenario } from "../harness/scenario.js";

/** Rounds of each kind of work, whose medians are shown, after one that is not measured. */
const ROUNDS = 9;

/** Kinds of calls, one after the other: labels that are always the same would cost less. */
const KINDS = 64;

/** Kinds of work that count, by their names. */
function counted(metrics: Metrics): Readonly<Record<string, (index: number) => void>> {
  const methods = A2AService.methods.map(({ name }) => name);
  const pick = (values: readonly string[], at: number): string => values[at % values.length] ?? "";
  const calls = Array.from({ length: KINDS }, (_, at) => ({
    binding: pick(["grpc", "connect", "jsonrpc", "rest"], at),
    method: pick(methods, at),
    version: pick(["1.0", "0.3"], at),
  }));
  return {
    "one count": () => metrics.entries.add(),
    "an append: a count and a time": () => metrics.appended(1, 0.0007),
    "a call with its four labels: three counts and a time": (index) => {
      const call = calls[index % KINDS];
      if (call === undefined) return;
      metrics.callBegan(call.method);
      metrics.callEnded(call, "OK", 0.003);
    },
  };
}

/** Returns the CPU time of one piece of work, in nanoseconds. */
function nanosOf(work: (index: number) => void, times: number): number {
  const before = process.cpuUsage();
  for (let index = 0; index < times; index++) work(index);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / times;
}

export const cells: Scenario = {
  name: "cells",
  run({ options: { quick } }) {
    const metrics = new Metrics({ methods: A2AService.methods, versions: ["1.0", "0.3"] });
    const times = quick ? 200_000 : 2_000_000;
    const rows = Object.entries(counted(metrics)).map(([name, work]) => {
      nanosOf(work, times);
      const rounds = Array.from({ length: ROUNDS }, () => nanosOf(work, times));
      return { name, figures: { "ns of CPU": median(rounds) } };
    });
    return Promise.resolve({ title: "Counting in cells, CPU time of each", rows });
  },
};
