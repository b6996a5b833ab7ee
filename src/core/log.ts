/** One line of a log: facts first, then the sentence. Any pino logger fits. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

const ignore = (): void => {};

/** The default of a library: it says nothing unless its host wants to hear it. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
