import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filledFile } from "../harness/filled.js";
import { made } from "../harness/results.js";
import { type Bench, CALLERS, MB } from "../harness/scenario.js";
import { FILE, FILLED, LANES, RECEIVER } from "./lanes.js";
import { groupOf, placeOf, type Share, shares } from "./where.js";

/** Number of functions in a stored profile. */
const TOP = 25;

const WARM_UP_MS = 2_000;

/** Where the time of one kind of call goes. */
export interface Recorded {
  readonly title: string;
  readonly date: string;
  readonly commit: string;
  readonly calls: number;
  /** CPU time of the main thread for a call, in microseconds, while it was watched, which costs some as well. */
  readonly mainMicrosPerCall: number;
  /** CPU time of other threads: SQLite's writer, the garbage collector's helpers. */
  readonly otherThreadsMicrosPerCall: number;
  /** Settled, after the calls, in megabytes. */
  readonly heapMb: number;
  readonly externalMb: number;
  readonly rssMb: number;
  readonly groups: readonly Share[];
  readonly functions: readonly Share[];
}

/** Loads a server while its main thread is watched. */
export async function record(bench: Bench, name: string): Promise<Recorded> {
  const lane = LANES[name];
  if (lane === undefined) throw new Error(`no scenario ${name}; there are ${Object.keys(LANES).join(", ")}`);
  const args: string[] = [];
  for (const arg of lane.args) {
    if (arg === FILE) args.push(bench.database());
    else if (arg === "FILLED") args.push(await filledFile(bench, FILLED));
    else if (arg === RECEIVER) args.push(`${(await bench.start("receiver")).at.http}`);
    else args.push(arg);
  }
  const server = await bench.start(lane.program, ...args);
  const call = lane.call(server);
  await bench.load.run({ kind: "rate", call, callers: CALLERS, ms: WARM_UP_MS });
  await server.beginProfile();
  const before = await server.usage();
  const { calls } = await bench.load.run({ kind: "rate", call, callers: CALLERS, ms: bench.options.seconds * 1_000 });
  const after = await server.usage();
  const profile = await server.endProfile();
  const all = (after.cpuMicros - before.cpuMicros) / calls;
  const main = (after.mainMicros - before.mainMicros) / calls || all;
  const { heap, external, rss } = await server.usage(true);
  await server.end();
  const { date, commit } = made(bench.options);
  return {
    ...{ title: lane.title, date, commit, calls },
    mainMicrosPerCall: main,
    otherThreadsMicrosPerCall: Math.max(0, all - main),
    ...{ heapMb: heap / MB, externalMb: external / MB, rssMb: rss / MB },
    groups: shares(profile, main, (one) => ({ name: groupOf(one) })),
    functions: shares(profile, main, (one) => ({ name: one.name || "(anonymous)", place: placeOf(one) })).slice(0, TOP),
  };
}

/** By the names of the scenarios, in the order of their list. */
export type Profiles = Readonly<Record<string, Recorded>>;

const PLACE = join(import.meta.dirname, "..", "results", "profile.json");

export function readProfiles(): Profiles {
  return existsSync(PLACE) ? (JSON.parse(readFileSync(PLACE, "utf8")) as Profiles) : {};
}

/** Stores the profile of a scenario beside those of other scenarios. */
export function keepProfile(name: string, recorded: Recorded): void {
  const all: Profiles = { ...readProfiles(), [name]: recorded };
  const listed = Object.keys(LANES).flatMap((lane) => (all[lane] === undefined ? [] : [[lane, all[lane]]]));
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value;
  writeFileSync(PLACE, `${JSON.stringify(Object.fromEntries(listed), rounded, 2)}\n`);
}
