import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bundle } from "../../support/writer-thread.js";

/** A process of the tests, with what it has said so far. */
export interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves when so many lines were said, or the process is over. */
  said(count: number): Promise<void>;
  /** Exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts `child.ts`, bundled, with arguments. */
export function startChild(...args: string[]): Child {
  return startProgram("child.js", ...args);
}

/** Starts a bundled program with arguments. */
export function startProgram(program: string, ...args: string[]): Child {
  const child = spawn(process.execPath, [fileURLToPath(bundle(program)), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on("line", (line) => lines.push(line));
  const closed = new Promise<void>((resolve) => output.on("close", resolve));
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on("exit", (code, signal) => resolve(code ?? signal));
  });
  return {
    process: child,
    lines,
    async said(count) {
      while (lines.length < count && child.exitCode === null && child.signalCode === null) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    ended: closed.then(() => exited),
  };
}
