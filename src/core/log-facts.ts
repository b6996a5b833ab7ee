import type { Logger } from "./log.js";
import { isTraceParent, traceIdOf } from "./trace-parent.js";

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
