import { homedir } from "node:os";
import { basename } from "node:path";
import { ECHO_MS, exit, signalCode } from "./exit.js";
import type { Io } from "./io.js";

export function processIo(version: string): Io {
  let interrupted: AbortSignal | undefined;
  return {
    program: programName(),
    version,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    // Node.js opens a stream on first use.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    // Signals of servers have handlers of their own, so these are added on first use.
    get interrupted() {
      interrupted ??= interruption();
      return interrupted;
    },
  };
}

/** Returns a signal that the first SIGINT or SIGTERM aborts. The second one ends the process. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (first === undefined) {
        first = performance.now();
        controller.abort(name);
      } else if (performance.now() - first > ECHO_MS) exit(signalCode(name));
    });
  }
  return controller.signal;
}

/** Returns the name by which the program was started. */
function programName(): string {
  return /^a2a(?:$|\.)/.test(basename(process.argv[1] ?? "")) ? "a2a" : "parley";
}
