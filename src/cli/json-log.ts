import { destination, pino } from "pino";
import type { Logger } from "../core/log.js";
import type { LogLevel } from "./command-options.js";

/** Buffer for lines that stderr does not accept, as on a full disk, in characters; further ones are dropped. */
const MAX_KEPT = 1_048_576;

/** A log for programs on stderr: one JSON object per line. It never throws. */
export function jsonLog(level: LogLevel): Logger {
  const stderr = destination({ dest: 2, sync: true, maxLength: MAX_KEPT });
  // The failure cannot be reported: the line is retried with the next one.
  stderr.on("error", () => {});
  return pino({ level }, stderr);
}
