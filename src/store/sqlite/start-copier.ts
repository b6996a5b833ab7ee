import type { ChildProcess } from "node:child_process";
import { startProcess } from "./process-beside.js";

/** Starts the process that makes a backup. */
export function startCopier(): ChildProcess {
  return startProcess(import.meta.url, "copier");
}
