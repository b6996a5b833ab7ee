import { type ChildProcess, fork } from "node:child_process";

/** Starts the process that makes a backup from the file beside this one: TypeScript when run from source. */
export function startCopier(): ChildProcess {
  const isSource = import.meta.url.endsWith(".ts");
  return fork(new URL(isSource ? "./copier.ts" : "./copier.js", import.meta.url), [], {
    execArgv: isSource ? ["--import", "tsx/esm"] : [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}
