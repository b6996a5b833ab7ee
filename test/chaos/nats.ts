import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";

/** A NATS server, on its own host if there are hosts. */
export class NatsProcess {
  readonly url: string;
  readonly #command: readonly string[];
  readonly #log: ReturnType<typeof createWriteStream>;
  #child: ChildProcess | undefined;

  /** @param inside command prefix that runs a command on its host */
  constructor(program: string, where: { host: string; port: number; inside: readonly string[] }, log: string) {
    const { host, port, inside } = where;
    this.url = `nats://${host}:${port}`;
    this.#command = [...inside, program, "--addr", host, "--port", `${port}`];
    this.#log = createWriteStream(log, { flags: "a" });
    this.start();
  }

  start(): void {
    const [program = "", ...args] = this.#command;
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stderr?.pipe(this.#log, { end: false });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}
