import { type ChildProcess, fork } from "node:child_process";
import { bundle } from "./writer-thread.js";

/** Stands for `store/sqlite/start-copier.ts` in the tests' own process: the same process, bundled. */
export function startCopier(): ChildProcess {
  return fork(bundle("copier.js"), [], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
}
