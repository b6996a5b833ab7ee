import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Io } from "../../io.js";

/** Longest input, in characters. */
const MAX_INPUT = 1024 * 1024;

/** Lines of the history of a chat. */
const MAX_HISTORY = 500;

/** Result of asking for a line. */
export type Typed = { readonly text: string } | "interrupted" | "ended";

/** Reads lines from a terminal, one question at a time, and keys while an answer is written. */
export class Terminal {
  readonly #io: Io;
  readonly #words: readonly string[];
  #history: string[] = [];

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
      if (typeof typed === "string") return typed;
      if (!typed.text.endsWith("\\") || text.length > MAX_INPUT)
        return { text: (text + typed.text).slice(0, MAX_INPUT) };
      text += `${typed.text.slice(0, -1)}\n`;
    }
  }

  #line(prompt: string, signal: AbortSignal, isKept: boolean): Promise<Typed> {
    const { stdin, stdout, cwd } = this.#io;
    const reader = createInterface({
      input: stdin,
      output: stdout,
      terminal: true,
      history: isKept ? this.#history : [],
      historySize: MAX_HISTORY,
      completer: (line: string) => completed(line, this.#words, cwd),
    });
    return new Promise<Typed>((resolve, reject) => {
      const over = (typed: Typed): void => {
        signal.removeEventListener("abort", aborted);
        resolve(typed);
        reader.close();
      };
      const aborted = (): void => {
        reject(signal.reason);
        reader.close();
      };
      signal.addEventListener("abort", aborted);
      reader.on("history", (history) => {
        if (isKept) this.#history = history;
      });
      reader.on("SIGINT", () => over("interrupted"));
      reader.on("close", () => over("ended"));
      reader.question(prompt, (text) => over({ text }));
    });
  }

  /** Calls back for each Ctrl-C while it is open. Other keys are dropped. @returns a function that closes it */
  watchKeys(onInterrupt: () => void): () => void {
    const { stdin } = this.#io;
    const onData = (keys: unknown): void => {
      if (String(keys).includes("\x03")) onInterrupt();
    };
    stdin.setRawMode?.(true);
    stdin.on("data", onData).resume();
    return () => {
      stdin.off("data", onData).pause();
      stdin.setRawMode?.(false);
    };
  }
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
