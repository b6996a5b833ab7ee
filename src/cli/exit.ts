import { Worker } from "node:worker_threads";
import type { TaskStore } from "../store/task-store.js";

/** Exit code that asks a supervisor to start the program again (EX_TEMPFAIL of BSD's sysexits). */
export const RESTART_CODE = 75;

/** How long a store gets to close when the process ends out of order, in milliseconds. */
const CLOSE_MS = 1_000;

let expected = false;
let store: TaskStore | undefined;

/**
 * Ends the process with a code. Node waits for all threads at an exit, and one that hangs in a disk would keep the
 * process for as long as the disk likes; where the store hangs, a signal ends it instead, since that asks nobody.
 */
export function exit(code: number): never {
  expected = true;
  if (store?.health.status.healthy === false) die("SIGKILL");
  process.exit(code);
}

/** Gives the store a moment to close, then ends the process, whatever hangs; `signal` is what it dies of in that case. */
export async function exitProcess(code: number, signal: NodeJS.Signals = "SIGKILL"): Promise<never> {
  expected = true;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS, false);
  });
  const closed = store?.close().then(
    () => true,
    () => false,
  );
  if (!(await Promise.race([closed ?? true, late]))) die(signal);
  clearTimeout(timer);
  process.exit(code);
}

/** Ends the process at once, by the signal's own action, which no thread can delay. */
export function die(signal: NodeJS.Signals): never {
  expected = true;
  // The system lets the first process of a container live through its own signals.
  if (process.pid === 1) process.abort();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return process.exit(128);
}

/**
 * From now on an end of the process that nobody here asked for does not look like an orderly one: an agent may call
 * `process.exit(0)`. What it leaves behind is what a crash leaves.
 */
export function noteUnexpectedEnd(open: TaskStore): void {
  store = open;
  process.on("exit", (code) => {
    if (expected) return;
    process.stderr.write(`parley: something in this process ended it with code ${code}, not the server\n`);
    if (!open.health.status.healthy) die("SIGKILL");
    if (code === 0) process.exitCode = 1;
  });
}

/** Ends the process after so many milliseconds, even when its event loop is blocked: the clock is in another thread. */
export function endAtTheLatest(ms: number): void {
  const script = `
    const { workerData: ms } = require("node:worker_threads");
    setTimeout(() => {
      require("node:fs").writeSync(2, "parley: something holds up the end of the server, which is cut short\\n");
      process.kill(process.pid, "SIGKILL");
    }, ms);`;
  new Worker(script, { eval: true, workerData: ms }).unref();
}
