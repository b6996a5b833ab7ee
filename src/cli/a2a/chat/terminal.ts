import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { PassThrough } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { InputStream, Io } from "../../io.js";
import { Keys, MAX_INPUT } from "./keys.js";

/** Lines of the history of a chat. */
const MAX_HISTORY = 500;

/** Modes of the terminal in which it marks pastes. */
const PASTES_ON = "\x1b[?2004h";
const PASTES_OFF = "\x1b[?2004l";

export type Typed = { readonly text: string } | "interrupted" | "ended";

/** Reads lines from a terminal, one question at a time, and keys while an answer is written. */
export class Terminal {
  readonly #io: Io;
  readonly #words: readonly string[];
  readonly #keys = new Keys();
  readonly #decoder = new StringDecoder("utf8");
  #history: string[] = [];
  /** The editor of the line that is asked for. */
  #reader: Interface | undefined;

  /** @param words that Tab completes at the begin of a line */
  constructor(io: Io, words: readonly string[]) {
    this.#io = io;
    this.#words = words;
  }

  /** Asks for a line. A backslash at its end continues it with the next one. */
  async ask(prompt: string, signal: AbortSignal, isKept = true): Promise<Typed> {
    let text = "";
    for (let at = prompt; ; at = "… ") {
      const typed = await this.#line(at, signal, isKept);
      if (typed === "interrupted" && text !== "") return { text: "" };
      if (typeof typed === "string") return typed;
      if (!typed.text.endsWith("\\") || text.length > MAX_INPUT) {
        return { text: this.#keys.expanded(text + typed.text).slice(0, MAX_INPUT) };
      }
      text += `${typed.text.slice(0, -1)}\n`;
    }
  }

  #line(prompt: string, signal: AbortSignal, isKept: boolean): Promise<Typed> {
    const { stdin, stdout } = this.#io;
    signal.throwIfAborted();
    const input = editorInput(stdin);
    const reader = this.#editor(input, isKept);
    this.#reader = reader;
    return new Promise<Typed>((resolve, reject) => {
      let isOver = false;
      const over = (): boolean => {
        if (isOver) return false;
        isOver = true;
        signal.removeEventListener("abort", aborted);
        stdin.off("data", onData).off("end", ended).pause();
        stdout.write(PASTES_OFF);
        this.#reader = undefined;
        reader.close();
        return true;
      };
      const typed = (value: Typed): void => {
        if (!over()) return;
        // The next output begins a line.
        if (typeof value === "string") stdout.write("\n");
        resolve(value);
      };
      const aborted = (): void => {
        if (over()) reject(signal.reason);
      };
      const ended = (): void => typed("ended");
      // The keys of later lines wait for their questions.
      const pump = (): void => {
        while (!isOver) {
          const keys = this.#keys.next();
          if (keys === undefined) return;
          input.emit("data", keys);
        }
      };
      const onData = (chunk: Buffer | string): void => {
        this.#add(chunk);
        pump();
      };
      signal.addEventListener("abort", aborted);
      reader.on("history", (history) => {
        if (isKept) this.#history = history;
      });
      reader.on("SIGINT", () => {
        if (reader.line === "") return typed("interrupted");
        stdout.write("^C\n");
        reader.write(null, { ctrl: true, name: "e" });
        reader.write(null, { ctrl: true, name: "u" });
      });
      reader.on("close", ended);
      stdout.write(PASTES_ON);
      reader.question(prompt, (text) => typed({ text }));
      stdin.on("data", onData).on("end", ended).resume();
      pump();
    });
  }

  /** Writes lines above the line that is being typed, if there is one. */
  above(write: () => void): void {
    const reader = this.#reader;
    if (reader === undefined) return write();
    const { stdout } = this.#io;
    const { rows } = reader.getCursorPos();
    stdout.write(`${rows > 0 ? `\x1b[${rows}A` : ""}\r\x1b[J`);
    write();
    // The editor would look for its line further up.
    Object.assign(reader, { prevRows: 0 });
    reader.prompt(true);
  }

  #editor(input: PassThrough, isKept: boolean): Interface {
    const { stdout, cwd } = this.#io;
    return createInterface({
      input,
      output: stdout,
      terminal: true,
      history: isKept ? this.#history : [],
      historySize: MAX_HISTORY,
      completer: (line: string) => completed(line, this.#words, cwd),
    });
  }

  #add(chunk: Buffer | string): void {
    this.#keys.add(typeof chunk === "string" ? chunk : this.#decoder.write(chunk));
  }

  /** Calls back for each Ctrl-C while it is open. Other keys are dropped. @returns a function that closes it */
  watchKeys(onInterrupt: () => void): () => void {
    const { stdin } = this.#io;
    const onData = (chunk: Buffer | string): void => {
      this.#add(chunk);
      for (let count = this.#keys.drop(); count > 0; count--) onInterrupt();
    };
    stdin.setRawMode?.(true);
    stdin.on("data", onData).resume();
    return () => {
      stdin.off("data", onData).pause();
      stdin.setRawMode?.(false);
    };
  }
}

/** Returns the input of a line editor, which sets the modes of the terminal. Its keys are emitted by the caller. */
function editorInput(stdin: InputStream): PassThrough {
  return Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean): unknown => stdin.setRawMode?.(isRaw),
  });
}

/** Completes a command, or the path after one. */
export function completed(line: string, words: readonly string[], cwd: string): [string[], string] {
  const path = /^\/(?:file|save) +(.*)$/.exec(line)?.[1];
  if (path === undefined) return [line.startsWith("/") ? words.filter((word) => word.startsWith(line)) : [], line];
  const folder = path.endsWith("/") || path === "" ? path : dirname(path) === "." ? "" : `${dirname(path)}/`;
  try {
    const entries = readdirSync(resolve(cwd, folder || "."), { withFileTypes: true });
    const names = entries.map((entry) => join(folder, entry.name) + (entry.isDirectory() ? "/" : ""));
    return [names.filter((name) => name.startsWith(path)), path];
  } catch {
    return [[], path];
  }
}
