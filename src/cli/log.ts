import { inspect } from "node:util";
import type { Logger } from "../core/log.js";
import type { LogFormat, LogLevel } from "./command-options.js";
import type { OutputStream } from "./io.js";
import { paint } from "./look.js";

/** Buffer for lines that stderr does not accept, as on a full disk, in characters; further ones are dropped. */
const MAX_KEPT = 1_048_576;

export interface LogStream extends Pick<OutputStream, "isTTY" | "columns" | "hasColors"> {
  write(text: string): unknown;
}

/** True if the log is for people; `auto` means on a terminal. */
export function isPretty(format: LogFormat, stream: LogStream): boolean {
  return format === "pretty" || (format === "auto" && stream.isTTY === true);
}

/** A log on stderr with entries of at least this level, for people or as one JSON object per line. */
export async function createLog(level: LogLevel, format: LogFormat): Promise<Logger> {
  if (isPretty(format, process.stderr)) return prettyLog(level, process.stderr);
  // Loaded only if used.
  const { default: pino } = await import("pino");
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: MAX_KEPT });
  // The failure cannot be reported, and shall not be thrown: the line is retried with the next one.
  stderr.on("error", () => {});
  const log: Logger = pino({ level }, stderr);
  return log;
}

const levels = ["debug", "info", "warn", "error"] as const;
const ranks: readonly string[] = levels;

const colours = { debug: "dim", info: "green", warn: "yellow", error: "red" } as const;

/** Writes a line for each entry, with time, level, message and fields, and the stacks of errors below it. */
export function prettyLog(level: LogLevel, stream: LogStream, now: () => Date = () => new Date()): Logger {
  const look = { colour: stream.hasColors?.() === true };
  const log: Logger & { level: string } = {
    level,
    debug: (facts, message) => write("debug", facts, message),
    info: (facts, message) => write("info", facts, message),
    warn: (facts, message) => write("warn", facts, message),
    error: (facts, message) => write("error", facts, message),
  };
  // `silent` is not a level of a line.
  const isLogged = (name: string): boolean => log.level !== "silent" && ranks.indexOf(name) >= ranks.indexOf(log.level);
  const write = (name: (typeof levels)[number], facts: object, message: string): void => {
    if (!isLogged(name)) return;
    const { text, stack } = factsOf(facts);
    const tag = paint(name.toUpperCase().padEnd(5), colours[name], look);
    const line = [paint(clock(now()), "dim", look), tag, printable(message)].join(" ");
    stream.write(`${line}${text === "" ? "" : paint(`  ${text}`, "dim", look)}\n${paint(stack, "dim", look)}`);
  };
  return log;
}

/** The local time of day, to the millisecond. */
function clock(time: Date): string {
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0"));
  return `${parts.join(":")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

function factsOf(facts: object): { text: string; stack: string } {
  let stack = "";
  const words: string[] = [];
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    if (value instanceof Error) stack += indented(inspect(value));
    else words.push(`${name}=${shown(value)}`);
  }
  return { text: words.join(" "), stack };
}

/** A single word as it is, other texts quoted. Control characters are escaped, so that they cannot affect the terminal. */
function shown(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=\p{C}]+$/u.test(value) ? value : printable(JSON.stringify(value));
  if (typeof value === "object" && value !== null)
    return printable(inspect(value, { breakLength: Infinity, depth: 3 }));
  return String(value);
}

const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => `    ${printable(line)}\n`)
    .join("");

/** Escapes control characters: text from others must not affect the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
