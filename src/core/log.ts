import { ignore, notPromised } from "./async.js";
import { isTraceParent, traceIdOf } from "./ids.js";

/** A logger with the methods of pino: facts first, then the message. Any pino logger fits. */
export interface Logger {
  /** Logs details for debugging. */
  debug(facts: object, message: string): void;
  /** Logs a normal event. */
  info(facts: object, message: string): void;
  /** Logs an abnormal event after which the server continues. */
  warn(facts: object, message: string): void;
  /** Logs a failure that needs an operator's attention. */
  error(facts: object, message: string): void;
  /**
   * Creates a logger that adds these facts to each line. The audit log uses it for a logger of its own, if it exists.
   */
  child?(facts: object): Logger;
  /** The least severe level that is logged, such as `info`. Operators may set it; a logger without it has a fixed one. */
  level?: string | undefined;
}

type Level = Exclude<keyof Logger, "child" | "level">;

/** A logger that discards everything, the default of the library. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Wraps a logger so that it never throws. Facts may hold values that throw when the logger reads them. */
export function guardedLogger(logger: Logger): Logger {
  const guarded = (level: Level) => (facts: object, message: string) => {
    try {
      notPromised(logger[level](facts, message));
    } catch {
      logAsText(logger, level, facts, message);
    }
  };
  return {
    debug: guarded("debug"),
    info: guarded("info"),
    warn: guarded("warn"),
    error: guarded("error"),
    get level() {
      return logger.level;
    },
    set level(level) {
      logger.level = level;
    },
  };
}

/** Maximum number of characters logged of a value that the logger could not log. */
const MAX_TEXT = 10_000;

function logAsText(logger: Logger, level: Level, facts: object, message: string): void {
  try {
    logger[level](factsAsText(facts), `${message} (some facts could only be logged as text)`);
  } catch {
    // A failing logger must not end the work that logs.
  }
}

/** Returns the facts with each object converted to text. Other facts, such as the request id, stay as they are. */
function factsAsText(facts: object): object {
  const isObject = (value: unknown): boolean => typeof value === "object" || typeof value === "function";
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, isObject(value) ? objectText(value) : value]),
  );
}

function objectText(value: { readonly stack?: unknown } | null): string {
  try {
    return String(value?.stack ?? value).slice(0, MAX_TEXT);
  } catch {
    return "cannot be read";
  }
}

/** The cause of a log line, as far as it is known: a request, its trace, its task and its agent. */
export interface LogCause {
  /** Empty if unknown. */
  readonly requestId?: string | undefined;
  /** W3C `traceparent`, or empty. */
  readonly traceParent?: string | undefined;
  /** Empty without a task. */
  readonly taskId?: string | undefined;
  /** Name of the agent, from its card. */
  readonly agent?: string | undefined;
}

/** Fields of a log line that name its cause. */
export interface LogFacts {
  readonly requestId?: string;
  /** Trace id of W3C Trace Context: 32 hexadecimal digits. */
  readonly traceId?: string;
  readonly taskId?: string;
  readonly agent?: string;
}

/** Maximum number of characters of a value in a log line that a client has chosen, such as an id. */
const MAX_ID = 256;

/** Cuts an overlong value of a client, so that a log line cannot become as long as a request. */
export function cutId(text: string): string {
  return text.length <= MAX_ID ? text : `${text.slice(0, MAX_ID)}…`;
}

/** Returns the fields that name the cause of a log line. Unknown ones are left out. */
export function logFacts({ requestId = "", traceParent = "", taskId = "", agent = "" }: LogCause): LogFacts {
  return {
    ...(requestId !== "" && { requestId }),
    ...(traceParent !== "" && { traceId: traceIdOf(traceParent) }),
    ...(taskId !== "" && { taskId: cutId(taskId) }),
    ...(agent !== "" && { agent }),
  };
}

/** Returns the fields that name a request which never became a call. */
export function requestFacts(request: {
  readonly requestId?: string | undefined;
  header(name: string): string | undefined;
}): LogFacts {
  const traceParent = request.header("traceparent") ?? "";
  return logFacts({ requestId: request.requestId, traceParent: isTraceParent(traceParent) ? traceParent : "" });
}

/** A logger that adds the cause to each line, read when the line is written. */
export class CauseLogger implements Logger {
  readonly #logger: Logger;
  readonly #cause: LogCause;
  readonly #agent: string | undefined;

  /** @param agent name of the agent, if the cause does not have it */
  constructor(logger: Logger, cause: LogCause, agent?: string) {
    this.#logger = logger;
    this.#cause = cause;
    this.#agent = agent;
  }

  debug(facts: object, message: string): void {
    this.#logger.debug(this.#with(facts), message);
  }

  info(facts: object, message: string): void {
    this.#logger.info(this.#with(facts), message);
  }

  warn(facts: object, message: string): void {
    this.#logger.warn(this.#with(facts), message);
  }

  error(facts: object, message: string): void {
    this.#logger.error(this.#with(facts), message);
  }

  #with(facts: object): object {
    const { requestId, traceParent, taskId, agent } = this.#cause;
    return { ...logFacts({ requestId, traceParent, taskId, agent: this.#agent ?? agent }), ...facts };
  }
}
