import { destination, pino } from "pino";
import type { Logger } from "../core/log.js";
import type { LogLevel } from "./command-options.js";

/** A log for programs on stderr: one JSON object per line. */
export function jsonLog(level: LogLevel): Logger {
  return pino({ level }, destination({ dest: 2, sync: true }));
}
