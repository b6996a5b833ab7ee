import { notPromised } from "./async.js";

/** A logger with the methods of pino: facts first, then the message. Any pino logger fits. */
export interface Logger {
  /** What only somebody who looks for a fault wants to know. */
  debug(facts: object, message: string): void;
  /** What happens in the ordinary run of things. */
  info(facts: object, message: string): void;
  /** What is out of order, and goes on all the same. */
  warn(facts: object, message: string): void;
  /** What failed and needs somebody to look at it. */
  error(facts: object, message: string): void;
  /** Makes a logger whose lines have these facts as well. Where there is one, the audit log has a logger of its own. */
  child?(facts: object): Logger;
}

type Level = Exclude<keyof Logger, "child">;

const ignore = (): void => {};

/** A logger that discards everything, the default of the library. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The logger, except that it never throws: facts may hold anything, also what throws when it is looked at. */
export function guardedLogger(logger: Logger): Logger {
  const guarded = (level: Level) => (facts: object, message: string) => {
    try {
      notPromised(logger[level](facts, message));
    } catch {
      tell(logger, level, facts, message);
    }
  };
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}

/** Of an error that a logger breaks over so much is logged, in characters. */
const MAX_TEXT = 10_000;

function tell(logger: Logger, level: Level, facts: object, message: string): void {
  try {
    logger[level](plain(facts), `${message} (some facts could be logged as texts only)`);
  } catch {
    // A logger that cannot log must not end what goes on.
  }
}

/** The facts with a text for each object: the id by which a client reports a failure is among them. */
function plain(facts: object): object {
  const isObject = (value: unknown): boolean => typeof value === "object" || typeof value === "function";
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, isObject(value) ? textOf(value) : value]),
  );
}

function textOf(value: { readonly stack?: unknown } | null): string {
  try {
    return String(value?.stack ?? value).slice(0, MAX_TEXT);
  } catch {
    return "cannot be read";
  }
}
