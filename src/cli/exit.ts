import { constants } from "node:os";
import { isatty } from "node:tty";
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
 * Ends the process with a code. At an exit Node waits for all threads, including one that hangs on a disk or looks up a
 * name. If the store hangs, a signal ends the process at once instead. After an interrupt, that signal does the same
 * during a look-up.
 */
export function exit(code: number): never {
  expected = true;
  if (store?.health.status.healthy === false) die("SIGKILL");
  if (isLookingUp()) {
    const signal = interrupts.get(code);
    if (signal !== undefined && process.pid !== 1) die(signal);
    // A signal during the wait has its default action.
    for (const each of interrupts.values()) process.removeAllListeners(each);
  }
  process.exit(code);
}

/** Returns the exit code that a shell reports for a process that a signal has ended. */
export const signalCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Signals of interrupts by their exit code. */
const interrupts: ReadonlyMap<number, NodeJS.Signals> = new Map([
  [signalCode("SIGINT"), "SIGINT"],
  [signalCode("SIGTERM"), "SIGTERM"],
]);

const isLookingUp = (): boolean => process.getActiveResourcesInfo().includes("GetAddrInfoReqWrap");

/** Gives the store a moment to close, then ends the process; by `signal` if the store hangs. */
export async function exitProcess(code: number, signal: NodeJS.Signals = "SIGKILL"): Promise<never> {
  expected = true;
  const closed = within(CLOSE_MS, store?.close() ?? Promise.resolve()).catch(() => false);
  if (!(await closed)) die(signal);
  process.exit(code);
}

/** Ends the process at once, by the default action of the signal, which no thread can delay. */
function die(signal: NodeJS.Signals): never {
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
function endAtTheLatest(ms: number): void {
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

/** npm and the terminal both pass Ctrl-C on: a second signal within this time is the same key press, in milliseconds. */
export const ECHO_MS = 300;

/** True for a process that a person started on a terminal, false for a service. */
const isOnTerminal = (): boolean => isatty(0);

/**
 * Ends a process in order at the first SIGTERM or SIGINT, and at once at the second, by that signal: the exit code is then
 * 130 for Ctrl-C and 143 for SIGTERM. On a terminal SIGHUP does the same, because the terminal is gone.
 *
 * @param latestMs when the process is killed if something hangs, in milliseconds after the first signal.
 * @param end ends the process in order.
 */
export function endOnSignals(latestMs: () => number, end: (signal: NodeJS.Signals) => Promise<never>): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = performance.now();
      endAtTheLatest(latestMs());
      void end(signal);
    } else if (performance.now() - first > ECHO_MS) {
      // The first process of a container cannot be killed by its own signal, so it exits with the same code.
      if (process.pid === 1) exit(signalCode(signal));
      die(signal);
    }
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  if (isOnTerminal()) process.on("SIGHUP", onSignal);
}

/** Calls back at each SIGHUP of a service, with which supervisors ask for a reload. The signal does not end the process. */
export function onHangUp(reload: () => unknown): void {
  if (!isOnTerminal()) process.on("SIGHUP", reload);
}

/**
 * Prevents failed output (a full disk, a closed terminal or pipe) from ending the process: an error event without a
 * listener throws, and logging it fails again. For stdout, which carries a command's result, the command fails, unless
 * its reader closed the pipe.
 */
export function noteLostOutput(): void {
  process.stderr.on("error", () => {});
  let isTold = false;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || isTold) return;
    isTold = true;
    process.exitCode = 1;
    process.stderr.write(`parley: stdout: ${error.message}\n`);
  });
}
