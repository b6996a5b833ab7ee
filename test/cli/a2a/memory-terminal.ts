import { Writable } from "node:stream";
import { expect } from "vitest";

/**
 * A terminal in memory. It handles the sequences that a chat and its editor write and wraps lines, but never scrolls.
 */
export class MemoryTerminal extends Writable {
  readonly isTTY = true;
  readonly columns: number;
  readonly rows = 24;
  #rows: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    super();
    this.columns = columns;
  }

  hasColors(): boolean {
    return false;
  }

  get lines(): readonly string[] {
    return this.#rows.map((row) => row.trimEnd());
  }

  override write(text: string): boolean {
    for (const [token, count = "", action] of text.matchAll(/\p{Cc}\[\??(\d*)([A-Za-z])|./gsu)) {
      if (action !== undefined) this.#do(action, count === "" ? undefined : Number(count));
      else if (token === "\n") this.#next();
      else if (token === "\r") this.#column = 0;
      else this.#put(token);
    }
    return true;
  }

  #do(action: string, count: number | undefined): void {
    if (action === "A") this.#row -= count ?? 1;
    if (action === "B") this.#row += count ?? 1;
    if (action === "C") this.#column += count ?? 1;
    if (action === "D") this.#column -= count ?? 1;
    if (action === "G") this.#column = (count ?? 1) - 1;
    if (action === "J") this.#rows = [...this.#rows.slice(0, this.#row), this.#line.slice(0, this.#column)];
    expect(this.#row).toBeGreaterThanOrEqual(0);
    expect(this.#column).toBeGreaterThanOrEqual(0);
  }

  get #line(): string {
    return this.#rows[this.#row] ?? "";
  }

  #put(character: string): void {
    expect(character).toMatch(/^\P{Cc}$/u);
    if (this.#column >= this.columns) this.#next();
    const line = this.#line.padEnd(this.#column);
    this.#rows[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column++;
  }

  #next(): void {
    this.#row++;
    this.#column = 0;
    this.#rows[this.#row] ??= "";
  }
}
