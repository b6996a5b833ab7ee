/**
 * Compares the cost of ordinary calls before and after a change: `npm run bench:compare -- --base REF`. It builds REF beside the working
 * tree, and measures message replies, or tasks in a SQLite file, of both in turns. Each pair of servers runs in new processes, because the
 * compiler optimizes a program differently in each. The result is the median over the pairs. Ratios of CPU time are more exact than ratios
 * of rates, and two runs more than one. Two equal trees (`--base HEAD`) differ by 0.98 to 1.02 on a calm machine.
 */
import { execFileSync } from "node:child_process";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { grpcSend, restSend, rpcSend } from "./calls.js";
import { endAll } from "./harness/child.js";
import { type Lane, Rates } from "./harness/rates.js";
import { table } from "./harness/report.js";
import type { Bench, Section } from "./harness/scenario.js";
import { compile, SCRATCH, withBench } from "./harness/workbench.js";
import { replyLane } from "./scenarios/replies.js";
import { taskLane } from "./scenarios/tasks.js";

const USAGE = `Usage: npm run bench:compare -- --base REF [options]

  --base REF      what is compared with: a commit, a branch or a tag
  --pairs N       how many pairs of servers are started for each binding (default 5)
  --only BINDING  only this binding; may be repeated
  --tasks         tasks of four events in a SQLite file, in place of message replies`;

const ROOT = join(import.meta.dirname, "..");

const BINDINGS = { "JSON-RPC": rpcSend, REST: restSend, gRPC: grpcSend } as const;
type Binding = keyof typeof BINDINGS;

/** Of each pair of processes, by turns. */
const ROUNDS = 6;

interface Options {
  readonly base: string;
  readonly pairs: number;
  readonly bindings: readonly Binding[];
  readonly tasks: boolean;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      base: { type: "string" },
      pairs: { type: "string", default: "5" },
      only: { type: "string", multiple: true, default: [] },
      tasks: { type: "boolean", default: false },
    },
  });
  const pairs = Number(values.pairs);
  if (values.base === undefined) throw new Error(USAGE);
  if (!Number.isInteger(pairs) || pairs < 1 || pairs > 50) throw new Error("--pairs takes a whole number from 1 to 50");
  const all = Object.keys(BINDINGS) as Binding[];
  const bindings = values.only.map((name) => all.find((binding) => binding.toLowerCase() === name.toLowerCase()));
  if (bindings.includes(undefined)) throw new Error(`--only takes one of ${all.join(", ")}`);
  const { base, tasks } = values;
  return { base, pairs, bindings: bindings.length === 0 ? all : (bindings as Binding[]), tasks };
}

function git(...args: readonly string[]): void {
  execFileSync("git", args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
}

/** A tree of a commit, which is removed at the end. It is inside of this one, and so finds the packages of this one. */
function treeOf(base: string): string {
  const tree = join(SCRATCH, `base-${process.pid}`);
  git("worktree", "add", "--quiet", "--detach", tree, base);
  process.once("exit", () => git("worktree", "remove", "--force", tree));
  return tree;
}

/** Calls over one binding, of both. */
async function compared(bench: Bench, tree: string, binding: Binding, { pairs, tasks }: Options): Promise<Section> {
  const there = relative(
    join(ROOT, "bench", "dist", "bench", "servers"),
    join(tree, "bench", "dist", "bench", "servers"),
  );
  const lane = async (name: string, program: string): Promise<Lane> =>
    tasks
      ? taskLane(name, await bench.start(program, "task", bench.database()), BINDINGS[binding])
      : replyLane(name, await bench.start(program, "message"), BINDINGS[binding]);
  const start = async (): Promise<Lane[]> => [await lane("base", join(there, "parley")), await lane("here", "parley")];
  const rates = await Rates.measureFresh(bench, start, { processes: pairs, rounds: ROUNDS });
  const rows = ["base", "here"].map((name) => rates.row(name, "base"));
  return { title: `${tasks ? "Tasks of four events" : "Message replies"} over ${binding}`, rows };
}

async function main(): Promise<void> {
  if (process.argv.includes("--help")) return console.log(USAGE);
  const read = readOptions(process.argv.slice(2));
  const tree = treeOf(read.base);
  compile();
  compile(tree);
  const options = { quick: false, seconds: 3, only: [], build: false, keep: false };
  for (const binding of read.bindings) {
    console.log(`\n${table(await withBench(options, (bench) => compared(bench, tree, binding, read)))}`);
  }
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", endAll);
await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
