import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../e2e/support/build.js";
import { childrenOf } from "../e2e/support/workers.js";
import type { Address } from "../support/driver.js";
import { tryKill } from "./processes.js";

export interface Launch {
  readonly name: string;
  /** Address that it listens on. */
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number;
  /** Command prefix that runs a command on the replica's host. */
  readonly inside: readonly string[];
  /** Flags of `parley serve`. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** Runs `parley serve` and restarts it when it ends, as an init system does. */
export class Replica implements Address {
  readonly name: string;
  readonly url: string;
  readonly grpcHost: string;
  readonly grpcPort: number;
  /** Numbers of unexpected exits, by exit code. */
  readonly ends: Map<string, number> = new Map();
  readonly #launch: Launch;
  #child: ChildProcess | undefined;
  #wanted = false;
  #log: ReturnType<typeof createWriteStream>;

  constructor(launch: Launch) {
    const { name, host, port, grpcPort, folder } = launch;
    this.#launch = launch;
    this.name = name;
    this.url = `http://${host}:${port}`;
    this.grpcHost = host;
    this.grpcPort = grpcPort;
    this.#log = createWriteStream(join(folder, `${name}.log`), { flags: "a" });
    this.setClock(0);
  }

  /** Starts the replica, and restarts it whenever it ends. */
  start(): void {
    this.#wanted = true;
    if (this.#child !== undefined) return;
    const { inside, host, port, grpcPort, flags, env } = this.#launch;
    const ports = ["--host", host, "--port", `${port}`, "--grpc-port", `${grpcPort}`];
    const main = join(root, "dist/src/cli/main.js");
    const agent = join(root, "test/chaos/agent.mjs");
    const [command = "", ...args] = [...inside, process.execPath, main, "serve", agent, ...ports, ...flags];
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...ownEnvironment(), ...env } });
    this.#child = child;
    child.stderr?.pipe(this.#log, { end: false });
    child.once("exit", (code, signal) => {
      this.#child = undefined;
      if (!this.#wanted) return;
      const how = `${code ?? signal}`;
      this.ends.set(how, (this.ends.get(how) ?? 0) + 1);
      this.#log.write(`== ended by itself with ${how}\n`);
      setTimeout(() => this.#wanted && this.start(), 500);
    });
  }

  /** True if the replica has several processes. */
  get hasWorkers(): boolean {
    return this.#launch.flags.includes("--workers");
  }

  /** Stops or continues all processes of the replica. */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(name);
    for (const pid of this.#workers()) tryKill(pid, name);
  }

  /** Signals one of the workers. Returns a function that continues it. */
  signalWorker(which: number, name: "SIGSTOP" | "SIGKILL"): () => void {
    const workers = this.#workers();
    const worker = workers[which % workers.length];
    if (worker !== undefined) tryKill(worker, name);
    return () => worker !== undefined && tryKill(worker, "SIGCONT");
  }

  /** Replaces the workers by new ones. */
  replaceWorkers(): void {
    this.#child?.kill("SIGUSR2");
  }

  #workers(): number[] {
    const pid = this.#child?.pid;
    return pid === undefined || !this.hasWorkers ? [] : childrenOf(pid);
  }

  /** Ends the replica and keeps it down. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#wanted = false;
    const child = this.#child;
    if (child === undefined) return;
    child.kill(signal);
    for (const begin = performance.now(); this.#child !== undefined; await sleep(20)) {
      if (performance.now() - begin > 20_000) child.kill("SIGKILL");
    }
  }

  /** Offsets the replica's time of day, in hours. */
  setClock(hours: number): void {
    writeFileSync(this.clockFile, `${hours < 0 ? "" : "+"}${hours}h\n`);
  }

  get clockFile(): string {
    return join(this.#launch.folder, `${this.name}.clock`);
  }
}

/** The environment without PARLEY_ variables, including those of the tests. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")));
}
