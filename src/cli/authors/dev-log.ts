import type { Logger } from "../../core/log.js";
import type { AppendRequest } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import type { LogLevel } from "../command-options.js";
import { type LogStream, prettyLog, printable } from "../log.js";
import { type Colour, paint } from "../look.js";
import { eventOf } from "../operate/entry.js";

/** Facts of a call and of the end of an execution, as the server logs them. */
interface Facts {
  readonly method?: string;
  readonly binding?: string;
  readonly code?: string;
  readonly ms?: number;
  readonly state?: string;
  readonly taskId?: string;
}

/** Messages about the server itself, which say nothing new to its author. */
const routine = new Set([
  "the server is ready",
  "the SQLite store is open",
  "the server ends",
  "the server has ended",
  "an execution ended",
]);

/** Columns of a line where the output has none. */
const WIDTH = 160;

/** A log for the author of an agent: a short line for each call and each stored event, and other lines as `serve`. */
export class DevLog {
  readonly #stream: LogStream;
  readonly #look: { readonly colour: boolean };
  readonly #now: () => Date;
  #isSilent = false;

  constructor(stream: LogStream, now: () => Date = () => new Date()) {
    this.#stream = stream;
    this.#look = { colour: stream.hasColors?.() === true };
    this.#now = now;
  }

  /** Returns a logger whose calls and routine messages are shortened or left out. */
  logger(level: LogLevel): Logger {
    const others = prettyLog(level, this.#stream, this.#now);
    this.#isSilent = level === "silent" || level === "warn" || level === "error";
    return {
      debug: (facts, message) => others.debug(facts, message),
      info: (facts, message) => {
        if (message === "call") this.#call(facts);
        else if (!routine.has(message) && !message.startsWith("asked to end")) others.info(facts, message);
      },
      warn: (facts, message) => others.warn(facts, message),
      error: (facts, message) => others.error(facts, message),
      get level() {
        return others.level;
      },
    };
  }

  /** Writes a line for each event of an append. */
  append({ head, entries }: AppendRequest): void {
    for (const bytes of entries) {
      const { kind, text } = eventOf(decodeEntry(bytes));
      const [state = ""] = /^[\w-]+/.exec(text) ?? [];
      this.#line("event", head.taskId, `${kind.padEnd(8)}  ${text}`, kind === "status" ? ends[state] : undefined);
    }
  }

  #call({ method = "-", binding = "", code = "", ms, taskId }: Facts): void {
    const took = ms === undefined ? "" : `  ${ms} ms`;
    this.#line("call", taskId ?? "", `${method}  ${binding}  ${code}${took}`, code === "OK" ? undefined : "red");
  }

  #line(kind: "call" | "event", taskId: string, text: string, colour?: Colour): void {
    if (this.#isSilent) return;
    const look = this.#look;
    const time = this.#now().toTimeString().slice(0, 8);
    const task = taskId === "" ? "-".padEnd(8) : taskId.slice(-8);
    const width = (this.#stream.columns ?? WIDTH) - `${time} event ${task}  `.length;
    const shown = printable(text.replaceAll(/\s/g, " "));
    const clipped = shown.length > width ? `${shown.slice(0, Math.max(width - 1, 20))}…` : shown;
    const start = `${paint(time, "dim", look)} ${paint(kind.padEnd(5), kind === "call" ? "cyan" : "magenta", look)}`;
    this.#stream.write(`${start} ${paint(task, "dim", look)}  ${paint(clipped, colour, look)}\n`);
  }
}

const ends: Readonly<Record<string, Colour>> = {
  completed: "green",
  failed: "red",
  rejected: "red",
  canceled: "yellow",
};
