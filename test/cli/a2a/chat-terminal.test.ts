import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../src/cli/a2a/chat/terminal.js";
import type { Io } from "../../../src/cli/io.js";
import { MemoryTerminal } from "./memory-terminal.js";

describe("Terminal.above()", () => {
  it.each([
    ["nothing", "", ["> "]],
    ["a short line", "short", ["> short"]],
    ["a line of several rows", "word ".repeat(10), ["> word word word wor", "d word word word wor", "d word word"]],
    ["a line with the cursor in its first row", `${"word ".repeat(5)}\x01`, ["> word word word wor", "d word"]],
  ])("keeps %s that is typed below what it writes", async (_, typed, lines) => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
    const stdout = new MemoryTerminal(20);
    const terminal = new Terminal({ stdin, stdout, cwd: "/" } as unknown as Io, []);
    const over = new AbortController();
    const asked = terminal.ask("> ", over.signal).catch(() => {});
    // Sends one key at a time, as a person types.
    for (const key of typed) stdin.emit("data", key);
    terminal.above(() => stdout.write("one\n"));
    terminal.above(() => stdout.write("two\n"));
    expect(stdout.lines.filter((line) => line !== "")).toEqual(["one", "two", ...lines.map((line) => line.trimEnd())]);
    over.abort();
    await asked;
  });

  it("writes at once while nothing is asked", () => {
    const stdout = new MemoryTerminal(20);
    new Terminal({ stdout } as unknown as Io, []).above(() => stdout.write("one\n"));
    expect(stdout.lines).toEqual(["one", ""]);
  });
});
