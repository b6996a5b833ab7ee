import { aWholeNumber, checksOf, given } from "../core/options.js";
import { MAX_TIMEOUT_MS } from "../wire/service-params.js";
import { checkOptions } from "./calls/check-options.js";

/** Limits of a client: sizes, counts and times that servers determine. All are whole numbers. */
export interface ClientLimits {
  /** Size of a card, in bytes. Default 1 MiB. */
  readonly maxCardBytes: number;
  /** Consecutive redirects to a card. Default 3. */
  readonly maxCardRedirects: number;
  /** Time to find a card, in milliseconds, with redirects, retries and verification. Default 15 seconds. */
  readonly cardTimeoutMs: number;
  /**
   * Time for which a card is used without revalidation, in milliseconds, even if its server allows more. Default 1
   * hour.
   */
  readonly maxCardAgeMs: number;
  /** Cards in a cache; the oldest is evicted first. Default 256. */
  readonly maxCards: number;
  /** Interfaces of a card that are considered. Default 64. */
  readonly maxInterfaces: number;
  /** Size of an answer, or of an event of a stream, in bytes. Default 64 MiB. */
  readonly maxAnswerBytes: number;
  /** Values in an answer or event: fields, list elements, members of JSON. Default 500,000. */
  readonly maxAnswerValues: number;
  /**
   * Time for a call with one answer, in milliseconds, with retries. Blocking sends have `sendTimeoutMs`, streams have
   * no timeout. The option `timeoutMs` of a call overrides it; 0 disables the timeout. Default 60 seconds.
   */
  readonly timeoutMs: number;
  /** Time for a blocking send, which waits until its task has ended or pauses, in milliseconds. Default 10 minutes. */
  readonly sendTimeoutMs: number;
  /**
   * Time to connect, in milliseconds: look-up, TCP and TLS, and with gRPC the server's first frame. Node.js only.
   * Default 10 seconds.
   */
  readonly connectTimeoutMs: number;
  /** Attempts of a call that may be repeated; 1 disables retries. Default 4. */
  readonly maxAttempts: number;
  /** Maximum delay before the second attempt, in milliseconds; it doubles with each further attempt. Default 250. */
  readonly retryMs: number;
  /** Maximum delay between two attempts, in milliseconds. Default 10 seconds. */
  readonly maxRetryMs: number;
  /**
   * Longest `Retry-After` that is honored, in milliseconds; the call fails if the server asks for more. Default 30
   * seconds.
   */
  readonly maxRetryAfterMs: number;
  /** Time from a disconnect to the next event in which a stream reconnects, in milliseconds. Default 5 minutes. */
  readonly maxResumeMs: number;
  /** Tasks kept in memory for push notifications; the oldest is evicted and read again when needed. Default 1,000. */
  readonly maxNotifiedTasks: number;
  /**
   * Delay before an unreachable interface is tried again while others work, in milliseconds; it doubles each time, up
   * to 32 times. Default 10 seconds.
   */
  readonly interfaceRestMs: number;
}

/** Defaults of the client limits. */
export const defaultClientLimits: ClientLimits = {
  maxCardBytes: 1024 * 1024,
  maxCardRedirects: 3,
  cardTimeoutMs: 15_000,
  maxCardAgeMs: 3_600_000,
  maxCards: 256,
  maxInterfaces: 64,
  maxAnswerBytes: 64 * 1024 * 1024,
  maxAnswerValues: 500_000,
  timeoutMs: 60_000,
  sendTimeoutMs: 600_000,
  connectTimeoutMs: 10_000,
  maxAttempts: 4,
  retryMs: 250,
  maxRetryMs: 10_000,
  maxRetryAfterMs: 30_000,
  maxResumeMs: 300_000,
  maxNotifiedTasks: 1_000,
  interfaceRestMs: 10_000,
};

/** Limits that may be 0: no redirects, revalidation each time, no timeout. */
const mayBeZero = ["maxCardRedirects", "maxCardAgeMs", "timeoutMs", "sendTimeoutMs"];

const checks = checksOf(defaultClientLimits, (name) => aWholeNumber(mayBeZero.includes(name) ? 0 : 1, MAX_TIMEOUT_MS));

/**
 * Returns the limits of a client: the set ones, with defaults.
 *
 * @throws A2AError INVALID_PARAMS that names every violation
 */
export function clientLimits(limits: Partial<ClientLimits> = {}): ClientLimits {
  checkOptions(limits, checks, "limits.");
  return { ...defaultClientLimits, ...given(limits) };
}
