/** Longest input, in characters. */
export const MAX_INPUT: number = 1024 * 1024;

/** Longest paste that is inserted as it is, in characters. The line editor is slow with long lines. */
const MAX_INLINE = 1_000;

/** Keys that may end a line: Enter, Ctrl-C, Ctrl-D. */
const ends: ReadonlySet<string | undefined> = new Set(["\r", "\n", "\x03", "\x04"]);

const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";

/**
 * Keys on their way from the terminal to a line editor, which gets those of one line at a time. A paste of several
 * lines, or a long one, is kept aside: the editor gets a short word that stands for it.
 */
export class Keys {
  #waiting = "";
  /** The paste that is arriving. */
  #paste: string | undefined;
  readonly #pastes: string[] = [];

  /** Adds keys as the terminal sends them. */
  add(keys: string): void {
    let rest = keys;
    while (rest !== "") rest = this.#paste === undefined ? this.#typed(rest) : this.#pasted(this.#paste, rest);
  }

  /** Returns the keys up to the next one that may end a line; undefined if none wait. */
  next(): string | undefined {
    if (this.#waiting === "") return undefined;
    let end = 0;
    while (end < this.#waiting.length && !ends.has(this.#waiting[end])) end++;
    end += this.#waiting.startsWith("\r\n", end) ? 2 : 1;
    const keys = this.#waiting.slice(0, end);
    this.#waiting = this.#waiting.slice(end);
    return keys;
  }

  /** Drops the waiting keys. @returns the number of Ctrl-C among them */
  drop(): number {
    const count = this.#waiting.split("\x03").length - 1;
    this.#waiting = "";
    return count;
  }

  /** Returns a line with the pastes that its words stand for. */
  expanded(line: string): string {
    return line.replace(
      /\[paste (\d+): \d+ (?:lines|characters)\]/g,
      (word, number) => this.#pastes[number - 1] ?? word,
    );
  }

  #typed(keys: string): string {
    const at = keys.indexOf(PASTE_BEGIN);
    this.#waiting += at < 0 ? keys : keys.slice(0, at);
    if (at < 0) return "";
    this.#paste = "";
    return keys.slice(at + PASTE_BEGIN.length);
  }

  #pasted(before: string, keys: string): string {
    const all = before + keys;
    const at = all.indexOf(PASTE_END, Math.max(0, before.length - PASTE_END.length));
    if (at < 0) {
      // The end may arrive in two pieces.
      this.#paste = all.length > 2 * MAX_INPUT ? all.slice(0, MAX_INPUT) + all.slice(-PASTE_END.length) : all;
      return "";
    }
    this.#paste = undefined;
    this.#waiting += this.#wordOf(all.slice(0, Math.min(at, MAX_INPUT)).replace(/\r\n?/g, "\n"));
    return all.slice(at + PASTE_END.length);
  }

  #wordOf(text: string): string {
    const line = text.replace(/\n$/, "");
    // Control characters would be keys.
    if (line.length <= MAX_INLINE && !/\p{Cc}/u.test(line)) return line;
    this.#pastes.push(text);
    const lines = line.split("\n").length;
    return `[paste ${this.#pastes.length}: ${lines > 1 ? `${lines} lines` : `${line.length} characters`}]`;
  }
}
