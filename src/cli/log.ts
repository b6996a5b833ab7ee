import { inspect } from "node:util";
import { destination, pino } from "pino";
import type { Logger } from "../core/log.js";
import type { LogFormat, LogLevel } from "./command-options.js";

/** Where a log goes: stderr as a rule. */
export interface LogStream {
  readonly isTTY?: boolean;
  /** Honours NO_COLOR, FORCE_COLOR and TERM, as Node.js does it for terminals. */
  hasColors?(): boolean;
  write(text: string): unknown;
}

/** Whether the log is for people, unless it is said: on a terminal. */
export function isPretty(format: LogFormat, stream: LogStream): boolean {
  return format === "pretty" || (format === "auto" && stream.isTTY === true);
}

/** A log on stderr from a level on, for people or as a JSON object per line. */
export function createLog(level: LogLevel, format: LogFormat): Logger {
  if (isPretty(format, process.stderr)) return prettyLog(level, process.stderr);
  return pino({ level }, destination({ dest: 2, sync: true }));
}

const levels = ["debug", "info", "warn", "error"] as const;

/** SGR codes of a level's name. */
const colours = { debug: "2", info: "32", warn: "33", error: "31" } as const;

/** A line for each entry, with time, level, sentence and facts; stacks of errors below it. */
export function prettyLog(level: LogLevel, stream: LogStream, now: () => Date = () => new Date()): Logger {
  const colour = stream.hasColors?.() === true;
  const paint = (code: string, text: string): string => (colour ? `\x1b[${code}m${text}\x1b[0m` : text);
  const writer = (name: (typeof levels)[number]) => {
    if (level === "silent" || levels.indexOf(name) < levels.indexOf(level)) return () => {};
    return (facts: object, message: string): void => {
      const { text, stack } = factsOf(facts);
      const tag = paint(colours[name], name.toUpperCase().padEnd(5));
      const line = [paint("2", clock(now())), tag, printable(message)].join(" ");
      stream.write(`${line}${text === "" ? "" : paint("2", `  ${text}`)}\n${stack === "" ? "" : paint("2", stack)}`);
    };
  };
  return { debug: writer("debug"), info: writer("info"), warn: writer("warn"), error: writer("error") };
}

/** The time of day here, to the millisecond. */
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

/** Texts that are one word as they are, others in quotes; nothing of it moves the cursor or colours the screen. */
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

/** What a client sent must not speak to the terminal. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
