import type { Stop } from "./stop.js";

/** The signal of calls that nobody can stop: nobody listens to it, as nothing would ever let go of the listener. */
export const never: AbortSignal = new AbortController().signal;

/** Whether a signal will not be aborted. */
export function isNever(signal: Stop | undefined): boolean {
  return signal === undefined || signal === never;
}
