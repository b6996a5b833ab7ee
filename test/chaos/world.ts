import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programs } from "../store/postgres/server.js";
import { freePort } from "../support/free-port.js";
import { Database } from "./database.js";
import { Disk } from "./disk.js";
import type { World } from "./faults.js";
import { NatsProcess } from "./nats.js";
import { addressOf, DATABASE, Host, makeBridge, SIGNALS } from "./network.js";
import { Replica } from "./replica.js";

const REPLICAS = 3;
const LEASE_MS = 2_000;

const NATS_PACKAGE = new URL("nats-package.mjs", import.meta.url).href;

const FAKETIME = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]
  .map((folder) => `${folder}/faketime/libfaketimeMT.so.1`)
  .find(existsSync);

/** A world, with what ends it. */
interface Made extends World {
  readonly folder: string;
  readonly logs: string;
}

/** Starts three replicas on a store. */
export async function makeWorld(
  store: string,
  { folder: logs, effects, minutes }: { readonly folder: string; readonly effects: string; readonly minutes: number },
): Promise<Made> {
  const isApart = process.env.PARLEY_CHAOS_ISOLATED !== undefined;
  const folder = mkdtempSync(join(tmpdir(), "parley-chaos-"));
  execFileSync("chmod", ["755", folder]);
  const hosts = isApart ? makeHosts() : undefined;
  const diskMb = 256 + Math.ceil(minutes * 24);
  const database = store === "postgres" ? await openDatabase(folder, hosts?.database, diskMb) : undefined;
  const disk = store === "postgres" || !isApart ? undefined : new Disk(join(folder, "disk"), diskMb);
  const signals = database && (await startNats(hosts?.signals, join(logs, "nats.log")));
  const file = join(disk?.path ?? folder, "tasks.db");
  const flags = [
    ...["--store", database?.url ?? file, ...(database === undefined ? ["--shared"] : [])],
    ...["--lease", `${LEASE_MS}ms`, "--max-restarts", "1000", "--grace", "2s", "--allowed-hosts", "*"],
    ...(signals === undefined ? [] : ["--signals", signals.url]),
  ];
  const replicas: Replica[] = [];
  for (let at = 0; at < REPLICAS; at++) {
    const clock = join(logs, `replica-${at}.clock`);
    const [port, grpcPort] = hosts === undefined ? [await freePort(), await freePort()] : [8080, 50051];
    const replica = new Replica({
      name: `replica-${at}`,
      host: hosts === undefined ? "127.0.0.1" : addressOf(at),
      port,
      grpcPort,
      inside: hosts?.replicas[at]?.inside ?? [],
      flags,
      env: {
        CHAOS_EFFECTS: effects,
        ...(signals && { NODE_OPTIONS: `--import=${NATS_PACKAGE}` }),
        ...(FAKETIME === undefined ? {} : clockOf(FAKETIME, clock)),
      },
      folder: logs,
    });
    replicas.push(replica);
    replica.start();
  }
  return { leaseMs: LEASE_MS, replicas, hosts, database, signals, disk, clocks: FAKETIME !== undefined, folder, logs };
}

/** Ends all of a world. */
export async function endWorld({ replicas, database, signals, folder, logs }: Made): Promise<void> {
  for (const replica of replicas) replica.signal("SIGCONT");
  await Promise.all(replicas.map((replica) => replica.end("SIGKILL")));
  await signals?.kill();
  await database?.end();
  if (database !== undefined) copyFileSync(join(folder, "database", "log"), join(logs, "postgres.log"));
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // The disk is mounted there: it goes with the process.
  }
}

function makeHosts(): NonNullable<World["hosts"]> & { readonly signals: Host } {
  makeBridge();
  const database = Host.make("database", DATABASE);
  const replicas = Array.from({ length: REPLICAS }, (_, at) => Host.make(`replica-${at}`, addressOf(at)));
  return { replicas, database, signals: Host.make("signals", SIGNALS) };
}

/** A server for signals, if a variable names the program. */
async function startNats(host: Host | undefined, log: string): Promise<NatsProcess | undefined> {
  const program = process.env.PARLEY_CHAOS_NATS ?? "";
  if (program === "") return undefined;
  const [address, port] = host === undefined ? ["127.0.0.1", await freePort()] : [SIGNALS, 4222];
  return new NatsProcess(program, { host: address, port, inside: host?.inside ?? [] }, log);
}

async function openDatabase(folder: string, host: Host | undefined, diskMb: number): Promise<Database> {
  const bin = programs();
  if (bin === undefined) throw new Error("PostgreSQL is not installed.");
  const own = join(folder, "database");
  mkdirSync(own);
  return Database.open(bin, own, host, diskMb);
}

/** Variables for a clock that a file sets off, without touching the monotonic one. */
function clockOf(library: string, file: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
}
