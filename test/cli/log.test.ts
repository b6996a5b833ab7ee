import { describe, expect, it } from "vitest";
import type { LogLevel } from "../../src/cli/command-options.js";
import { isPretty, prettyLog } from "../../src/cli/log.js";

const noon = (): Date => new Date(2026, 0, 2, 12, 3, 4, 5);

function lines(level: LogLevel, hasColors: boolean): { log: ReturnType<typeof prettyLog>; written: () => string } {
  let text = "";
  const stream = { isTTY: true, hasColors: () => hasColors, write: (more: string) => (text += more) };
  return { log: prettyLog(level, stream, noon), written: () => text };
}

describe("prettyLog()", () => {
  it("writes time, level, sentence and facts", () => {
    const { log, written } = lines("info", false);
    log.debug({}, "not said");
    log.info({ method: "GetTask", ms: 3, what: "two words", nothing: undefined, list: [1, "b"] }, "call");
    log.error({ err: new Error("it broke") }, "an agent failed");
    const [first, second, third, ...stack] = written().split("\n");
    expect(first).toBe(`12:03:04.005 INFO  call  method=GetTask ms=3 what="two words" list=[ 1, 'b' ]`);
    expect(second).toBe("12:03:04.005 ERROR an agent failed");
    expect(third).toBe("    Error: it broke");
    expect(stack.join("\n")).toContain("log.test.ts");
  });

  it("has colours where the terminal has them, and says nothing when it shall not", () => {
    const coloured = lines("info", true);
    coloured.log.warn({}, "careful");
    expect(coloured.written()).toBe("\x1b[2m12:03:04.005\x1b[0m \x1b[33mWARN \x1b[0m careful\n");
    const silent = lines("silent", true);
    silent.log.error({}, "nothing");
    expect(silent.written()).toBe("");
  });

  it("follows a level that is set later", () => {
    const { log, written } = lines("info", false);
    log.level = "error";
    log.warn({}, "not said");
    log.level = "debug";
    log.debug({}, "said");
    expect(written()).toBe("12:03:04.005 DEBUG said\n");
  });

  it("lets nothing that a client sent speak to the terminal, or begin a line", () => {
    const { log, written } = lines("info", false);
    log.info({ a: "x\x1b[2J", b: "y\n12:00 INFO forged", c: { d: "\x1b[31m" } }, "one\r\n\x1b]0;title\x07");
    expect(written().trimEnd().split("\n")).toHaveLength(1);
    expect(written().trimEnd()).not.toMatch(/\p{Cc}/u);
  });

  it("is for terminals, unless it is said", () => {
    const [terminal, pipe] = [{ isTTY: true, write: () => {} }, { write: () => {} }];
    expect([isPretty("auto", terminal), isPretty("auto", pipe)]).toEqual([true, false]);
    expect([isPretty("json", terminal), isPretty("pretty", pipe)]).toEqual([false, true]);
  });
});
