import { constants } from "node:os";
import { die, endAtTheLatest, exit } from "./exit.js";

/** npm and the terminal both pass Ctrl-C on: a second signal within this time is the same key press, in milliseconds. */
const ECHO_MS = 300;

/**
 * Ends a process in order at the first SIGTERM or SIGINT, and at once at the second, by that signal: the exit code is then
 * 130 for Ctrl-C and 143 for SIGTERM.
 *
 * @param latestMs when the process is killed if something hangs, in milliseconds after the first signal.
 * @param end ends the process in order.
 */
export function endOnSignals(latestMs: number, end: (signal: NodeJS.Signals) => Promise<never>): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = performance.now();
      endAtTheLatest(latestMs);
      void end(signal);
    } else if (performance.now() - first > ECHO_MS) {
      // The first process of a container cannot be killed by its own signal, so it exits with the same code.
      if (process.pid === 1) exit(128 + constants.signals[signal]);
      die(signal);
    }
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

/**
 * Calls back at each SIGHUP, with which supervisors ask for a reload. A process on a terminal is left as it is: there the signal
 * says that the terminal is gone.
 */
export function onHangUp(reload: () => void): void {
  if (process.stderr.isTTY !== true) process.on("SIGHUP", reload);
}
