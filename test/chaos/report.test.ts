import { describe, expect, it } from "vitest";
import { faults } from "./faults.js";
import type { Injected } from "./nemesis.js";
import type { FinalTask } from "./records.js";
import { type Results, readReport, reportOf } from "./report.js";

const kill: Injected = {
  name: "kill",
  replica: 0,
  form: 0,
  share: 1,
  at: 0,
  heldMs: 900,
  recoveredMs: 100,
  beside: [],
};
const task: FinalTask = { taskId: "1", views: new Map() } as unknown as FinalTask;

const results: Results = {
  ...{ seed: 1, store: "postgres", seconds: 42, notes: [], settledMs: 1_500 },
  nemesis: {
    injected: [kill, kill, { ...kill, name: "pause" }],
    skipped: new Map([["signals killed", "needs a `nats-server` (PARLEY_CHAOS_NATS)"]]),
  },
  tasks: Array.from({ length: 23 }, () => task),
  replicas: [{ name: "replica-0", ends: new Map([["1", 2]]) }],
  violations: [{ rule: "nothing is stuck", what: "a client" }],
} as Results;

describe("readReport()", () => {
  it("reads the faults, tasks and violations that reportOf() writes", () => {
    const { skipped, ...counts } = readReport(`all replicas work\n${reportOf(results)}\n`);
    expect(counts).toEqual({ injected: 3, tasks: 23, violations: 1 });
    expect([...skipped]).toEqual([[faults["signals killed"]?.title, "needs a `nats-server` (PARLEY_CHAOS_NATS)"]]);
  });
});
