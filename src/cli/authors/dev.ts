import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { exit } from "../exit.js";
import type { Given } from "../flags.js";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";
import { CHILD_VARIABLE, type FromServer, GRACE_MS, type LoadedMessage } from "./dev-messages.js";
import { WatchedFiles } from "./watched-files.js";

/** Time for a server to end beyond its grace period before it is killed, in milliseconds. */
const KILL_MS = 3_000;

/**
 * Serves a module in a process of its own, and starts that anew when a file of it changes.
 *
 * @param args words of the command line after `dev`
 * @throws UsageError if the module does not exist
 */
export async function dev(io: Io, path: string, args: readonly string[], given: Given): Promise<never> {
  if (!existsSync(resolve(io.cwd, path))) throw new UsageError(`the agent module ${path} does not exist`);
  const code = await new Supervisor(io, args, given.limits.shutdownGraceMs ?? GRACE_MS).run(resolve(io.cwd, path));
  return exit(code);
}

/** Starts the process of the server, ends it, and starts it again. At most one runs, so that its port is free. */
class Supervisor {
  readonly #io: Io;
  readonly #args: readonly string[];
  readonly #killMs: number;
  readonly #files: WatchedFiles;
  #child: ChildProcess | undefined;
  #kill: ReturnType<typeof setTimeout> | undefined;
  #ports: readonly string[] = [];
  #isReady = false;
  #wasReady = false;
  #isStuck = false;
  #isChanged = false;
  /** True if a file that an import may have missed appeared during the start. */
  #hasAppeared = false;
  #ended: (code: number) => void = () => {};

  constructor(io: Io, args: readonly string[], graceMs: number) {
    this.#io = io;
    this.#args = args;
    this.#killMs = graceMs + KILL_MS;
    this.#files = new WatchedFiles(
      (changed) => this.#onChange(changed),
      (text) => this.#say(text),
    );
  }

  /** @returns the exit code */
  async run(module: string): Promise<number> {
    const end = new Promise<number>((resolve) => {
      this.#ended = resolve;
    });
    this.#files.add(realpathSync(module));
    this.#io.interrupted.addEventListener("abort", () => this.#stop());
    this.#start();
    const code = await end;
    this.#files.close();
    return code;
  }

  #start(): void {
    this.#isChanged = false;
    this.#isReady = false;
    this.#hasAppeared = false;
    this.#files.reportAll(true);
    const [main = ""] = process.argv.slice(1);
    const child = spawn(process.execPath, [...process.execArgv, main, "dev", ...this.#args, ...this.#ports], {
      cwd: this.#io.cwd,
      // The second variable makes Node.js report the modules that it loads.
      env: { ...this.#io.env, [CHILD_VARIABLE]: "1", WATCH_REPORT_DEPENDENCIES: "1" },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    child.on("message", (message) => this.#onMessage(message as FromServer & LoadedMessage));
    child.once("error", (error) => this.#say(error.message));
    child.once("close", (code, signal) => this.#onEnd(code ?? signal));
  }

  #onMessage(message: FromServer & LoadedMessage): void {
    const loaded = [...(message["watch:import"] ?? []), ...(message["watch:require"] ?? [])];
    for (const file of loaded) if (typeof file === "string") this.#watch(file);
    if (message.type === "stuck") this.#isStuck = true;
    if (message.type !== "ready") return;
    this.#isReady = true;
    this.#files.reportAll(false);
    this.#ports = [
      ...["--port", `${message.port}`],
      ...(message.grpcPort === undefined ? [] : ["--grpc-port", `${message.grpcPort}`]),
    ];
    if (this.#wasReady) this.#say("the agent is served again");
    else this.#io.stdout.write(message.greeting);
    this.#wasReady = true;
  }

  #watch(file: string): void {
    const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
    if (!path.startsWith(sep) && !/^[A-Za-z]:/.test(path)) return;
    if (!path.split(sep).includes("node_modules") && !path.startsWith(ownFolder)) this.#files.add(path);
  }

  #onChange(path: string): void {
    if (this.#io.interrupted.aborted) return;
    if (this.#child !== undefined && !this.#files.has(path)) {
      this.#hasAppeared = true;
      return;
    }
    this.#say(`${relative(this.#io.cwd, path)} has changed`);
    this.#isChanged = true;
    if (this.#child === undefined) this.#start();
    else this.#terminate(this.#child);
  }

  #stop(): void {
    if (this.#child === undefined) this.#ended(0);
    else this.#terminate(this.#child);
  }

  #terminate(child: ChildProcess): void {
    child.kill("SIGTERM");
    // An agent that never returns to the event loop sees no signal.
    this.#kill ??= setTimeout(() => child.kill("SIGKILL"), this.#killMs);
  }

  #onEnd(how: number | NodeJS.Signals | null): void {
    clearTimeout(this.#kill);
    this.#kill = undefined;
    this.#child = undefined;
    if (this.#io.interrupted.aborted) return this.#ended(0);
    if (this.#isChanged) return this.#start();
    if (this.#hasAppeared && !this.#isReady) return this.#start();
    if (this.#isStuck && !this.#wasReady) return this.#ended(typeof how === "number" ? how : 1);
    const what = this.#isReady ? `the server ended (${how}); it` : "it";
    this.#say(`${what} starts again when a file changes`);
  }

  #say(text: string): void {
    this.#io.stderr.write(`parley: ${text}\n`);
  }
}

/** The folder of this program, whose files are not the author's. */
const ownFolder = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../src/" : "../../../dist/", import.meta.url),
);
