import { parseArgs } from "node:util";

/** Options of the command line. */
export interface Options {
  /** For CI: a look at everything in short, within 90 seconds. */
  readonly quick: boolean;
  /** Duration of the measurement of each rate without its warm-up, in seconds. */
  readonly seconds: number;
  /** Names of scenarios; all when empty. */
  readonly only: readonly string[];
  /** True to compile the bench first. */
  readonly build: boolean;
  /** Adds the results of a run of some scenarios to the kept ones. */
  readonly keep: boolean;
}

export const USAGE = `Usage: npm run bench -- [options]

  --quick         short measurements and small growth, for CI; judges no goal
  --seconds N     how long each rate is measured (default 3; 0.5 with --quick)
  --only NAME     only this scenario; may be repeated
  --keep          puts what --only measured into the kept results, beside the other scenarios
  --no-build      measure what is in bench/dist/ already`;

/** Reads the command line. @throws Error with a text for the user */
export function readOptions(args: readonly string[], scenarios: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      seconds: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      keep: { type: "boolean", default: false },
      "no-build": { type: "boolean", default: false },
    },
  });
  const seconds = Number(values.seconds ?? (values.quick ? 0.5 : 3));
  if (!(seconds > 0 && seconds <= 600)) throw new Error("--seconds takes a number above 0 and up to 600");
  const unknown = values.only.filter((name) => !scenarios.includes(name));
  if (unknown.length > 0) throw new Error(`no scenario ${unknown.join(", ")}; there are ${scenarios.join(", ")}`);
  const { quick, only, keep } = values;
  if (quick && keep) throw new Error("--keep keeps no quick look: leave out --quick");
  return { quick, seconds, only, build: !values["no-build"], keep };
}
