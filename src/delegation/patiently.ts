import { pause } from "../core/async.js";
import { A2AError } from "../core/error.js";

/** First and maximum delay between attempts, in milliseconds. */
const FIRST_MS = 250;
const MOST_MS = 10_000;

const unreachable: ReadonlySet<string> = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED"]);

/**
 * Retries a call with backoff while the other side is unreachable: for `outageMs` milliseconds after the first failure,
 * or until the signal fires.
 */
export async function patiently<T>(call: () => Promise<T>, outageMs: number, signal: AbortSignal): Promise<T> {
  let since: number | undefined;
  for (let most = FIRST_MS; ; most = Math.min(MOST_MS, 2 * most)) {
    try {
      return await call();
    } catch (error) {
      since ??= performance.now();
      const left = outageMs - (performance.now() - since);
      if (!(error instanceof A2AError) || !unreachable.has(error.reason) || signal.aborted || left <= 0) throw error;
      await pause(Math.min(left, most * Math.random()), signal);
    }
  }
}
