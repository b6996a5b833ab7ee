import { notPromised } from "./async.js";

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

const ignore = (): void => {};

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
