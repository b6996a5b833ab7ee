import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, root } from "../e2e/support/build.js";
import { bindings } from "../support/drivers.js";
import { check } from "./check.js";
import { Client } from "./clients.js";
import { readFinals } from "./finals.js";
import { Hooks } from "./hooks.js";
import { Nemesis } from "./nemesis.js";
import { CLIENTS } from "./network.js";
import { type Effect, linesOf, Notebook, type Noted, now } from "./records.js";
import { failuresOf, type Results, reportOf } from "./report.js";
import { Chance } from "./schedule.js";
import { endWorld, isApart, LEASE_MS, makeWorld } from "./world.js";

/** Time in which every task has to end after the last fault, in milliseconds. */
const SETTLE_MS = 60_000;

/** Injects the faults of a seed into three replicas, and checks the notes of their clients. */
async function main(): Promise<number> {
  const { PARLEY_CHAOS_SEED, PARLEY_CHAOS_MINUTES = "1", PARLEY_CHAOS_STORE = "postgres" } = process.env;
  const seed = PARLEY_CHAOS_SEED === undefined ? Date.now() % 1_000_000 : Number(PARLEY_CHAOS_SEED);
  // `once` injects each kind of fault once, without a time limit.
  const minutes = PARLEY_CHAOS_MINUTES === "once" ? Number.POSITIVE_INFINITY : Number(PARLEY_CHAOS_MINUTES);
  const folder = join(root, ".cache", "chaos", `${PARLEY_CHAOS_STORE}-${seed}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  build();
  const effects = join(folder, "effects.jsonl");
  writeFileSync(effects, "");
  say(`PARLEY_CHAOS_SEED=${seed} PARLEY_CHAOS_MINUTES=${minutes} PARLEY_CHAOS_STORE=${PARLEY_CHAOS_STORE}`);
  // After an asynchronous failover, a webhook may receive another event with the id of a lost one.
  const hooks = PARLEY_CHAOS_STORE === "patroni-async" ? undefined : await startHooks(seed, folder);
  const world = await makeWorld({ store: PARLEY_CHAOS_STORE, folder, effects, minutes, hooks });
  try {
    const results = await run(seed, minutes, world, { folder, effects, hooks });
    const report = reportOf({ ...results, store: PARLEY_CHAOS_STORE, seed });
    writeFileSync(join(folder, "report.md"), report);
    say(report);
    const failures = failuresOf(results.notes).map(([why, count]) => `${count} ${why}`);
    writeFileSync(join(folder, "failures.txt"), failures.join("\n"));
    return results.violations.length === 0 ? 0 : 1;
  } finally {
    await endWorld(world);
    await hooks?.close();
  }
}

function startHooks(seed: number, folder: string): Promise<Hooks> {
  const book = new Notebook(join(folder, "webhooks.jsonl"), "webhooks");
  return Hooks.start(isApart ? CLIENTS : "127.0.0.1", { chance: new Chance(seed + 50), book, leaseMs: LEASE_MS });
}

type Files = { readonly folder: string; readonly effects: string; readonly hooks: Hooks | undefined };
type Made = Awaited<ReturnType<typeof makeWorld>>;

async function run(seed: number, minutes: number, world: Made, { folder, effects, hooks }: Files) {
  const { replicas, cluster, leaseMs } = world;
  const over = new AbortController();
  const client = (name: string, at: number): Client => {
    const around = { chance: new Chance(seed + at), book: new Notebook(join(folder, `${name}.jsonl`), name) };
    return new Client(bindings[at % bindings.length] as never, replicas, { ...around, over: over.signal, hooks });
  };
  const probes = replicas.map((_, at) => client(`probe-${at}`, at + 3));
  const works = async (): Promise<void> => {
    await Promise.all(replicas.map((replica, at) => probes[at]?.probe(replica)));
  };
  await works();
  say("all replicas work");
  const promise = promiseOf(world);
  if (promise !== undefined) say(`The replicas say: ${promise}`);
  const only = (process.env.PARLEY_CHAOS_FAULTS ?? "").split(",").filter((name) => name !== "");
  const begin = now();
  let isLast = false;
  // During a failover, clients mostly repeat their calls.
  const clients = Array.from({ length: (cluster === undefined ? 2 : 1) * bindings.length }, (_, at) => {
    return client(`${bindings[at % bindings.length]?.name}-${at}`, 100 + at);
  });
  const running = Promise.allSettled(clients.map((one) => one.run(() => isLast)));
  const events = new Notebook(join(folder, "faults.jsonl"), "faults");
  const nemesis = new Nemesis(world, seed, { log: say, works, book: events }, only);
  await nemesis.run(begin + minutes * 60_000);
  const healed = now();
  isLast = true;
  const late = setTimeout(() => over.abort(), SETTLE_MS);
  const ended = await running;
  clearTimeout(late);
  const settledMs = now() - healed;
  for (const one of ended) if (one.status === "rejected") say(`a client: ${one.reason}`);
  await hooks?.settled(SETTLE_MS);
  await Promise.all([...probes, ...clients, events].map((one) => one.close().catch(() => {})));
  // Waits for tasks whose client ran out of time, to distinguish stuck tasks from slow ones.
  if (over.signal.aborted) await sleep(1_000);
  const tasks = await readFinals(replicas);
  await hooks?.close();
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl") && name !== "effects.jsonl");
  const notes = files.flatMap((name) => linesOf<Noted>(join(folder, name)));
  const losses = promise === undefined || promise.includes("the loss of one machine") ? [] : (cluster?.losses ?? []);
  const violations = [
    ...check({ notes, effects: linesOf<Effect>(effects), tasks, leaseMs, losses }),
    ...ended.flatMap((one) =>
      one.status === "rejected" ? [{ rule: "nothing is stuck" as const, what: `a client: ${one.reason}` }] : [],
    ),
  ];
  const seconds = (healed - begin) / 1_000;
  return { seconds, nemesis, notes, tasks, settledMs, replicas, violations } satisfies Omit<Results, "seed" | "store">;
}

/** The replicas' statement of how durable appends are. The checks rely on it. */
function promiseOf({ cluster, replicas, logs }: Made): string | undefined {
  if (cluster === undefined) return undefined;
  const promises = replicas.map(({ name }) => {
    return /An append survives [^(]*/.exec(readFileSync(join(logs, `${name}.log`), "utf8"))?.[0].trim();
  });
  const [first] = promises;
  if (first === undefined || promises.some((other) => other !== first)) throw new Error(`They say ${promises}.`);
  return first;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * Runs this program again in its own network, mount and process namespaces, which end with it. Without namespaces, the
 * program runs here and skips the faults that need them.
 */
function isolated(): number | undefined {
  if (process.env.PARLEY_CHAOS_ISOLATED !== undefined || process.env.PARLEY_CHAOS_STORE === "sqlite-here")
    return undefined;
  const apart = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const tries = spawnSync("unshare", [...apart, "sh", "-c", "ip link add name try type bridge && nft list tables"]);
  if (tries.status !== 0) {
    say(`There are no network namespaces here: ${tries.error?.message ?? tries.stderr.toString().trim()}`);
    return undefined;
  }
  // The first process of a process namespace has to reap orphans, as a shell does.
  const shell = ["sh", "-c", '"$@"; exit $?', "sh"];
  const command = [...shell, process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)];
  const env = { ...process.env, PARLEY_CHAOS_ISOLATED: "yes" };
  return spawnSync("unshare", [...apart, ...command], { stdio: "inherit", env }).status ?? 1;
}

// An unused session of a Connect client may receive the GOAWAY of its server.
process.on("uncaughtException", (error) => {
  if (!/GOAWAY without any open streams/.test(error.message)) throw error;
});
process.exitCode = isolated() ?? (await main());
