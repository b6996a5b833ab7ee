import { homedir } from "node:os";
import { basename } from "node:path";
import type { Io } from "./io.js";

/** Returns the input and output of this process. */
export function processIo(version: string): Io {
  let interrupted: AbortSignal | undefined;
  let isWatched = false;
  const watchOutput = (): void => {
    if (isWatched) return;
    isWatched = true;
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      // The reader has what it wants.
      if (error.code === "EPIPE") process.exit(0);
    });
  };
  return {
    program: programName(),
    version,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    // Signals of servers have handlers of their own, so these are added on first use.
    get interrupted() {
      interrupted ??= interruption();
      return interrupted;
    },
    readStdin: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
      return Buffer.concat(chunks);
    },
    out: (text) => {
      watchOutput();
      process.stdout.write(text);
    },
    err: (text) => void process.stderr.write(text),
  };
}

/** Returns a signal that the first SIGINT or SIGTERM aborts. The second one ends the process. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(name === "SIGTERM" ? 143 : 130);
      controller.abort(name);
    });
  }
  return controller.signal;
}

/** Returns the name by which the program was started. */
function programName(): string {
  return /^a2a(?:$|\.)/.test(basename(process.argv[1] ?? "")) ? "a2a" : "parley";
}
