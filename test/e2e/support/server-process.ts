import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "../../support/driver.js";
import { build, root } from "./build.js";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long a server may take to be ready, and to end, in milliseconds. Far more than it takes on a slow machine. */
const PATIENCE_MS = 30_000;

/** The built command line as a process of its own, serving the probe. */
export class ServerProcess implements Address {
  readonly url: string;
  readonly grpcPort: number;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #output: Output;

  private constructor(child: ChildProcess, output: Output, exited: Promise<Exit>, address: Address) {
    this.#child = child;
    this.#output = output;
    this.exited = exited;
    this.url = address.url;
    this.grpcPort = address.grpcPort;
  }

  /** Starts a server on free ports; resolves when it says that it is ready. */
  static async start(store: string, ...flags: readonly string[]): Promise<ServerProcess> {
    build();
    const main = join(root, "dist/src/cli/main.js");
    const probe = join(root, "dist/examples/probe/agent.js");
    const args = [main, "serve", probe, "--port", "0", "--grpc-port", "0", "--store", store, ...flags];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env: cleanEnvironment() });
    const output = new Output(child);
    const exited = new Promise<Exit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    const ready = Promise.race([output.address(), exited.then(() => undefined)]);
    const address = await within(PATIENCE_MS, ready, () => `The server is not ready.\n${output.log}`);
    if (address !== undefined) return new ServerProcess(child, output, exited, address);
    throw new Error(`The server ended before it was ready.\n${output.log}`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it logged so far. */
  get log(): string {
    return this.#output.log;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
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
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.log += text;
    });
  }

  address(): Promise<Address> {
    return new Promise((resolve) => {
      let greeting = "";
      this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        greeting += text;
        const url = /^\s*HTTP\s+(http\S+)/m.exec(greeting)?.[1];
        const grpcPort = /^\s*gRPC\s+\S+:(\d+)\n/m.exec(greeting)?.[1];
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
  readonly store: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-e2e-"));
  readonly #flags: readonly string[];
  #servers: ServerProcess[] = [];

  constructor(...flags: readonly string[]) {
    this.store = join(this.#folder, "tasks.db");
    this.#flags = flags;
  }

  /** Starts a server on the store; the one before has to be over. */
  async start(...flags: readonly string[]): Promise<ServerProcess> {
    const server = await ServerProcess.start(this.store, ...this.#flags, ...flags);
    this.#servers.push(server);
    return server;
  }

  /** Ends what still runs and removes the store. */
  async leave(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    this.#servers = [];
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
