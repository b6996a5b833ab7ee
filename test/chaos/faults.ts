import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "./database.js";
import type { NatsProcess } from "./nats.js";
import { addressOf, CLIENTS, DATABASE, type Host, SIGNALS, type Way } from "./network.js";
import type { Cluster } from "./patroni.js";
import type { Replica } from "./replica.js";
import type { Planned } from "./schedule.js";

/** The parts that faults act on. Faults of a part that is undefined are skipped. */
export interface World {
  readonly leaseMs: number;
  readonly replicas: readonly Replica[];
  /** Hosts of the replicas and of the database. */
  readonly hosts?: { readonly replicas: readonly Host[]; readonly database: Host } | undefined;
  readonly database?: Database | undefined;
  /** A database under Patroni, which handles its failures. */
  readonly cluster?: Cluster | undefined;
  readonly signals?: NatsProcess | undefined;
  /** True if the replicas' clocks can be changed. */
  readonly clocks: boolean;
  /** The disk of a store in a file. It can be filled. */
  readonly disk?: { fill(): Promise<void> | void; empty(): void } | undefined;
}

export interface Fault {
  /** The title in the published table. */
  readonly title: string;
  /** Two faults of one area do not overlap. */
  readonly area: "process" | "link" | "database";
  /** Returns the reason if the world cannot have this fault. */
  lacks(world: World): string | undefined;
  /** The maximum duration, in milliseconds. */
  readonly longestMs: number;
  /** Starts the fault. Returns a function that ends it. */
  begin(world: World, planned: Planned): Promise<() => Promise<void> | void> | (() => Promise<void> | void);
}

const never = (): undefined => undefined;
const noNetwork = ({ hosts }: World): string | undefined =>
  hosts === undefined ? "needs network namespaces (CAP_NET_ADMIN)" : undefined;
const noDatabase = ({ database }: World): string | undefined =>
  database === undefined ? "needs PostgreSQL" : undefined;
const noSignals = ({ signals }: World): string | undefined =>
  signals === undefined ? "needs a `nats-server` (PARLEY_CHAOS_NATS)" : undefined;
const noCluster = ({ cluster }: World): string | undefined =>
  cluster === undefined ? "needs Patroni (PARLEY_CHAOS_STORE=patroni)" : undefined;
const noWorkers = ({ replicas }: World): string | undefined =>
  replicas.some(({ hasWorkers }) => hasWorkers) ? undefined : "needs a replica of several processes";
const noDatabaseLink = (world: World): string | undefined =>
  (world.cluster === undefined ? noDatabase(world) : undefined) ?? noNetwork(world);
const noDisk = (world: World): string | undefined =>
  world.disk !== undefined || (world.hosts !== undefined && world.database !== undefined)
    ? undefined
    : "needs a disk of its own";

const ways: readonly Way[] = ["both", "to", "from"];
const wayOf = ({ form }: Planned): Way => ways[form % ways.length] as Way;
const one = ({ replicas }: World, { replica }: Planned): Replica => replicas[replica] as Replica;
const hostOf = ({ hosts }: World, { replica }: Planned): Host => hosts?.replicas[replica] as Host;
const theDatabase = ({ database }: World): Database => database as Database;
const theCluster = ({ cluster }: World): Cluster => cluster as Cluster;
const theWorkers = ({ replicas }: World): Replica => replicas.find(({ hasWorkers }) => hasWorkers) as Replica;

/** A fault on the link between a replica and other hosts. Its end heals all links of the replica. */
function link(
  title: string,
  longestMs: number,
  act: (host: Host, planned: Planned) => void,
  lacks: Fault["lacks"] = noNetwork,
): Fault {
  return {
    title,
    area: "link",
    longestMs,
    lacks,
    begin(world, planned) {
      const host = hostOf(world, planned);
      act(host, planned);
      return () => host.heal();
    },
  };
}

/** Kinds of faults by their names in schedules. A new name changes the schedules of all seeds. */
export const faults: Readonly<Record<string, Fault>> = {
  kill: {
    title: "a replica killed (kill -9) and started again",
    area: "process",
    longestMs: 4_000,
    lacks: never,
    async begin(world, planned) {
      await one(world, planned).end("SIGKILL");
      return () => one(world, planned).start();
    },
  },
  "kill all": {
    title: "all replicas killed (kill -9) and started again",
    area: "process",
    longestMs: 2_000,
    lacks: never,
    async begin({ replicas }) {
      await Promise.all(replicas.map((replica) => replica.end("SIGKILL")));
      return () => replicas.forEach((replica) => void replica.start());
    },
  },
  restart: {
    title: "a replica restarted in order (SIGTERM)",
    area: "process",
    longestMs: 1_000,
    lacks: never,
    async begin(world, planned) {
      await one(world, planned).end("SIGTERM");
      return () => one(world, planned).start();
    },
  },
  pause: {
    title: "a replica stopped for longer than its lease (SIGSTOP, SIGCONT)",
    area: "process",
    longestMs: 8_000,
    lacks: never,
    async begin(world, planned) {
      one(world, planned).signal("SIGSTOP");
      await sleep(world.leaseMs);
      return () => one(world, planned).signal("SIGCONT");
    },
  },
  hiccup: {
    title: "a replica stopped for less than its lease",
    area: "process",
    longestMs: 1_500,
    lacks: never,
    begin(world, planned) {
      one(world, planned).signal("SIGSTOP");
      return () => one(world, planned).signal("SIGCONT");
    },
  },
  "pause all": {
    title: "all replicas stopped",
    area: "process",
    longestMs: 5_000,
    lacks: never,
    begin({ replicas }) {
      for (const replica of replicas) replica.signal("SIGSTOP");
      return () => replicas.forEach((replica) => void replica.signal("SIGCONT"));
    },
  },
  "worker killed": {
    title: "a process of several of a replica (`--workers`) killed (kill -9)",
    area: "process",
    longestMs: 500,
    lacks: noWorkers,
    begin(world, { form }) {
      theWorkers(world).signalWorker(form, "SIGKILL");
      return () => {};
    },
  },
  "worker stopped": {
    title: "a process of several of a replica stopped for longer than its lease",
    area: "process",
    longestMs: 6_000,
    lacks: noWorkers,
    async begin(world, { form }) {
      const goOn = theWorkers(world).signalWorker(form, "SIGSTOP");
      await sleep(world.leaseMs);
      return goOn;
    },
  },
  "workers replaced": {
    title: "all processes of a replica replaced in turn (SIGUSR2)",
    area: "process",
    longestMs: 5_000,
    lacks: noWorkers,
    begin(world) {
      theWorkers(world).replaceWorkers();
      return () => {};
    },
  },
  "cut database": link(
    "the link of a replica and the database cut, one way or both",
    9_000,
    (host, planned) => host.cut(DATABASE, wayOf(planned)),
    noDatabaseLink,
  ),
  "cut clients": link("the link of a replica and the clients cut, one way or both", 6_000, (host, planned) =>
    host.cut(CLIENTS, wayOf(planned)),
  ),
  isolate: link("a replica cut off from everything", 9_000, (host, planned) => {
    for (const peer of [DATABASE, CLIENTS, SIGNALS]) host.cut(peer);
    for (const other of [0, 1, 2]) if (other !== planned.replica) host.cut(addressOf(other));
  }),
  loss: link("a third of the packets to a replica lost", 6_000, (host) => {
    for (const peer of [DATABASE, CLIENTS]) host.lose(peer, 33);
  }),
  slow: link("a slow line from a replica (`tc`)", 6_000, (host) => host.slow()),
  refuse: {
    title: "connections of a replica refused by the database",
    area: "link",
    longestMs: 6_000,
    lacks: noDatabaseLink,
    begin({ hosts }, { replica }) {
      hosts?.database.refuse(addressOf(replica), 5432);
      return () => hosts?.database.heal();
    },
  },
  clock: {
    title: "the time of day of a replica off by hours",
    area: "process",
    longestMs: 6_000,
    lacks: ({ clocks }) => (clocks ? undefined : "needs libfaketime"),
    begin(world, planned) {
      one(world, planned).setClock([5, -5, 30, -30, 1, -1][planned.form] ?? 5);
      return () => one(world, planned).setClock(0);
    },
  },
  "database restart": {
    title: "the database restarted, in order or as after a crash",
    area: "database",
    longestMs: 3_000,
    lacks: noDatabase,
    async begin(world, { form }) {
      await theDatabase(world).stop(form % 2 === 0 ? "fast" : "immediate");
      return () => theDatabase(world).revive();
    },
  },
  "database stopped": {
    title: "all processes of the database stopped",
    area: "database",
    longestMs: 8_000,
    lacks: noDatabase,
    begin(world) {
      theDatabase(world).signal("SIGSTOP");
      return () => theDatabase(world).signal("SIGCONT");
    },
  },
  "backends ended": {
    title: "all connections ended by the database",
    area: "database",
    longestMs: 100,
    lacks: noDatabase,
    async begin(world) {
      await theDatabase(world).endBackends();
      return () => {};
    },
  },
  "backend killed": {
    title: "a backend of the database killed (kill -9)",
    area: "database",
    longestMs: 500,
    lacks: noDatabase,
    async begin(world) {
      await theDatabase(world).crashBackend();
      return () => theDatabase(world).revive();
    },
  },
  "no connections": {
    title: "all connections of the database taken by others",
    area: "database",
    longestMs: 6_000,
    lacks: noDatabase,
    begin: (world) => theDatabase(world).takeConnections(),
  },
  locked: {
    title: "all tables locked by another session",
    area: "database",
    longestMs: 8_000,
    lacks: noDatabase,
    begin: (world) => theDatabase(world).lock(),
  },
  "disk full": {
    title: "the disk of the store full",
    area: "database",
    longestMs: 5_000,
    lacks: noDisk,
    async begin({ disk, database }) {
      const full = disk ?? (database as Database);
      await full.fill();
      return async () => {
        full.empty();
        await database?.revive();
      };
    },
  },
  failover: {
    title: "the primary and its Patroni killed (kill -9), a standby promoted",
    area: "database",
    longestMs: 2_000,
    lacks: noCluster,
    begin: (world) => theCluster(world).kill(),
  },
  switchover: {
    title: "the primary changed in order (`patronictl switchover`)",
    area: "database",
    longestMs: 100,
    lacks: noCluster,
    async begin(world) {
      await theCluster(world).switchOver();
      return () => {};
    },
  },
  "manager stopped": {
    title: "the Patroni of the primary stopped until its key expires",
    area: "database",
    longestMs: 2_000,
    lacks: noCluster,
    begin: (world) => theCluster(world).stopManager(),
  },
  "etcd stopped": {
    title: "etcd stopped, so that no server may be the primary",
    area: "database",
    longestMs: 10_000,
    lacks: noCluster,
    begin: (world) => theCluster(world).stopEtcd(),
  },
  "signals killed": {
    title: "the NATS server killed and started again",
    area: "database",
    longestMs: 4_000,
    lacks: noSignals,
    async begin({ signals }) {
      await signals?.kill();
      return () => signals?.start();
    },
  },
  "cut signals": link(
    "the link of a replica and the NATS server cut, one way or both",
    6_000,
    (host, planned) => host.cut(SIGNALS, wayOf(planned)),
    (world) => noSignals(world) ?? noNetwork(world),
  ),
};
