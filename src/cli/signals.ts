import { constants } from "node:os";

/** npm and a terminal both pass a Ctrl-C on: what comes within this time of the first is the same key, in ms. */
const ECHO_MS = 300;

/**
 * Ends a process in order at the first SIGTERM or SIGINT, and at once at the second one.
 *
 * @param end what ending in order means, and the exit code of it.
 */
export function endOnSignals(end: (signal: NodeJS.Signals) => Promise<number>): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = Date.now();
      void end(signal).then((exitCode) => process.exit(exitCode));
    } else if (Date.now() - first > ECHO_MS) {
      // The exit code of whoever is killed by a signal.
      process.exit(128 + constants.signals[signal]);
    }
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
