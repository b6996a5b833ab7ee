/**
 * Profiles the time of a call: `npm run bench:profile -- [SCENARIO ...]`, by default all scenarios. It loads a server as
 * the bench does, samples its main thread, and adds up self time by package and folder. bench/results/profile.json keeps
 * the results, beside those of other scenarios.
 */
import { parseArgs } from "node:util";
import { endAll } from "./harness/child.js";
import { build, withBench } from "./harness/workbench.js";
import { LANES } from "./profile/lanes.js";
import { keepProfile, type Recorded, record } from "./profile/record.js";
import type { Share } from "./profile/where.js";

const USAGE = `Usage: npm run bench:profile -- [options] [SCENARIO ...]

  --seconds N     how long a server is watched (default 5)
  --no-build      measure what is in bench/dist/ already

Scenarios: ${Object.keys(LANES).join(", ")}`;

function line({ name, place = "", percent, microsPerCall }: Share): string {
  return `  ${percent.toFixed(1).padStart(5)} %  ${microsPerCall.toFixed(1).padStart(7)} us  ${name.padEnd(40)} ${place}`.trimEnd();
}

function print(name: string, recorded: Recorded): void {
  const { title, mainMicrosPerCall, otherThreadsMicrosPerCall, groups, functions } = recorded;
  const main = `${mainMicrosPerCall.toFixed(1)} us CPU per call on the main thread`;
  console.log(`\n[${name}] ${title}: ${main}, ${otherThreadsMicrosPerCall.toFixed(1)} us on others`);
  console.log([...groups.map(line), "  Functions", ...functions.map(line)].join("\n"));
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", default: false },
      seconds: { type: "string", default: "5" },
      "no-build": { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 60)) throw new Error("--seconds takes a number above 0 and up to 60");
  const options = { quick: false, seconds, only: [], build: !values["no-build"], keep: false };
  if (options.build) build();
  for (const name of positionals.length === 0 ? Object.keys(LANES) : positionals) {
    const recorded = await withBench(options, (bench) => record(bench, name));
    print(name, recorded);
    keepProfile(name, recorded);
  }
}

process.once("exit", endAll);
await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
