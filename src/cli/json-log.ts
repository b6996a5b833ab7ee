import { destination, pino } from "pino";
import type { Logger } from "../core/log.js";
import type { LogLevel } from "./command-options.js";

/** What is kept of lines that stderr does not take, as on a full disk, in characters; later ones are dropped until it does. */
const MAX_KEPT = 1_048_576;

/** A log for programs on stderr: one JSON object per line. It never throws. */
export function jsonLog(level: LogLevel): Logger {
  const stderr = destination({ dest: 2, sync: true, maxLength: MAX_KEPT });
  // Nobody can be told: the line that failed is tried again with the next one.
  stderr.on("error", () => {});
  return pino({ level }, stderr);
}
