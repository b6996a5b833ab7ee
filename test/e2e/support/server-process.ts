import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "../../support/driver.js";
import { build, root } from "./build.js";

/** The agent that is served unless another one is named. */
const probe = join(root, "dist/examples/probe/agent.js");

/** The command line that was built. */
const built = join(root, "dist/src/cli/main.js");

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How a server is started. */
interface Launch {
  readonly agent?: string;
  readonly store: string;
  readonly flags?: readonly string[];
  /** A command that runs another one. */
  readonly under?: readonly string[];
  /** Module of the command line. Default: that of this build. */
  readonly main?: string;
}

/** How long a server may take to be ready, and to end, in milliseconds. Far more than it takes on a slow machine. */
const PATIENCE_MS = 30_000;

/** The built command line as a process of its own, serving an agent. */
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

  /** Starts a server on free ports, which are not known before it is `ready`. */
  static launch({ agent = probe, store, flags = [], under = [], main = built }: Launch): ServerProcess {
    build();
    const ports = ["--port", "0", "--grpc-port", "0"];
    const [command = "", ...args] = [...under, process.execPath, main, "serve", agent, ...ports, "--store", store];
    const child = spawn(command, [...args, ...flags], { stdio: ["ignore", "pipe", "pipe"], env: cleanEnvironment() });
    return new ServerProcess(child);
  }

  /** Starts a server of the probe on free ports; resolves when it says that it is ready. */
  static async start(store: string, ...flags: readonly string[]): Promise<ServerProcess> {
    const server = ServerProcess.launch({ store, flags });
    await server.ready();
    return server;
  }

  /** Resolves when it says that it is ready. */
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

  /** What it logged so far. */
  get log(): string {
    return this.#output.log;
  }

  /** What it said on its standard output so far. */
  get greeting(): string {
    return this.#output.greeting;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it as a crash would, and says how it ended: it may have been quicker. */
  async kill(): Promise<Exit> {
    this.signal("SIGKILL");
    return this.exited;
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<Exit> {
    this.signal("SIGTERM");
    return within(PATIENCE_MS, this.exited, () => `The server does not end.\n${this.log}`);
  }
}

/** What a server says: a greeting with its addresses on stdout, its log on stderr. */
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

/** Settings of the server that whoever runs the tests may have in the environment are not for the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")));
}

/** A promise that is not waited for without end. */
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

/** Servers of one test after the other on one store, which is removed in the end. */
export class Home {
  /** The file, or the address of a database. */
  store: string;
  /** Module of the agent that is served. */
  agent: string = probe;
  /** A command that runs another one, under which servers are started. */
  under: readonly string[] = [];
  /** Module of the command line that serves. */
  main: string = built;
  readonly folder: string = mkdtempSync(join(tmpdir(), "parley-e2e-"));
  readonly #flags: readonly string[];
  #servers: ServerProcess[] = [];

  constructor(...flags: readonly string[]) {
    this.store = join(this.folder, "tasks.db");
    this.#flags = flags;
  }

  /** Starts a server on the store and waits until it is ready; the one before has to be over. */
  async start(...flags: readonly string[]): Promise<ServerProcess> {
    const server = this.launch(...flags);
    await server.ready();
    return server;
  }

  /** Starts a server on the store. */
  launch(...flags: readonly string[]): ServerProcess {
    const { agent, store, under, main } = this;
    const server = ServerProcess.launch({ agent, store, under, main, flags: [...this.#flags, ...flags] });
    this.#servers.push(server);
    return server;
  }

  /** Ends what still runs and removes the store. */
  async leave(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    this.#servers = [];
    rmSync(this.folder, { recursive: true, force: true });
  }
}
