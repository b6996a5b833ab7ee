import { type ChildProcess, fork } from "node:child_process";

/**
 * Starts the process that writes a file for several others, from the file beside this one: TypeScript when run from
 * source. It ends by itself when the process that starts it has ended.
 */
export function startWriterProcess(): ChildProcess {
  const isSource = import.meta.url.endsWith(".ts");
  return fork(new URL(isSource ? "./writer-process.ts" : "./writer-process.js", import.meta.url), [], {
    execArgv: isSource ? ["--import", "tsx/esm"] : [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}
