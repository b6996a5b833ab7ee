import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { childrenOf } from "../e2e/support/workers.js";
import type { Loss } from "./check.js";
import { Disk } from "./disk.js";
import { DATABASE, type Host } from "./network.js";
import { tryKill } from "./processes.js";
import { now } from "./records.js";

/** Lifetime of the leader's key, in seconds, which is Patroni's minimum. A silent leader is replaced after it. */
const KEY_S = 20;

/** Age of the acknowledged writes that an asynchronous failover may lose, in milliseconds. */
const LOSS_MS = 3_000;

/** Time in which the cluster has to have a leader and a standby again, in milliseconds. */
const WHOLE_MS = 80_000;

/** Debian's Python, which has Patroni's dependencies and which every user may run. */
const PYTHON = "/usr/bin/python3";

const MEMBERS = [0, 1] as const;
type Member = (typeof MEMBERS)[number];

const portOf = (member: Member): number => 5441 + member;
const restOf = (member: Member): string => `${DATABASE}:${8008 + member}`;

/** The folder, logs and host of a cluster. */
interface Place {
  readonly folder: string;
  readonly logs: string;
  readonly host: Host;
}

/** Two PostgreSQL members under Patroni, with etcd, and an haproxy that routes to the primary. */
export class Cluster {
  readonly url = `postgres://parley@${DATABASE}:5432/postgres`;
  /** Times in which an asynchronous failover may have lost writes. */
  readonly losses: Loss[] = [];
  readonly #host: Host;
  readonly #folder: string;
  readonly #logs: string;
  readonly #isSynchronous: boolean;
  readonly #managers: Map<Member, ChildProcess> = new Map();
  readonly #others: ChildProcess[] = [];
  readonly #modules: NodeJS.ProcessEnv = {};
  #isOver = false;

  private constructor({ folder, logs, host }: Place, isSynchronous: boolean) {
    this.#host = host;
    this.#logs = logs;
    this.#isSynchronous = isSynchronous;
    this.#folder = new Disk(join(folder, "cluster"), 1_024).path;
    const patroni = process.env.PARLEY_CHAOS_PATRONI ?? "";
    if (patroni === "") return;
    // The database's user may not be allowed to read Patroni's installation.
    mkdirSync(join(folder, "python", "patroni"), { recursive: true });
    execFileSync("mount", ["--bind", patroni, join(folder, "python", "patroni")]);
    this.#modules = { PYTHONPATH: join(folder, "python") };
  }

  static async open(bin: string, place: Place, isSynchronous: boolean): Promise<Cluster> {
    const cluster = new Cluster(place, isSynchronous);
    for (const name of ["etcd", "db0", "db1"]) mkdirSync(join(cluster.#folder, name), { mode: 0o700 });
    for (const member of MEMBERS) {
      writeFileSync(cluster.#settingsOf(member), JSON.stringify(settings(cluster.#folder, bin, member, isSynchronous)));
    }
    writeFileSync(join(cluster.#folder, "haproxy.cfg"), haproxy);
    execFileSync("chown", ["-R", "postgres", cluster.#folder]);
    cluster.#others.push(cluster.#spawn("etcd", etcd(join(cluster.#folder, "etcd"))));
    for (const member of MEMBERS) cluster.#manage(member);
    await cluster.whole(async (client) => {
      await client.query("CREATE ROLE parley LOGIN; GRANT CREATE ON DATABASE postgres TO parley");
    });
    cluster.#others.push(cluster.#spawn("haproxy", ["-db", "-f", join(cluster.#folder, "haproxy.cfg")]));
    return cluster;
  }

  /** Waits until Patroni would promote a standby. Returns the primary's member. */
  async whole(act = async (_: pg.Client): Promise<void> => {}): Promise<Member> {
    const standbys = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
    for (const begin = now(); ; await sleep(200)) {
      const leader = await this.leader();
      // etcd names the standby that has every acknowledged write. Patroni promotes no other.
      const standby = leader === undefined ? undefined : await memberAt(this.#isSynchronous ? "/sync" : "/replica");
      try {
        if (leader !== undefined && standby !== undefined) {
          const isFound = await this.#asks(leader, async (client) => {
            if ((await client.query(standbys)).rowCount === 0) return false;
            await act(client);
            return true;
          });
          if (isFound) return leader;
        }
      } catch {
        // The primary is ending or starting.
      }
      if (now() - begin > WHOLE_MS) throw new Error(`The cluster has no standby; see ${this.#logs}/db0.log.`);
    }
  }

  /** The member that Patroni reports as the primary. */
  leader(): Promise<Member | undefined> {
    return memberAt("/primary");
  }

  /**
   * Kills the primary's server and its Patroni, and waits for the next primary. Returns a function that restarts them.
   */
  async kill(): Promise<() => void> {
    const member = await this.whole();
    this.#loses();
    const pids = this.#serverOf(member);
    this.#managers.get(member)?.kill("SIGKILL");
    for (const pid of pids) tryKill(pid, "SIGKILL");
    await this.#followed(member);
    return () => this.#manage(member);
  }

  /** Makes the standby the primary by an orderly switchover. */
  async switchOver(): Promise<void> {
    const member = await this.whole();
    const file = this.#settingsOf(member);
    const names = ["--leader", `db${member}`, "--candidate", `db${1 - member}`, "--force"];
    const patronictl = [PYTHON, "-c", "from patroni.ctl import ctl; ctl()", "-c", file];
    const [program = "", ...args] = [...this.#host.inside, ...patronictl, "switchover", "chaos", ...names];
    const env = { ...process.env, ...this.#modules, LANG: "C.UTF-8" };
    await promisify(execFile)(program, args, { timeout: 60_000, env });
  }

  /**
   * Stops the primary's Patroni, but not its server, until another member is the primary. Returns a function that
   * resumes it.
   */
  async stopManager(): Promise<() => void> {
    const member = await this.whole();
    this.#loses();
    this.#managers.get(member)?.kill("SIGSTOP");
    await this.#followed(member);
    return () => this.#managers.get(member)?.kill("SIGCONT");
  }

  /** Stops etcd. Without it, Patroni demotes the primary. */
  async stopEtcd(): Promise<() => void> {
    await this.whole();
    // The primary gives up after a while. Either member may be the next one.
    this.#loses(2_000 * KEY_S);
    this.#others[0]?.kill("SIGSTOP");
    return () => this.#others[0]?.kill("SIGCONT");
  }

  async end(): Promise<void> {
    this.#isOver = true;
    const all = [...this.#managers.values(), ...this.#others];
    for (const child of all) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
    for (const member of MEMBERS) for (const pid of this.#serverOf(member)) tryKill(pid, "SIGKILL");
    await sleep(100);
  }

  /** Records a loss that begins shortly before now and ends when there is a primary again. */
  #loses(waitMs = 300): void {
    const loss = { from: now() - LOSS_MS, to: Number.POSITIVE_INFINITY };
    this.losses.push(loss);
    const until = async (): Promise<void> => {
      // A stopped or killed leader does not answer. The next leader does, or the same one after it continues.
      do await sleep(waitMs);
      while (!this.#isOver && (await this.leader()) === undefined);
      loss.to = now() + 1_000;
    };
    void until();
  }

  /** Waits until another member is the primary. */
  async #followed(member: Member): Promise<void> {
    const other = MEMBERS.find((one) => one !== member);
    for (const begin = now(); (await this.leader()) !== other; await sleep(200)) {
      if (now() - begin > WHOLE_MS) throw new Error(`No standby was promoted; see ${this.#logs}/db${other}.log.`);
    }
  }

  #manage(member: Member): void {
    this.#managers.set(member, this.#spawn(PYTHON, ["-m", "patroni", this.#settingsOf(member)], `db${member}`));
  }

  #settingsOf(member: Member): string {
    return join(this.#folder, `db${member}.yml`);
  }

  #spawn(program: string, args: readonly string[], name = program): ChildProcess {
    const user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];
    const [command = "", ...rest] = [...this.#host.inside, ...user, program, ...args];
    const env = {
      PATH: `${process.env.PATH}:/usr/sbin:/usr/bin`,
      HOME: this.#folder,
      LANG: "C.UTF-8",
      ...this.#modules,
    };
    // A file instead of a pipe, because processes of the child may outlive it.
    const log = openSync(join(this.#logs, `${name}.log`), "a");
    const child = spawn(command, rest, { stdio: ["ignore", log, log], cwd: this.#folder, env });
    closeSync(log);
    return child;
  }

  /** Processes of a member's PostgreSQL server. */
  #serverOf(member: Member): number[] {
    try {
      const file = join(this.#folder, `db${member}`, "data", "postmaster.pid");
      const main = Number(readFileSync(file, "utf8").split("\n", 1)[0]);
      return [main, ...childrenOf(main)];
    } catch {
      return [];
    }
  }

  async #asks<T>(member: Member, act: (client: pg.Client) => Promise<T>): Promise<T> {
    const place = { host: DATABASE, port: portOf(member), connectionTimeoutMillis: 2_000, query_timeout: 5_000 };
    const client = new pg.Client({ ...place, user: "postgres", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    try {
      return await act(client);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/** The member whose Patroni answers "yes". A stopped one does not answer. */
async function memberAt(path: string): Promise<Member | undefined> {
  const answers = await Promise.all(
    MEMBERS.map((member) =>
      fetch(`http://${restOf(member)}${path}`, { signal: AbortSignal.timeout(1_000) }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    ),
  );
  return MEMBERS.find((member) => answers[member]);
}

function etcd(folder: string): string[] {
  const [clients, peers] = [`http://${DATABASE}:2379`, `http://${DATABASE}:2380`];
  return [
    ...["--name", "etcd", "--data-dir", folder, "--initial-cluster", `etcd=${peers}`],
    ...["--listen-client-urls", clients, "--advertise-client-urls", clients],
    ...["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers],
  ];
}

/** Configuration of a member's Patroni. JSON is valid YAML. */
function settings(folder: string, bin: string, member: Member, isSynchronous: boolean): object {
  const place = `${DATABASE}:${portOf(member)}`;
  const parameters = {
    ...{ max_connections: 60, shared_buffers: "32MB", max_wal_size: "128MB", wal_keep_size: "64MB" },
    ...{ wal_log_hints: "on", max_wal_senders: 5, max_replication_slots: 5 },
  };
  return {
    scope: "chaos",
    name: `db${member}`,
    restapi: { listen: restOf(member), connect_address: restOf(member) },
    etcd3: { host: `${DATABASE}:2379` },
    bootstrap: {
      dcs: {
        ...{ ttl: KEY_S, loop_wait: 1, retry_timeout: 3, synchronous_mode: isSynchronous },
        postgresql: { use_pg_rewind: true, use_slots: true, parameters },
      },
      initdb: [{ encoding: "UTF8" }, "data-checksums", "no-sync"],
    },
    postgresql: {
      ...{ listen: place, connect_address: place, bin_dir: bin, pgpass: join(folder, `db${member}`, "pgpass") },
      data_dir: join(folder, `db${member}`, "data"),
      authentication: { superuser: { username: "postgres" }, replication: { username: "replicator" } },
      pg_hba: ["local all all trust", "host all all 10.77.0.0/24 trust", "host replication all 10.77.0.0/24 trust"],
      parameters: { unix_socket_directories: join(folder, `db${member}`) },
      basebackup: [{ checkpoint: "fast" }, "no-sync"],
    },
    watchdog: { mode: "off" },
  };
}

/** Ends a member's sessions when it is not the primary or its Patroni does not answer. */
const haproxy = `
defaults
  mode tcp
  timeout client 1h
  timeout server 1h
  timeout connect 2s
  timeout check 1s
listen primary
  bind ${DATABASE}:5432
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${MEMBERS.map((member) => `  server db${member} ${DATABASE}:${portOf(member)} check port ${8008 + member}`).join("\n")}
`;
