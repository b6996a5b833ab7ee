import { type Context, ownOption } from "../context.js";
import { usage } from "../errors.js";
import { duration, interval, oneOf, wholeNumber } from "../kinds.js";

/** A measured operation: a message and its answer, a message and its stream, or a read of a task. */
export type Operation = "send" | "stream" | "get";

export interface BenchOptions {
  readonly operation: Operation;
  /** Maximum number of calls at once. */
  readonly callers: number;
  /** Limit of the measurement, in milliseconds. */
  readonly durationMs: number;
  /** Number of calls; undefined for as many as the time allows. */
  readonly requests: number | undefined;
  readonly warmupMs: number;
  /** Calls per second that begin whether or not earlier ones were answered; undefined: each follows another. */
  readonly rate: number | undefined;
  /** True if the target may be another machine. */
  readonly yes: boolean;
  /** Path of an earlier report in JSON. */
  readonly compare: string | undefined;
}

const MAX_CALLERS = 1_000;
const MAX_REQUESTS = 1_000_000_000;
const MAX_RATE = 1_000_000;
const MAX_MS = 3_600_000;
const DURATION_MS = 10_000;
const WARMUP_MS = 2_000;

/** Reads the options. @throws Failure for a value that is not valid */
export function benchOptions(context: Context): BenchOptions {
  const requests = ownOption(context, "requests", wholeNumber(1, MAX_REQUESTS));
  const rate = ownOption(context, "rate", wholeNumber(1, MAX_RATE));
  const durationMs =
    ownOption(context, "duration", atMost(interval)) ?? (requests === undefined ? DURATION_MS : MAX_MS);
  const operation = ownOption(context, "operation", oneOf("send", "stream", "get")) ?? "send";
  if (context.settings.taskId !== undefined && operation !== "get") {
    throw usage(`--task-id names the task of --operation get; ${operation} begins a new task with each call`);
  }
  return {
    operation,
    callers: ownOption(context, "callers", wholeNumber(1, MAX_CALLERS)) ?? 10,
    durationMs,
    requests,
    warmupMs: ownOption(context, "warmup", atMost(duration)) ?? WARMUP_MS,
    rate,
    yes: context.own("yes").length > 0,
    compare: context.own("compare").at(-1),
  };
}

const atMost =
  (read: (text: string) => number) =>
  (text: string): number => {
    const ms = read(text);
    if (ms > MAX_MS) throw new Error("is longer than 1h");
    return ms;
  };
