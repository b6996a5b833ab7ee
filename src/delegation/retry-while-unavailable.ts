import { backoffMs, pause } from "../core/async.js";
import { A2AError } from "../core/error.js";

/** Delay between attempts. */
const bounds = { firstMs: 250, maxMs: 10_000 };

const unreachable: ReadonlySet<string> = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED"]);

/**
 * Retries a call with backoff while the other side is unreachable: for `outageMs` milliseconds after the first failure,
 * or until the signal fires.
 */
export async function retryWhileUnavailable<T>(
  call: () => Promise<T>,
  outageMs: number,
  signal: AbortSignal,
): Promise<T> {
  let since: number | undefined;
  for (let failures = 1; ; failures++) {
    try {
      return await call();
    } catch (error) {
      since ??= performance.now();
      const left = outageMs - (performance.now() - since);
      if (!(error instanceof A2AError) || !unreachable.has(error.reason) || signal.aborted || left <= 0) throw error;
      await pause(Math.min(left, backoffMs(failures, bounds)), signal);
    }
  }
}
