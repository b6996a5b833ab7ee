import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PostgresServer, programs } from "../../test/store/postgres/server.js";

/** Cost of a transaction that `pgbench` makes. */
export interface Transactions {
  readonly perSecond: number;
  /** CPU time of all processes of the database for one, in microseconds. */
  readonly databaseMicros: number;
}

/** Why no server of PostgreSQL can be measured here. */
export function lacksPostgres(): string | undefined {
  return programs() === undefined ? "PostgreSQL is not installed (Debian: apt-get install postgresql)" : undefined;
}

/** A server of PostgreSQL that is measured. It waits for its disk. */
export class BenchDatabase {
  readonly server: PostgresServer;
  readonly #bin: string;
  readonly #pid: number;

  constructor() {
    const bin = programs();
    if (bin === undefined) throw new Error(lacksPostgres());
    this.#bin = bin;
    const settings = { shared_buffers: "256MB", max_wal_size: "4GB", max_connections: "300" };
    this.server = new PostgresServer(bin, settings);
    this.#pid = Number(readFileSync(join(this.server.folder, "data", "postmaster.pid"), "utf8").split("\n", 1)[0]);
  }

  get url(): string {
    return this.server.url;
  }

  /** CPU time of all processes of the server since it began, ended ones included, in microseconds. */
  cpuMicros(): number {
    const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const children = all.filter((name) => Number(statOf(name)[1]) === this.#pid);
    const running = [`${this.#pid}`, ...children].reduce((sum, pid) => sum + ranMicros(pid), 0);
    // After the name: state, parent, …, then user and system time of ended children, in ticks of 10 ms.
    const [user = 0, system = 0] = statOf(`${this.#pid}`).slice(13, 15).map(Number);
    return running + (user + system) * 10_000;
  }

  /** Runs statements by `psql`, and returns the output of the last one. */
  psql(sql: string): string {
    const args = ["-d", this.url, "-qAt", "-v", "ON_ERROR_STOP=1", "-f", "-"];
    return execFileSync(join(this.#bin, "psql"), args, {
      input: `SET client_min_messages = warning;\n${sql}`,
      encoding: "utf8",
    }).trim();
  }

  /** Transactions of a script, prepared, by so many clients. */
  async pgbench(sql: string, clients: number, seconds: number): Promise<Transactions> {
    const before = this.cpuMicros();
    const script = join(this.server.folder, "script.sql");
    writeFileSync(script, sql);
    const args = [
      "-n",
      "-M",
      "prepared",
      "-c",
      `${clients}`,
      "-j",
      "1",
      "-T",
      `${Math.ceil(seconds)}`,
      "-D",
      "p=0",
      "-f",
      script,
    ];
    const { stdout } = await promisify(execFile)(join(this.#bin, "pgbench"), [...args, this.url]);
    const failed = /number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? "0";
    if (failed !== "0") throw new Error(`pgbench: ${failed} transactions failed`);
    const [count, perSecond] = [/actually processed: (\d+)/, /tps = ([\d.]+)/].map((text) =>
      Number(text.exec(stdout)?.[1]),
    );
    if (count === undefined || perSecond === undefined) throw new Error(`pgbench: ${stdout}`);
    return { perSecond, databaseMicros: (this.cpuMicros() - before) / count };
  }

  stop(): void {
    this.server.stop("immediate");
  }
}

/** Fields of /proc/PID/stat after the name; empty for a process that has ended. */
function statOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** CPU time of a process, in microseconds; 0 if it has ended. */
function ranMicros(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ", 1)[0]) / 1_000;
  } catch {
    return 0;
  }
}
