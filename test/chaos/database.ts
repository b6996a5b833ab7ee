import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { Disk } from "./disk.js";
import { DATABASE, type Host } from "./network.js";
import { tryKill } from "./processes.js";

/** Maximum number of connections of the server. */
const MAX_CONNECTIONS = 60;

/** A PostgreSQL server in memory that faults may damage in any way. */
export class Database {
  readonly url: string;
  readonly #bin: string;
  readonly #host: Host | undefined;
  readonly #folder: string;
  readonly #disk: Disk | undefined;

  private constructor(bin: string, folder: string, host: Host | undefined, diskMb: number) {
    this.#bin = bin;
    this.#host = host;
    this.#folder = folder;
    this.#disk = host && new Disk(join(folder, "disk"), diskMb);
    const place = host === undefined ? `localhost/postgres?host=${encodeURIComponent(folder)}` : `${DATABASE}/postgres`;
    this.url = `postgres://parley@${place}`;
  }

  /**
   * Starts a server.
   *
   * @param host host of the server, which gets a disk of its own. Undefined to listen only on a Unix socket.
   */
  static async open(bin: string, folder: string, host: Host | undefined, diskMb: number): Promise<Database> {
    const database = new Database(bin, folder, host, diskMb);
    execFileSync("chown", ["-R", "postgres", folder]);
    await database.#run("initdb", ["-D", database.#data, "-U", "postgres", "-A", "trust", "--no-sync"]);
    appendFileSync(join(database.#data, "pg_hba.conf"), "host all all 10.77.0.0/24 trust\n");
    await database.start();
    await database.#asks(async (client) => {
      await client.query(
        "CREATE ROLE parley LOGIN; CREATE ROLE greedy LOGIN; GRANT CREATE ON DATABASE postgres TO parley",
      );
    });
    return database;
  }

  get #data(): string {
    return join(this.#disk?.path ?? this.#folder, "data");
  }

  /** Starts the server unless it runs. */
  async start(): Promise<void> {
    if (this.#processes().length > 0) return;
    const all = {
      ...{ listen_addresses: this.#host === undefined ? "" : DATABASE, unix_socket_directories: this.#folder },
      ...{ max_connections: `${MAX_CONNECTIONS}`, superuser_reserved_connections: "3" },
      ...{ shared_buffers: "32MB", min_wal_size: "32MB", max_wal_size: "64MB" },
    };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
    const log = join(this.#folder, "log");
    await this.#run("pg_ctl", ["-D", this.#data, "-w", "-t", "30", "-l", log, "-o", options.join(" "), "start"]);
  }

  async stop(mode: "fast" | "immediate"): Promise<void> {
    await this.#run("pg_ctl", ["-D", this.#data, "-w", "-m", mode, "stop"]);
  }

  /** Starts the server if it is down, and waits until it answers. */
  async revive(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.start();
        return await this.#asks(async (client) => void (await client.query("SELECT 1")));
      } catch (error) {
        if (attempt === 60) throw error;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    for (const pid of this.#processes()) tryKill(pid, name);
  }

  /** Ends the connections of all replicas. */
  async endBackends(): Promise<void> {
    await this.#asks(async (client) => {
      await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parley'");
    });
  }

  /** Kills the process of one connection. The server then ends all others and recovers. */
  async crashBackend(): Promise<void> {
    await this.#asks(async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE usename = 'parley' LIMIT 1",
      );
      const [first] = rows;
      if (first !== undefined) tryKill(first.pid, "SIGKILL");
    });
  }

  /** Takes all connections, including those of the replicas, until the returned function is called. */
  async takeConnections(): Promise<() => Promise<void>> {
    const taken: pg.Client[] = [];
    for (let round = 0; round < 2; round++) {
      for (let isFree = true; isFree; ) {
        const client = this.#client("greedy");
        isFree = await client.connect().then(
          () => taken.push(client) > 0,
          () => false,
        );
      }
      // The first round takes the replicas' connections, and the second one most others.
      if (round === 0) await this.endBackends();
    }
    return async () => {
      await Promise.all(taken.map((client) => client.end().catch(() => {})));
    };
  }

  /** Locks all tables, so that every statement waits. */
  async lock(): Promise<() => Promise<void>> {
    const client = this.#client("postgres");
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'parley'",
    );
    const names = rows.map(({ name }) => name).sort();
    await client.query("BEGIN; SET LOCAL lock_timeout = '3s'");
    await client.query(`LOCK TABLE ${names.join(", ")} IN ACCESS EXCLUSIVE MODE`).catch(() => {});
    return () => client.end().catch(() => {});
  }

  /** Fills the disk and makes the server need another page. */
  async fill(): Promise<void> {
    this.#disk?.fill();
    // Log segments kept for reuse would postpone the failure.
    const next = "SELECT pg_logical_emit_message(false, 'chaos', 'x'), pg_switch_wal()";
    await this.#asks(async (client) => {
      for (let segment = 0; segment < 6; segment++) await client.query(next);
    }).catch(() => {});
  }

  /** Restores the size of the disk. */
  empty(): void {
    this.#disk?.empty();
  }

  async end(): Promise<void> {
    this.signal("SIGCONT");
    if (this.#processes().length > 0) await this.stop("immediate");
  }

  #client(user: string): pg.Client {
    const client = new pg.Client({ host: this.#folder, user, database: "postgres", connectionTimeoutMillis: 5_000 });
    client.on("error", () => {});
    return client;
  }

  async #asks(act: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = this.#client("postgres");
    await client.connect();
    try {
      await act(client);
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** The server's processes: that of its pid file and its children. */
  #processes(): number[] {
    const main = this.#main();
    if (main === undefined) return [];
    const children = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => parentOf(pid) === main);
    return [main, ...children];
  }

  #main(): number | undefined {
    try {
      const pid = Number(readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n", 1)[0]);
      return isPostgres(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const inside = this.#host?.inside ?? [];
    const [name = "", ...rest] = [...inside, "runuser", "-u", "postgres", "--", join(this.#bin, program), ...args];
    const child = spawn(name, rest, { stdio: "ignore", cwd: "/" });
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("exit", resolve).once("error", reject),
    );
    if (code !== 0) throw new Error(`${program} ended with ${code}; see ${join(this.#folder, "log")}.`);
  }
}

function isPostgres(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.includes("(postgres)") && !/\) Z /.test(stat);
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
