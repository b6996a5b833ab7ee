/** Enough doublings to reach every limit. */
const MAX_DOUBLINGS = 30;

/** Bounds of a backoff. */
interface BackoffBounds {
  /** Maximum delay after the first failure, in milliseconds; doubled after each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * Random share of the delay, from 0 to 1. Default: 1 (full jitter), so that callers that failed together do not retry
   * together.
   */
  readonly jitter?: number;
}

/**
 * Returns the delay after a failure, in milliseconds: exponential backoff with jitter.
 *
 * @param failures number of failures in a row, 1 or more
 */
export function backoffMs(failures: number, { firstMs, maxMs, jitter = 1 }: BackoffBounds): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, MAX_DOUBLINGS));
  return ceiling * (1 - jitter + jitter * Math.random());
}
