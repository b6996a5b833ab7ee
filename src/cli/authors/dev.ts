import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { UsageError } from "../command-error.js";
import { exit } from "../exit.js";
import type { Given } from "../flags.js";
import { type Io, isInteractive } from "../io.js";
import { CHILD_VARIABLE, type FromServer, GRACE_MS, type LoadedMessage, plainStage, type Stage } from "./stage.js";
import { WatchedFiles } from "./watched-files.js";

/** Time for a server to end beyond its grace period before it is killed, in milliseconds. */
const KILL_MS = 3_000;

interface DevOptions {
  /** Words of the command line after `dev`. */
  readonly args: readonly string[];
  readonly given: Given;
  /** The program, to chat with the agent in the terminal; undefined to show the log there. */
  readonly chat: Command | undefined;
}

/**
 * Serves a module in a separate process, which is restarted when one of the module's files changes.
 *
 * @throws UsageError if the module does not exist, or to chat without a terminal
 */
export async function dev(io: Io, path: string, { args, given, chat }: DevOptions): Promise<never> {
  if (!existsSync(resolve(io.cwd, path))) throw new UsageError(`the agent module ${path} does not exist`);
  if (chat !== undefined && !isInteractive(io)) {
    throw new UsageError("--chat needs a terminal: run parley chat in another one");
  }
  const supervisor = new Supervisor(io, args, given.limits.shutdownGraceMs ?? GRACE_MS);
  const stage =
    chat === undefined
      ? plainStage(io)
      : new (await import("./dev-chat.js")).ChatStage(io, chat, (code) => supervisor.stop(code));
  return exit(await supervisor.run(resolve(io.cwd, path), stage));
}

/** Starts the process of the server, ends it, and starts it again. At most one runs, so that its port is free. */
class Supervisor {
  readonly #io: Io;
  readonly #args: readonly string[];
  readonly #killMs: number;
  readonly #files: WatchedFiles;
  #stage: Stage;
  #child: ChildProcess | undefined;
  #kill: ReturnType<typeof setTimeout> | undefined;
  #ports: readonly string[] = [];
  #isReady = false;
  #wasReady = false;
  #isStuck = false;
  #isChanged = false;
  /** True if a file that an import may have missed appeared during the start. */
  #hasAppeared = false;
  #isStopping = false;
  #exit = 0;
  #ended: (code: number) => void = () => {};

  constructor(io: Io, args: readonly string[], graceMs: number) {
    this.#io = io;
    this.#args = args;
    this.#killMs = graceMs + KILL_MS;
    this.#stage = plainStage(io);
    this.#files = new WatchedFiles(
      (changed) => this.#onChange(changed),
      (text) => this.#say(text),
    );
  }

  /** @returns the exit code */
  async run(module: string, stage: Stage): Promise<number> {
    this.#stage = stage;
    const end = new Promise<number>((resolve) => {
      this.#ended = resolve;
    });
    this.#files.add(realpathSync(module));
    this.#io.interrupted.addEventListener("abort", () => this.stop(0));
    // A second Ctrl-C does not wait for the server. One that its agent blocks would stay.
    process.once("exit", () => this.#child?.kill("SIGKILL"));
    this.#start();
    const code = await end;
    this.#files.close();
    await this.#stage.close?.();
    return code;
  }

  /** Ends the server, and then the run. */
  stop(code: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#exit = code;
    if (this.#child === undefined) this.#ended(code);
    else this.#terminate(this.#child);
  }

  #start(): void {
    this.#isChanged = false;
    this.#isReady = false;
    this.#hasAppeared = false;
    this.#files.reportAll(true);
    this.#stage.starting?.();
    const [main = ""] = process.argv.slice(1);
    const child = spawn(process.execPath, [...process.execArgv, main, "dev", ...this.#args, ...this.#ports], {
      cwd: this.#io.cwd,
      // The second variable makes Node.js report the modules that it loads.
      env: { ...this.#io.env, [CHILD_VARIABLE]: "1", WATCH_REPORT_DEPENDENCIES: "1" },
      stdio: ["ignore", this.#stage.output, this.#stage.output, "ipc"],
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
    this.#stage.ready(message, !this.#wasReady);
    this.#wasReady = true;
  }

  #watch(file: string): void {
    const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
    if (!path.startsWith(sep) && !/^[A-Za-z]:/.test(path)) return;
    if (!path.split(sep).includes("node_modules") && !path.startsWith(ownFolder)) this.#files.add(path);
  }

  #onChange(path: string): void {
    if (this.#isStopping) return;
    if (this.#child !== undefined && !this.#files.has(path)) {
      this.#hasAppeared = true;
      return;
    }
    this.#say(`${relative(this.#io.cwd, path)} has changed`);
    this.#isChanged = true;
    if (this.#child === undefined) this.#start();
    else this.#terminate(this.#child);
  }

  #terminate(child: ChildProcess): void {
    this.#stage.away?.();
    child.kill("SIGTERM");
    // An agent that never returns to the event loop sees no signal.
    this.#kill ??= setTimeout(() => child.kill("SIGKILL"), this.#killMs);
  }

  #onEnd(how: number | NodeJS.Signals | null): void {
    clearTimeout(this.#kill);
    this.#kill = undefined;
    this.#child = undefined;
    this.#stage.away?.();
    if (this.#isStopping) return this.#ended(this.#exit);
    if (!this.#isReady) this.#stage.failed?.();
    if (this.#isChanged) return this.#start();
    if (this.#hasAppeared && !this.#isReady) return this.#start();
    if (this.#isStuck && !this.#wasReady) return this.#ended(typeof how === "number" ? how : 1);
    const what = this.#isReady ? `the server ended (${how}); it` : "it";
    this.#say(`${what} starts again when a file changes`);
  }

  #say(text: string): void {
    this.#stage.say(text);
  }
}

/** The folder of this program, whose files are not the author's. */
const ownFolder = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../src/" : "../../../dist/", import.meta.url),
);
