import { invalid, type Violation } from "../core/error.js";
import { unknownNames } from "../core/unknown-names.js";
import { MAX_TIMEOUT_MS } from "../wire/timeout.js";

/** What bounds a client: sizes, counts and times of what comes from outside. All are whole numbers. */
export interface ClientLimits {
  /** A card, in bytes. Default 1 MiB. */
  readonly maxCardBytes: number;
  /** Redirects that are followed to a card, one after the other. Default 3. */
  readonly maxCardRedirects: number;
  /** How long finding a card may take, in milliseconds: redirects, further attempts and its verification included. Default 15 seconds. */
  readonly cardTimeoutMs: number;
  /** For how long a card is used without asking again, in milliseconds, however long its server allows. Default 1 hour. */
  readonly maxCardAgeMs: number;
  /** Cards in a cache; the oldest are forgotten first. Default 256. */
  readonly maxCards: number;
  /** Interfaces of one card that are looked at. Default 64. */
  readonly maxInterfaces: number;
  /** One answer, or one event of a stream, in bytes. Default 64 MiB. */
  readonly maxAnswerBytes: number;
  /** Values in it (fields, elements of lists, members of JSON), whatever their size. Default 500,000. */
  readonly maxAnswerValues: number;
  /**
   * How long a call may take that has one answer, in milliseconds, further attempts included. Sends that wait for their answer have
   * `sendTimeoutMs`, streams have no such end. A call may say otherwise (`timeoutMs`; 0 is no end). Default 60 seconds.
   */
  readonly timeoutMs: number;
  /** The same for sends, which wait until their task is over or pauses, in milliseconds. Default 10 minutes. */
  readonly sendTimeoutMs: number;
  /**
   * How long it may take to have a connection, in milliseconds: look-up, TCP and TLS, and with gRPC the server's first word.
   * Node.js alone. Default 10 seconds.
   */
  readonly connectTimeoutMs: number;
  /** How often a call is attempted that may be repeated, all together; 1 is no repetition. Default 4. */
  readonly maxAttempts: number;
  /** Before the second attempt a call waits at most so long, in milliseconds; then twice as long each time. Default 250. */
  readonly retryMs: number;
  /** Between two attempts a call waits at most so long by itself, in milliseconds. Default 10 seconds. */
  readonly maxRetryMs: number;
  /**
   * Where a server asks for more time (`Retry-After`), it gets at most so long, in milliseconds; one that asks for more has refused the
   * call. Default 30 seconds.
   */
  readonly maxRetryAfterMs: number;
  /**
   * For how long a stream that was cut off is taken up again, in milliseconds from the cut to the next event, before it fails.
   * Default 5 minutes.
   */
  readonly maxResumeMs: number;
  /** Tasks that are kept of those a webhook hears of; the oldest is forgotten for one more, and read anew then. Default 1,000. */
  readonly maxNotifiedTasks: number;
  /**
   * An interface that could not be reached is tried again after so long, in milliseconds, while others can; then twice as long each
   * time, up to 32 times. Default 10 seconds.
   */
  readonly interfaceRestMs: number;
}

/** The stated defaults. */
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

/** Limits that may be nothing: no redirect is followed, a card is asked for each time, calls have no end. */
const mayBeZero = new Set<string>(["maxCardRedirects", "maxCardAgeMs", "timeoutMs", "sendTimeoutMs"]);

/**
 * The limits of a client, those that are given in place of the defaults.
 *
 * @throws A2AError with reason INVALID_PARAMS that names every fault.
 */
export function clientLimits(given: Partial<ClientLimits> = {}): ClientLimits {
  const names = Object.keys(defaultClientLimits);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const faults: Violation[] = unknownNames("limits.", Object.keys(given), names).map((description) => ({
    field: "",
    description,
  }));
  for (const [name, value] of set) {
    const least = mayBeZero.has(name) ? 0 : 1;
    const isFit = Number.isInteger(value) && value >= least && value <= MAX_TIMEOUT_MS;
    const description = `is ${String(value)}, not a whole number from ${least} to ${MAX_TIMEOUT_MS}`;
    if (names.includes(name) && !isFit) faults.push({ field: `limits.${name}`, description });
  }
  if (faults.length > 0) throw invalid(faults);
  return { ...defaultClientLimits, ...Object.fromEntries(set) };
}
