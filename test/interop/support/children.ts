import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A program with its output so far. */
export interface Child {
  readonly child: ChildProcess;
  said(): string;
}

/** Programs that run beside the tests of a file. */
export class Children {
  readonly #all: ChildProcess[] = [];

  /** Starts a program in a folder with these variables and PATH only. */
  start(cwd: string, [command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#all.push(child);
    let said = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (piece: string) => {
        said += piece;
      });
    }
    return { child, said: () => said };
  }

  /** Kills the programs that still run. */
  async end(): Promise<void> {
    for (const child of this.#all) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
}
