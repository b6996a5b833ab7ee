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
import { Cluster } from "./patroni.js";
import { Replica } from "./replica.js";

const REPLICAS = 3;
/** Lease of the replicas, in milliseconds. */
export const LEASE_MS = 2_000;

const NATS_PACKAGE = new URL("nats-package.mjs", import.meta.url).href;

const FAKETIME = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]
  .map((folder) => `${folder}/faketime/libfaketimeMT.so.1`)
  .find(existsSync);

/** A world with the folders that its end needs. */
interface Made extends World {
  readonly folder: string;
  readonly logs: string;
}

interface Plan {
  /** `postgres`, `sqlite`, or a cluster: `patroni` or `patroni-async`. */
  readonly store: string;
  /** Folder of the logs. */
  readonly folder: string;
  readonly effects: string;
  readonly minutes: number;
  /** Address and port of the webhooks. */
  readonly hooks: { readonly host: string; readonly port: number } | undefined;
}

/** True if the replicas and the store have networks of their own. */
export const isApart: boolean = process.env.PARLEY_CHAOS_ISOLATED !== undefined;

/** Starts replicas with a shared store. The last replica has two processes. */
export async function makeWorld({ store, folder: logs, effects, minutes, hooks }: Plan): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), "parley-chaos-"));
  execFileSync("chmod", ["755", folder]);
  const isCluster = store.startsWith("patroni");
  const count = isCluster ? 2 : REPLICAS;
  const hosts = isApart ? makeHosts(count) : undefined;
  const diskMb = 256 + Math.ceil(Math.min(minutes, 240) * 24);
  const cluster = isCluster ? await openCluster({ folder, logs, host: hosts?.database }, store) : undefined;
  const database = store === "postgres" ? await openDatabase(folder, hosts?.database, diskMb) : undefined;
  const disk = store === "sqlite" && isApart ? new Disk(join(folder, "disk"), diskMb) : undefined;
  const signals = database && (await startNats(hosts?.signals, join(logs, "nats.log")));
  const url = cluster?.url ?? database?.url;
  const flags = [
    ...(url === undefined ? ["--store", join(disk?.path ?? folder, "tasks.db"), "--shared"] : ["--store", url]),
    ...["--lease", `${LEASE_MS}ms`, "--max-restarts", "1000", "--grace", "2s", "--allowed-hosts", "*"],
    ...(signals === undefined ? [] : ["--signals", signals.url]),
    ...(hooks === undefined ? [] : pushTo(hooks)),
  ];
  const places: { host: string; port: number; grpcPort: number }[] = [];
  for (let at = 0; at < count; at++) {
    const [port, grpcPort] = isApart ? [8080, 50051] : [await freePort(), await freePort()];
    places.push({ host: isApart ? addressOf(at) : "127.0.0.1", port, grpcPort });
  }
  const replicas = places.map((place, at) => {
    const clock = join(logs, `replica-${at}.clock`);
    const peer = places[(at + 1) % count] as (typeof places)[0];
    const replica = new Replica({
      name: `replica-${at}`,
      ...place,
      inside: hosts?.replicas[at]?.inside ?? [],
      flags: at === 2 ? [...flags, "--workers", "2"] : flags,
      env: {
        CHAOS_EFFECTS: effects,
        CHAOS_PEER: `http://${peer.host}:${peer.port}`,
        ...(signals && { NODE_OPTIONS: `--import=${NATS_PACKAGE}` }),
        ...(FAKETIME === undefined ? {} : clockOf(FAKETIME, clock)),
      },
      folder: logs,
    });
    replica.start();
    return replica;
  });
  const parts = { replicas, hosts, database, cluster, signals, disk };
  return { leaseMs: LEASE_MS, ...parts, clocks: FAKETIME !== undefined, folder, logs };
}

/** Flags for servers that notify webhooks on this machine. */
function pushTo({ host, port }: NonNullable<Plan["hooks"]>): string[] {
  return [
    ...["--push", "--push-allow-http", "--push-ports", `${port}`, "--push-allow", host],
    ...["--push-timeout", "4s", "--max-push-retry", "1s", "--max-deliveries-per-host", "32"],
    ...["--max-deliveries-per-host-per-second", "1000"],
  ];
}

/** Ends all processes of a world. */
export async function endWorld({ replicas, database, cluster, signals, folder, logs }: Made): Promise<void> {
  for (const replica of replicas) replica.signal("SIGCONT");
  await Promise.all(replicas.map((replica) => replica.end("SIGKILL")));
  await signals?.kill();
  await database?.end();
  await cluster?.end();
  if (database !== undefined) copyFileSync(join(folder, "database", "log"), join(logs, "postgres.log"));
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // The disk is mounted there. Its mount ends with the process.
  }
}

function makeHosts(count: number): NonNullable<World["hosts"]> & { readonly signals: Host } {
  makeBridge();
  const database = Host.make("database", DATABASE);
  const replicas = Array.from({ length: count }, (_, at) => Host.make(`replica-${at}`, addressOf(at)));
  return { replicas, database, signals: Host.make("signals", SIGNALS) };
}

/** Starts a NATS server if PARLEY_CHAOS_NATS names its program. */
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

function openCluster(
  { host, ...place }: { readonly folder: string; readonly logs: string; readonly host: Host | undefined },
  store: string,
): Promise<Cluster> {
  const bin = programs();
  if (bin === undefined || host === undefined) throw new Error("Patroni needs PostgreSQL and network namespaces.");
  return Cluster.open(bin, { ...place, host }, store === "patroni");
}

/** Variables for a clock whose offset is in a file. The monotonic clock is unaffected. */
function clockOf(library: string, file: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
}
