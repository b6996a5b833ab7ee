import type { ChildProcess } from "node:child_process";
import { startProcess } from "./process-beside.js";

/**
 * Starts the process that writes a file for several others. It ends by itself when the process that starts it has ended.
 */
export function startWriterProcess(): ChildProcess {
  return startProcess(import.meta.url, "writer-process");
}
