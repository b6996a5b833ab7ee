import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "../../support/driver.js";
import { build, root } from "./build.js";

/** The agent that is served by default. */
const probe = join(root, "dist/examples/probe/agent.js");

/** The built command line. */
const built = join(root, "dist/src/cli/main.js");

/** Exit code or signal of a process. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Launch {
  readonly agent?: string;
  readonly store: string;
  readonly flags?: readonly string[];
  /** A command prefix that runs the server. */
  readonly under?: readonly string[];
  /** Module of the command line. Default: that of this build. */
  readonly main?: string;
}

/** Timeout for start and end in milliseconds, far more than a slow machine needs. */
const PATIENCE_MS = 30_000;

/** The built command line as a separate process that serves an agent. */
export class ServerProcess implements Address {
  url = "";
  grpcPort = 0;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #output: Output;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#output = new Output(child);
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  }

  /** Starts a server on free ports. They are known when it is `ready`. */
  static launch({ agent = probe, store, flags = [], under = [], main = built }: Launch): ServerProcess {
    build();
    const ports = ["--port", "0", "--grpc-port", "0"];
    const [command = "", ...args] = [...under, process.execPath, main, "serve", agent, ...ports, "--store", store];
    const child = spawn(command, [...args, ...flags], { stdio: ["ignore", "pipe", "pipe"], env: cleanEnvironment() });
    return new ServerProcess(child);
  }

  /** Starts the probe on free ports. Resolves when it is ready. */
  static async start(store: string, ...flags: readonly string[]): Promise<ServerProcess> {
    const server = ServerProcess.launch({ store, flags });
    await server.ready();
    return server;
  }

  /** Resolves when the server prints its addresses. */
  async ready(): Promise<void> {
    const first = Promise.race([this.#output.address(), this.exited.then(() => undefined)]);
    const address = await within(PATIENCE_MS, first, () => `The server is not ready.\n${this.log}`);
    if (address === undefined) throw new Error(`The server ended before it was ready.\n${this.log}`);
    this.url = address.url;
    this.grpcPort = address.grpcPort;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its log so far. */
  get log(): string {
    return this.#output.log;
  }

  /** Its standard output so far. */
  get greeting(): string {
    return this.#output.greeting;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Kills it like a crash. Returns the exit, because it may have ended before. */
  async kill(): Promise<Exit> {
    this.signal("SIGKILL");
    return this.exited;
  }

  /** Asks it to end and waits for that. */
  async stop(): Promise<Exit> {
    this.signal("SIGTERM");
    return within(PATIENCE_MS, this.exited, () => `The server does not end.\n${this.log}`);
  }
}

/** Output of a server: a greeting with its addresses on stdout, and its log on stderr. */
class Output {
  log = "";
  greeting = "";
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.log += text;
    });
  }

  address(): Promise<Address> {
    return new Promise((resolve) => {
      this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        this.greeting += text;
        const url = /^\s*HTTP\s+(http\S+)/m.exec(this.greeting)?.[1];
        const grpcPort = /^\s*gRPC\s+\S+:(\d+)\n/m.exec(this.greeting)?.[1];
        if (url !== undefined && grpcPort !== undefined) resolve({ url, grpcPort: Number(grpcPort) });
      });
    });
  }
}

/** The environment without the server's settings that the developer may have set. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")));
}

/** Awaits a promise, but rejects after a timeout. */
export async function within<T>(ms: number, promise: Promise<T>, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message())), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Servers of one test on one store, which is removed at the end. */
export class Home {
  /** Path of the file, or URL of a database. */
  store: string;
  /** Module of the served agent. */
  agent: string = probe;
  /** A command prefix that runs the servers. */
  under: readonly string[] = [];
  /** Module of the command line. */
  main: string = built;
  readonly folder: string = mkdtempSync(join(tmpdir(), "parley-e2e-"));
  readonly #flags: readonly string[];
  #servers: ServerProcess[] = [];

  constructor(...flags: readonly string[]) {
    this.store = join(this.folder, "tasks.db");
    this.#flags = flags;
  }

  /** Starts a server on the store and waits until it is ready. The one before has to have ended. */
  async start(...flags: readonly string[]): Promise<ServerProcess> {
    const server = this.launch(...flags);
    await server.ready();
    return server;
  }

  launch(...flags: readonly string[]): ServerProcess {
    const { agent, store, under, main } = this;
    const server = ServerProcess.launch({ agent, store, under, main, flags: [...this.#flags, ...flags] });
    this.#servers.push(server);
    return server;
  }

  /** Kills running servers and removes the store. */
  async leave(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    this.#servers = [];
    rmSync(this.folder, { recursive: true, force: true });
  }
}
