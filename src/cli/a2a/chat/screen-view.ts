import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import type { Io, OutputStream } from "../../io.js";
import { type Colour, clipped, lookOf, paint } from "../../look.js";
import { MarkdownStream } from "./markdown.js";

/** Lines at the end of the screen that show unfinished output. */
const MAX_LIVE = 6;

/** Time between two drawings of them, in milliseconds. */
const DRAW_MS = 60;

/**
 * The answers of a chat on a terminal. Finished lines are written once and stay. Below them, a few lines show the block
 * that the agent is writing, or what it is doing; they are drawn again until they are finished.
 */
export class Screen {
  readonly #io: Io;
  readonly #markdown: MarkdownStream;
  #live: readonly string[] = [];
  #doing = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = 0;
  #drawMs = DRAW_MS;
  #since = 0;

  constructor(io: Io) {
    this.#io = io;
    this.#markdown = new MarkdownStream(() => ({ width: widthOf(io.stdout), colour: lookOf(io.stdout).colour }));
  }

  /** Begins to show that an answer is awaited. */
  wait(): void {
    this.#since = performance.now();
    this.#schedule(1_000);
  }

  push(text: string): void {
    this.#doing = "";
    this.#write(this.#markdown.push(text));
    this.#schedule(this.#drawMs);
  }

  /** Shows what the agent is doing, until it says something else. */
  doing(text: string): void {
    this.#doing = text;
    this.#schedule(this.#drawMs);
  }

  /** Writes a line that is not part of an answer. */
  line(text: string, colour?: Colour): void {
    this.finish();
    this.#write([paint(text, colour, lookOf(this.#io.stdout))]);
  }

  /** Writes the rest of the answer as it is. */
  finish(): void {
    this.#write(this.#markdown.end());
  }

  /** Ends the lines that are drawn again. */
  end(): void {
    this.finish();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#clear();
    this.#doing = "";
  }

  #schedule(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#timer !== undefined && this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const began = performance.now();
      this.#draw();
      // A block that takes long is drawn less often.
      this.#drawMs = Math.max(DRAW_MS, 4 * (performance.now() - began));
      this.#schedule(1_000);
    }, ms);
  }

  #draw(): void {
    const block = this.#markdown.pending.trim() === "" ? [] : this.#markdown.preview();
    const most = Math.max(1, Math.min(MAX_LIVE, (this.#io.stdout.rows ?? 24) - 2));
    const full = block.filter((line) => line !== "").slice(-most);
    const lines = full.flatMap((line) => rowsOf(line, widthOf(this.#io.stdout))).slice(-most);
    const waited = Math.floor((performance.now() - this.#since) / 1_000);
    const status = this.#doing === "" ? (lines.length === 0 ? `… ${waited} s` : "") : `… ${this.#doing}`;
    const look = { ...lookOf(this.#io.stdout), width: widthOf(this.#io.stdout) };
    if (status !== "") lines.push(paint(clipped(status, look), "dim", look));
    this.#put(() => {
      for (const line of lines) this.#io.stdout.write(`${line}\n`);
    });
    this.#live = lines;
  }

  #write(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#put(() => this.#io.stdout.write(`${lines.join("\n")}\n`));
  }

  /** Replaces the lines that are drawn again, in one step for terminals that can. */
  #put(write: () => void): void {
    if (this.#live.length === 0) return write();
    this.#io.stdout.write("\x1b[?2026h");
    this.#clear();
    write();
    this.#io.stdout.write("\x1b[?2026l");
  }

  /** A terminal that became narrower has wrapped the lines. */
  #clear(): void {
    const columns = Math.max(1, this.#io.stdout.columns ?? 80);
    const rows = this.#live.reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / columns)), 0);
    if (rows > 0) this.#io.stdout.write(`\x1b[${rows}A\r\x1b[J`);
    this.#live = [];
  }
}

/** Returns the rows that a line takes on the terminal. */
function rowsOf(line: string, width: number): string[] {
  return wrapAnsi(line.replaceAll("\t", "    "), width, { hard: true, trim: false }).split("\n");
}

/** Columns for text. The last one stays free, since some terminals wrap there. */
function widthOf(output: OutputStream): number {
  return Math.max(20, (output.columns ?? 80) - 1);
}
