import { constants } from "node:os";
import { die, endAtTheLatest, exit } from "./exit.js";

/** npm and a terminal both pass a Ctrl-C on: what comes within this time of the first is the same key, in ms. */
const ECHO_MS = 300;

/**
 * Ends a process in order at the first SIGTERM or SIGINT, and at once at the second one, by that signal: its exit code is
 * then 130 for Ctrl-C and 143 for SIGTERM.
 *
 * @param latestMs when it ends at the latest, whatever hangs, in milliseconds after the first one.
 * @param end what ending in order means; it ends the process.
 */
export function endOnSignals(latestMs: number, end: (signal: NodeJS.Signals) => Promise<never>): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = performance.now();
      endAtTheLatest(latestMs);
      void end(signal);
    } else if (performance.now() - first > ECHO_MS) {
      // The exit code of whoever is killed by a signal, for whoever cannot be.
      if (process.pid === 1) exit(128 + constants.signals[signal]);
      die(signal);
    }
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
