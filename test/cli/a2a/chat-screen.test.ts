import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Screen } from "../../../src/cli/a2a/chat/screen-view.js";
import type { Io } from "../../../src/cli/io.js";
import { MemoryTerminal } from "./memory-terminal.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Shows a text in pieces, with pauses between them. */
function shownIn(terminal: MemoryTerminal, pieces: readonly string[]): readonly string[] {
  const screen = new Screen({ stdout: terminal } as unknown as Io);
  screen.wait();
  for (const piece of pieces) {
    screen.push(piece);
    vi.advanceTimersByTime(300);
  }
  screen.end();
  return terminal.lines;
}

const wide = `\`\`\`\n${Array.from({ length: 9 }, (_, at) => `L${at} ${"wide ".repeat(20)}\n`).join("")}\`\`\`\n\nThe end.\n`;

describe("Screen", () => {
  it.each([24, 50, 80])("shows the lines of code that are wider than %i columns once", (columns) => {
    const pieces = wide.match(/.{1,17}/gs) ?? [];
    const lines = shownIn(new MemoryTerminal(columns), pieces);
    for (let at = 0; at < 9; at++) {
      expect(lines.filter((line) => line.startsWith(`    L${at} `))).toHaveLength(1);
    }
    expect(lines).toContain("The end.");
  });

  it("shows the same, however a text is cut", () => {
    const text = `# One\n\n${"word ".repeat(40)}\n\n- a\n- ${"b ".repeat(60)}\n\n${wide}`;
    const whole = shownIn(new MemoryTerminal(40), [text]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (cuts) => {
        const pieces: string[] = [];
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const size = cuts[turn % cuts.length] ?? 1;
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        expect(shownIn(new MemoryTerminal(40), pieces)).toEqual(whole);
      }),
      { numRuns: 10 },
    );
  });

  it("shows text within a tenth of a second, also in the middle of a line", () => {
    const terminal = new MemoryTerminal(80);
    const screen = new Screen({ stdout: terminal } as unknown as Io);
    screen.wait();
    for (const [at, word] of ["one", " two", " three"].entries()) {
      screen.push(word);
      vi.advanceTimersByTime(100);
      expect(terminal.lines).toContain(["one", "one two", "one two three"][at]);
    }
    screen.end();
  });

  it("shows what the agent is doing until it says something else", () => {
    const terminal = new MemoryTerminal(80);
    const screen = new Screen({ stdout: terminal } as unknown as Io);
    screen.wait();
    screen.push("Half");
    screen.doing("connection lost, resuming");
    vi.advanceTimersByTime(100);
    expect(terminal.lines).toEqual(expect.arrayContaining(["Half", "… connection lost, resuming"]));
    screen.push(" and whole");
    vi.advanceTimersByTime(100);
    expect(terminal.lines).toContain("Half and whole");
    expect(terminal.lines.join("\n")).not.toContain("connection lost");
    screen.end();
    vi.advanceTimersByTime(10_000);
    expect(terminal.lines.filter((line) => line !== "")).toEqual(["Half and whole"]);
  });
});
