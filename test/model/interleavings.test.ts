import { describe, expect, it, vi } from "vitest";
import type { TaskStore } from "../../src/store/task-store.js";
import { isWhole, some } from "../support/cover.js";
import { isSoak } from "../support/soak.js";
import { type Choose, type Explored, explore, follow, type Outcome, type Schedule } from "./explore.js";
import { type Fault, faults } from "./faults.js";
import { scenarios } from "./scenarios.js";
import { type Scenario, Sim } from "./sim.js";

vi.setConfig({ testTimeout: 600_000 });

/**
 * Number of deviations from the default order. `PARLEY_MODEL_DEVIATIONS=3` searches deeper, for minutes, and reports
 * its numbers.
 */
const asked = process.env.PARLEY_MODEL_DEVIATIONS;
const deviations = Number(asked ?? (isWhole ? 2 : 1));

/** Only a soak runs all schedules with two deviations. Other runs take a random sample. */
const sampled = asked === undefined && !isSoak;

/** Runs a scenario. Only one may run at a time, because it replaces the thread's clocks and timers. */
function runOf(scenario: Scenario, plant?: (store: TaskStore) => TaskStore, keep?: (sim: Sim) => void) {
  return async (choose: Choose): Promise<Outcome> => {
    const sim = new Sim(scenario, plant);
    keep?.(sim);
    sim.world.clock.install();
    try {
      return await sim.run(scenario, choose);
    } finally {
      sim.world.clock.uninstall();
    }
  };
}

/** The steps of a schedule, for the report of its violation. */
async function stepsOf(scenario: Scenario, schedule: Schedule): Promise<string> {
  let trace: readonly string[] = [];
  await follow(
    runOf(scenario, undefined, (sim) => (trace = sim.world.trace)),
    schedule,
  );
  return trace.join("\n");
}

function report(name: string, { schedules, steps, violation }: Explored, begun: NodeJS.CpuUsage): void {
  if (asked === undefined) return;
  const { user, system } = process.cpuUsage(begun);
  const found = violation === undefined ? "" : `: ${violation.what}, by ${JSON.stringify(violation.schedule)}`;
  process.stdout.write(
    `${name}: ${schedules} schedules, ${steps} steps, ${((user + system) / 1e6).toFixed(1)} s${found}\n`,
  );
}

function scenarioOf({ scenario }: Fault): Scenario {
  const found = scenarios.find(({ name }) => name === scenario);
  if (found === undefined) throw new Error(`There is no scenario "${scenario}".`);
  return found;
}

describe("two engines over one store keep the invariants in every schedule of", () => {
  it.each(scenarios)("$name", async (scenario) => {
    const begun = process.cpuUsage();
    const explored = await explore(runOf(scenario), { deviations, sampled });
    report(scenario.name, explored, begun);
    const { violation } = explored;
    if (violation !== undefined) {
      const schedule = JSON.stringify(violation.schedule);
      expect.fail(`${violation.what}, by the schedule ${schedule}:\n${await stepsOf(scenario, violation.schedule)}`);
    }
    expect(explored.schedules).toBeGreaterThan(deviations === 0 ? 0 : 20);
  });
});

describe("some schedule shows that a store", () => {
  // Faults that need two deviations take seconds each.
  const few = faults.filter((fault) => fault.deviations === 1);
  const others = faults.filter((fault) => fault.deviations > 1);
  it.each(asked === undefined ? some(few, others) : faults)("$name", async (fault) => {
    const begun = process.cpuUsage();
    const explored = await explore(runOf(scenarioOf(fault), fault.plant), { deviations: fault.deviations });
    report(fault.name, explored, begun);
    expect(explored.violation?.what).toMatch(fault.shows);
  });
});
