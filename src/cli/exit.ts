import { Worker } from "node:worker_threads";
import { within } from "../core/async.js";
import type { TaskStore } from "../store/task-store.js";

/** Exit code that asks a supervisor to start the program again (EX_TEMPFAIL of BSD's sysexits). */
export const RESTART_CODE = 75;

/** Time for the store to close when the process ends because of an error, in milliseconds. */
const CLOSE_MS = 1_000;

let expected = false;
let store: TaskStore | undefined;

/**
 * Ends the process with a code. At an exit Node waits for all threads, including one that hangs on a disk. If the store
 * hangs, a signal ends the process at once instead.
 */
export function exit(code: number): never {
  expected = true;
  if (store?.health.status.healthy === false) die("SIGKILL");
  process.exit(code);
}

/** Gives the store a moment to close, then ends the process; by `signal` if the store hangs. */
export async function exitProcess(code: number, signal: NodeJS.Signals = "SIGKILL"): Promise<never> {
  expected = true;
  const closed = within(CLOSE_MS, store?.close() ?? Promise.resolve()).catch(() => false);
  if (!(await closed)) die(signal);
  process.exit(code);
}

/** Ends the process at once, by the default action of the signal, which no thread can delay. */
export function die(signal: NodeJS.Signals): never {
  expected = true;
  // The first process of a container ignores signals that it sends to itself.
  if (process.pid === 1) process.abort();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return process.exit(128);
}

/**
 * Reports an unexpected exit as a failure from now on: an agent may call `process.exit(0)`, which interrupts its tasks
 * like a crash.
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

/**
 * Reports an exit as a failure of the module being loaded until the returned function is called: the module may call
 * `process.exit(0)`, or await a promise that never settles.
 */
export function noteEndWhileLoading(path: string): () => void {
  let isIdle = false;
  const onIdle = (): void => {
    isIdle = true;
  };
  const onExit = (code: number): void => {
    const why = isIdle ? "never finishes loading: it awaits what does not come" : `ended the process with code ${code}`;
    process.stderr.write(`parley: the agent module ${path} ${why}\n`);
    if (code === 0) process.exitCode = 2;
  };
  process.on("beforeExit", onIdle).on("exit", onExit);
  return () => void process.off("beforeExit", onIdle).off("exit", onExit);
}

/**
 * Kills the process after this time in milliseconds, even if its event loop is blocked: the timer runs in another
 * thread, if one can be started.
 */
export function endAtTheLatest(ms: number): void {
  const line = "parley: the server did not end in time and is killed\n";
  const script = `
    const { workerData: [ms, line] } = require("node:worker_threads");
    setTimeout(() => {
      require("node:fs").writeSync(2, line);
      process.kill(process.pid, "SIGKILL");
    }, ms);`;
  const kill = (): void => {
    process.stderr.write(line);
    process.kill(process.pid, "SIGKILL");
  };
  const thread = new Worker(script, { eval: true, workerData: [ms, line] });
  thread.on("error", () => setTimeout(kill, ms).unref()).unref();
}
