import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryFolder } from "../../support/memory-folder.js";
import { bundle, bundlesVariable } from "../../support/writer-thread.js";

/** Installed versions of PostgreSQL, as Debian's packages lay them out, the newest first. */
const ROOT = "/usr/lib/postgresql";

/** Folder of the server's programs, or undefined without PostgreSQL on this machine. `PARLEY_POSTGRES_BIN` names another. */
export function programs(): string | undefined {
  if (process.env.PARLEY_POSTGRES_BIN !== undefined) return process.env.PARLEY_POSTGRES_BIN;
  if (!existsSync(ROOT)) return undefined;
  const [newest] = readdirSync(ROOT).sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? undefined : join(ROOT, newest, "bin");
}

/**
 * Query to a primary: one row if its standby has replayed everything. A standby that is not connected, or that has not
 * reported its position yet, makes no row.
 */
export const STANDBY_IS_LEVEL: string = "SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()";

/** A server of its own, in a temporary folder, that listens on a Unix socket alone. */
export class PostgresServer {
  readonly folder: string;
  readonly #bin: string;
  readonly #settings: Readonly<Record<string, string>>;

  /** @param origin the server to copy and to follow, or `initdb` for a system with an identifier of its own */
  constructor(bin: string, settings: Readonly<Record<string, string>> = {}, origin?: PostgresServer | "initdb") {
    this.#bin = bin;
    this.#settings = { max_wal_size: "64MB", ...settings };
    // Tests kill processes, and never the machine.
    this.folder = mkdtempSync(join(memoryFolder(), "parley-postgres-"));
    // The server refuses to run as root.
    if (isRoot()) execFileSync("chown", ["postgres", this.folder]);
    const data = join(this.folder, "data");
    if (origin === undefined) this.#copyEmpty(data);
    else if (origin === "initdb") this.#initialize(data);
    else {
      const from = `host=${origin.folder} user=postgres application_name=standby`;
      this.#run("pg_basebackup", ["-D", data, "-d", from, "-R", "-c", "fast", "--no-sync"]);
    }
    this.start();
  }

  /** Address of the database. */
  get url(): string {
    return this.urlOf("postgres");
  }

  /** Address of a database by its name. */
  urlOf(database: string): string {
    return `postgres://postgres@localhost/${database}?host=${encodeURIComponent(this.folder)}`;
  }

  start(): void {
    const all = { listen_addresses: "", unix_socket_directories: this.folder, ...this.#settings };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
    const log = join(this.folder, "log");
    this.#run("pg_ctl", ["-D", join(this.folder, "data"), "-w", "-l", log, "-o", options.join(" "), "start"]);
  }

  stop(mode: "fast" | "immediate" = "fast"): void {
    this.#run("pg_ctl", ["-D", join(this.folder, "data"), "-w", "-m", mode, "stop"]);
  }

  /** Kills the server without a clean shutdown. */
  kill(): void {
    const postmaster = Number(readFileSync(join(this.folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").match(/\d+/g) ?? [];
    for (const pid of [postmaster, ...children.map(Number)]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // One of them may have ended by itself.
      }
    }
  }

  /** Makes a standby the primary. */
  promote(): void {
    this.#run("pg_ctl", ["-D", join(this.folder, "data"), "-w", "promote"]);
  }

  /** Runs a statement on a connection of its own, and returns its rows. */
  async query(sql: string, database = "postgres"): Promise<unknown[]> {
    const { default: driver } = await import("pg");
    const client = new driver.Client(this.urlOf(database));
    await client.connect();
    try {
      return (await client.query({ text: sql, rowMode: "array" })).rows as unknown[];
    } finally {
      await client.end();
    }
  }

  /** Ends it, also one that was killed, and removes its files. */
  end(): void {
    try {
      this.stop("immediate");
    } catch {
      // The server has already been killed.
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** Copies the empty system of this run, as `initdb` takes several times as long. The first server makes it. */
  #copyEmpty(data: string): void {
    if (process.env[bundlesVariable] === undefined) return this.#initialize(data);
    const empty = fileURLToPath(bundle(`empty${this.#bin.replaceAll(/[\\/:]/g, "-")}`));
    if (existsSync(empty)) return copyFolder(empty, data);
    this.#initialize(data);
    const copy = mkdtempSync(`${empty}-`);
    copyFolder(data, join(copy, "data"));
    try {
      renameSync(join(copy, "data"), empty);
    } catch {
      // Another process was first.
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }

  #initialize(data: string): void {
    this.#run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
  }

  #run(program: string, args: readonly string[]): void {
    const command = [join(this.#bin, program), ...args];
    const [name = "", ...rest] = isRoot() ? ["runuser", "-u", "postgres", "--", ...command] : command;
    execFileSync(name, rest, { stdio: "ignore", cwd: "/" });
  }
}

/** Copies a folder that does not exist yet, with the owners of its files. */
function copyFolder(from: string, to: string): void {
  execFileSync("cp", ["-a", from, to]);
}

function isRoot(): boolean {
  return userInfo().uid === 0;
}

let one: PostgresServer | undefined;

/** The server of this process, started with its first use and ended after the process. It does not wait for the disk. */
export function thePostgres(): PostgresServer {
  const bin = programs();
  if (bin === undefined) throw new Error("PostgreSQL is not installed");
  if (one === undefined) {
    const started = new PostgresServer(bin, { fsync: "off", max_connections: "400" });
    endAfterThisProcess(started);
    one = started;
  }
  return one;
}

/** Ends a server and removes its files after this process has ended, also by a signal, as the workers of Vitest do. */
function endAfterThisProcess({ folder }: PostgresServer): void {
  const script = `read -r _; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"
    while [ -e "$1/data/postmaster.pid" ]; do sleep 0.1; done; rm -rf "$1"`;
  // Its input ends with this process.
  const waiting = spawn("sh", ["-c", script, "sh", folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  waiting.unref();
  (waiting.stdin as Socket).unref();
}
