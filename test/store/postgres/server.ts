import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

/** Installed versions of PostgreSQL, as Debian's packages lay them out, the newest first. */
const ROOT = "/usr/lib/postgresql";

/** Folder of the server's programs, or undefined without PostgreSQL on this machine. */
export function programs(): string | undefined {
  if (!existsSync(ROOT)) return undefined;
  const [newest] = readdirSync(ROOT).sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? undefined : join(ROOT, newest, "bin");
}

/** A server of its own, in a folder below the system's temporary one, that listens on a Unix socket alone. */
export class PostgresServer {
  readonly folder: string;
  readonly #bin: string;

  constructor(bin: string, settings: Readonly<Record<string, string>> = {}) {
    this.#bin = bin;
    this.folder = mkdtempSync(join(tmpdir(), "parley-postgres-"));
    // The server refuses to run as root.
    if (isRoot()) execFileSync("chown", ["postgres", this.folder]);
    this.#run("initdb", ["-D", join(this.folder, "data"), "-U", "postgres", "-A", "trust", "--no-sync"]);
    this.start(settings);
  }

  /** Address of the database. */
  get url(): string {
    return `postgres://postgres@localhost/postgres?host=${encodeURIComponent(this.folder)}`;
  }

  start(settings: Readonly<Record<string, string>> = {}): void {
    const all = { listen_addresses: "", unix_socket_directories: this.folder, ...settings };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
    const log = join(this.folder, "log");
    this.#run("pg_ctl", ["-D", join(this.folder, "data"), "-w", "-l", log, "-o", options.join(" "), "start"]);
  }

  stop(mode: "fast" | "immediate" = "fast"): void {
    this.#run("pg_ctl", ["-D", join(this.folder, "data"), "-w", "-m", mode, "stop"]);
  }

  /** Ends it and removes its files. */
  end(): void {
    try {
      this.stop("immediate");
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  #run(program: string, args: readonly string[]): void {
    const command = [join(this.#bin, program), ...args];
    const [name = "", ...rest] = isRoot() ? ["runuser", "-u", "postgres", "--", ...command] : command;
    execFileSync(name, rest, { stdio: "ignore", cwd: "/" });
  }
}

function isRoot(): boolean {
  return userInfo().uid === 0;
}

let one: PostgresServer | undefined;

/** The server of this process, started with its first use and ended with the process. It does not wait for the disk. */
export function thePostgres(): PostgresServer {
  const bin = programs();
  if (bin === undefined) throw new Error("PostgreSQL is not installed");
  if (one === undefined) {
    const started = new PostgresServer(bin, { fsync: "off", max_connections: "400" });
    process.once("exit", () => started.end());
    one = started;
  }
  return one;
}
