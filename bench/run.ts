/**
 * The numbers of the project, each beside its baseline, measured in the same run: `npm run bench -- --help`.
 *
 * Servers and the load generator are processes of their own that run compiled code; everything stays on loopback and
 * is bounded in count and time. Rates are closed loops of 50 callers. The lanes of a scenario are measured by turns,
 * several times, and medians are shown: ratios mean more than figures, and CPU time means more than either where the
 * machine has other things to do. Ends with 0 whatever the numbers are, and with 1 when it could not measure.
 * `npm run bench:report` makes docs/benchmarks.md and its charts of what a full run kept.
 */
import { endAll } from "./harness/child.js";
import { describeMachine, machineLine } from "./harness/machine.js";
import { measuredText, summary, table } from "./harness/report.js";
import { type Found, keep, made, outcomes } from "./harness/results.js";
import type { Scenario, Section } from "./harness/scenario.js";
import { build, SCRATCH, withBench } from "./harness/workbench.js";
import { type Options, readOptions, USAGE } from "./options.js";
import { attacked } from "./scenarios/attacks.js";
import { cells } from "./scenarios/cells.js";
import { clients } from "./scenarios/client.js";
import { conversation } from "./scenarios/conversation.js";
import { crossCheck } from "./scenarios/cross-check.js";
import { delegation } from "./scenarios/delegation.js";
import { fanOut, stalled } from "./scenarios/fan-out.js";
import { fanOutReplicas } from "./scenarios/fan-out-replicas.js";
import { foreign } from "./scenarios/foreign.js";
import { idle } from "./scenarios/idle.js";
import { memory } from "./scenarios/memory.js";
import { payload } from "./scenarios/payload.js";
import { postgresAppends } from "./scenarios/postgres-appends.js";
import { postgresTasks } from "./scenarios/postgres-tasks.js";
import { pushDead, pushDelay, pushMemory, pushRate } from "./scenarios/push.js";
import { reads } from "./scenarios/reads.js";
import {
  connectReplies,
  grpcReplies,
  httpReplies,
  jwtReplies,
  pipelinedReplies,
  versionReplies,
} from "./scenarios/replies.js";
import { restart } from "./scenarios/restart.js";
import { servedTasks } from "./scenarios/served-tasks.js";
import { size } from "./scenarios/size.js";
import { startUp } from "./scenarios/start-up.js";
import { steps } from "./scenarios/steps.js";
import { grpcStreams, sseStreams } from "./scenarios/streams.js";
import { grpcTasks, jsonRpcTasks, restTasks } from "./scenarios/tasks.js";
import { telemetry } from "./scenarios/telemetry.js";
import { workers } from "./scenarios/workers.js";

const SCENARIOS: readonly Scenario[] = [
  httpReplies,
  pipelinedReplies,
  grpcReplies,
  connectReplies,
  jwtReplies,
  versionReplies,
  clients,
  payload,
  jsonRpcTasks,
  restTasks,
  grpcTasks,
  servedTasks,
  sseStreams,
  grpcStreams,
  reads,
  conversation,
  foreign,
  fanOut,
  stalled,
  memory,
  idle,
  pushRate,
  pushDelay,
  pushDead,
  pushMemory,
  size,
  startUp,
  restart,
  attacked,
  delegation,
  steps,
  telemetry,
  cells,
  workers,
  postgresAppends,
  postgresTasks,
  fanOutReplicas,
  crossCheck,
];

/** Said in place of the goals after a quick look. */
const QUICK_NOTE = "A quick look judges no goal: servers are not warm, and ratios may be far off.";

/** With --quick no scenario begins after this time, in milliseconds, so that all of it ends within 90 seconds. */
const QUICK_MS = 75_000;
const NO_TIME = `no scenario of a quick look begins after ${QUICK_MS / 1000} s`;

/** A quick look judges nothing: servers are not warm, and sizes are not those of the goals. */
function unjudged({ title, rows }: Section): Section {
  return { title, rows: rows.map(({ targets: _, ...row }) => row) };
}

/** Runs all scenarios; one that cannot be measured does not keep the others from it. */
async function measureAll(options: Options): Promise<boolean> {
  const found: Record<string, Found> = {};
  const machine = describeMachine(SCRATCH);
  console.log(machineLine(machine));
  let failed = false;
  const chosen = SCENARIOS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  for (const scenario of chosen) {
    const skipped = options.quick && performance.now() > QUICK_MS ? NO_TIME : scenario.lacks?.();
    if (skipped !== undefined) {
      found[scenario.name] = { ...made(options), skipped };
      console.log(`\n[${scenario.name}] SKIPPED: ${skipped}`);
      continue;
    }
    try {
      const all = await withBench(options, (bench) => scenario.run(bench));
      const section = options.quick ? unjudged(all) : all;
      found[scenario.name] = { ...made(options), ...section };
      console.log(`\n[${scenario.name}] ${table(section)}`);
    } catch (error) {
      failed = true;
      found[scenario.name] = { ...made(options), error: String(error) };
      console.error(`\n[${scenario.name}] could not be measured:`, error);
    }
  }
  const asked = outcomes(found).filter(({ scenario }) => chosen.some(({ name }) => name === scenario));
  console.log(
    `\n${options.quick ? QUICK_NOTE : summary(asked)}\n${measuredText(found)}\nKept in ${keep(options, machine, found)}.`,
  );
  return !failed;
}

async function main(): Promise<number> {
  if (process.argv.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  try {
    const options = readOptions(
      process.argv.slice(2),
      SCENARIOS.map(({ name }) => name),
    );
    if (options.build) build();
    return (await measureAll(options)) ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", endAll);
process.exitCode = await main();
