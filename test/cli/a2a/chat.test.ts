import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { marked } from "marked";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Form } from "../../../src/cli/a2a/chat/form.js";
import { askForm, formIn } from "../../../src/cli/a2a/chat/form.js";
import { Keys } from "../../../src/cli/a2a/chat/keys.js";
import { MarkdownStream } from "../../../src/cli/a2a/chat/markdown.js";
import { completed } from "../../../src/cli/a2a/chat/terminal.js";
import { widthOf } from "../../../src/cli/look.js";
import { openWorld, type World } from "./world.js";

const plain = { width: 60, colour: false };

/** Shows a text that arrives in pieces. */
function shown(pieces: readonly string[], look = plain): string[] {
  const stream = new MarkdownStream(() => look);
  return [...pieces.flatMap((piece) => stream.push(piece)), ...stream.end()];
}

describe("MarkdownStream", () => {
  it.each([
    ["a heading", "# One\n", ["# One", ""]],
    ["emphasis and code", "a **b** *c* `d` ~~e~~\n", ["a b c d e", ""]],
    ["links", "[a](https://b.c) <https://d.e>\n", ["a (https://b.c) https://d.e", ""]],
    ["lists", "- a\n- b\n  1. c\n  2. d\n- [x] e\n", ["• a", "• b", "  1. c", "  2. d", "• [x] e", ""]],
    ["code", "```js\nlet a;\n\nlet b;\n```\n", ["    let a;", "    ", "    let b;", ""]],
    ["quotes", "> a\n> b\n", ["│ a", "│ b", ""]],
    ["tables", "|a|b|\n|-|-|\n|漢字|x|\n", ["a    │ b", "─────┼──", "漢字 │ x", ""]],
    [
      "tables that do not fit",
      `|a|b|\n|-|-|\n|${"x".repeat(70)}|y|\n`,
      [`a: ${"x".repeat(57)}`, "x".repeat(13), "b: y", ""],
    ],
  ])("shows %s", (_, text, lines) =>
    expect(shown([text]).map((line) => line.trimEnd())).toEqual(lines.map((line) => line.trimEnd())),
  );

  it("colours only where it may", () => {
    expect(shown(["**a**\n"], { width: 60, colour: true })[0]).toBe("\x1b[1ma\x1b[22m");
    expect(shown(["**a**\n"]).join("")).not.toContain("\x1b");
  });

  const block = fc.constantFrom(
    "# Head\n\n",
    "Some *words* and more of them, which go on and on until the line has to be wrapped.\n\n",
    "- one\n- two\n\n",
    "```\ncode\n```\n\n",
    "| a | b |\n| - | - |\n| 1 | 2 |\n\n",
    "> quoted\n\n",
  );

  it("shows the same, however the text is cut", () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 40 })), (blocks, cuts) => {
        const text = blocks.join("");
        const pieces: string[] = [];
        let at = 0;
        for (const cut of [...cuts, text.length]) {
          if (at < text.length) pieces.push(text.slice(at, at + cut));
          at += cut;
        }
        expect(shown(pieces)).toEqual(shown([text]));
      }),
    );
  });

  it.each([
    ["one line without an end", (size: number) => ["x".repeat(size)]],
    ["pieces of a character", (size: number) => Array.from("word ".repeat(size / 5))],
    ["one block of many lines", (size: number) => ["```\n", ...Array.from({ length: size / 8 }, () => "let a;\n\n")]],
    ["a table of many columns", () => [`|${"a|".repeat(500)}\n|${"-|".repeat(500)}\n|${"b|".repeat(500)}\n`]],
    ["deep nesting", () => [`${">".repeat(2_000)} a\n`, `${"  ".repeat(500)}- b\n`]],
  ])("parses each character a bounded number of times: %s", (_, make) => {
    const lexer = vi.spyOn(marked, "lexer");
    try {
      const pieces = make(200_000);
      expect(shown(pieces).length).toBeGreaterThan(0);
      const parsed = lexer.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
      expect(parsed).toBeLessThan(100 * pieces.join("").length);
    } finally {
      lexer.mockRestore();
    }
  });

  it("keeps lines within the width", () => {
    for (const line of shown([
      "A paragraph of words, 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字, that has to be wrapped.\n",
    ])) {
      expect(widthOf(line)).toBeLessThanOrEqual(60);
    }
  });
});

describe("forms in a chat", () => {
  const schema = {
    type: "object",
    required: ["amount"],
    properties: {
      amount: { type: "number", minimum: 1 },
      currency: { type: "string", enum: ["EUR", "USD"] },
      urgent: { type: "boolean", default: false },
      tags: { type: "array", items: { type: "string" } },
    },
  };
  const form: Form = { id: "expense", schema, data: {}, violations: [] };

  /** Answers the prompts one by one. */
  async function filled(typed: readonly (string | undefined)[], given = form) {
    const told: string[] = [];
    const left = [...typed];
    const values = await askForm(
      given,
      async (prompt) => {
        told.push(prompt);
        return left.shift();
      },
      (line) => told.push(line),
    );
    return { values, told: told.join("\n"), left };
  }

  it("A2ACLI_CHAT_001 are asked field by field, with types, choices and defaults", async () => {
    const { values, left } = await filled(["12.5", "2", "yes", "a, b", ""]);
    expect(values).toEqual({ amount: 12.5, currency: "USD", urgent: true, tags: ["a", "b"] });
    expect(left).toEqual([]);
    expect((await filled(["3", "eur", "", "", "y"])).values).toEqual({ amount: 3, currency: "EUR", urgent: false });
  });

  it("name what is wrong at the field, and ask again", async () => {
    const { values, told } = await filled(["", "none", "0", "7", "GBP", "1", "", "", ""]);
    expect(values).toMatchObject({ amount: 7, currency: "EUR" });
    for (const text of ["amount is required", "amount must be number", "amount must be >= 1"])
      expect(told).toContain(text);
    expect(told).toContain("currency must be equal to one of the allowed values: EUR, USD");
  });

  it("go back, change before they are sent, and can be declined", async () => {
    expect((await filled(["1", "<", "2", "1", "", "", ""])).values).toMatchObject({ amount: 2 });
    expect((await filled(["1", "1", "", "", "n", "9", "", "", "", "y"])).values).toMatchObject({ amount: 9 });
    expect((await filled(["1", "<<"])).values).toBe("declined");
    expect((await filled(["1", "1", "", "", "<<"])).values).toBe("declined");
  });

  it("can be left at every question", async () => {
    for (const typed of [[], ["1"], ["1", "1", "", ""]]) {
      expect((await filled([...typed, undefined])).values).toBe("left");
    }
  });

  it("check patterns, and are not held up by one that never ends", async () => {
    const slow = "a".repeat(60);
    const properties = {
      code: { type: "string", pattern: "^[A-Z]{2}$" },
      evil: { type: "string", pattern: "^(a+)+$", default: `${slow}!` },
      pattern: { type: "string", enum: ["x"] },
    };
    const { values, told } = await filled(["abc", "DE", "", "x", ""], {
      ...form,
      schema: { type: "object", properties, patternProperties: { "^(b+)+$": {} }, additionalProperties: false },
    });
    expect(told).toContain("code must match the pattern ^[A-Z]{2}$");
    expect(values).toEqual({ code: "DE", evil: `${slow}!`, pattern: "x" });
  });

  it("show no characters that drive the terminal or turn its text", async () => {
    const title = "\u001b[2J\u009b31m\u202eevil\nline";
    const properties = { [title]: { title, enum: [title], default: title } };
    const { told } = await filled(["", ""], { ...form, schema: { type: "object", properties }, violations: [title] });
    expect(told).toContain("evil\\nline");
    expect(told.replaceAll("\n", "")).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  });

  it("list a bounded number of choices", async () => {
    const properties = { n: { enum: Array.from({ length: 5_000 }, (_, at) => `c${at}`) } };
    const { values, told } = await filled(["c4999", ""], { ...form, schema: { type: "object", properties } });
    expect(values).toEqual({ n: "c4999" });
    expect(told.split("\n").length).toBeLessThan(120);
    expect(told).toContain("and 4900 more");
  });

  it("show the faults that the agent found, and its values", async () => {
    const again = { ...form, data: { amount: 5 }, violations: ["amount: is too high"] };
    const { values, told } = await filled(["", "1", "", "", ""], again);
    expect(told).toContain("amount: is too high");
    expect(values).toMatchObject({ amount: 5 });
  });

  it("are found in data parts, also those of the first samples", () => {
    expect(formIn([{ a: 1 }])).toBeUndefined();
    expect(formIn([{ type: "form", form: schema, form_data: { amount: 1 } }])).toMatchObject({
      id: undefined,
      data: { amount: 1 },
    });
    expect(
      formIn([{ type: "form", id: "x", form: schema, violations: [{ field: "a", description: "b" }] }]),
    ).toMatchObject({
      id: "x",
      violations: ["a: b"],
    });
  });
});

describe("Keys", () => {
  /** Returns the keys of each line. */
  function linesOf(...typed: readonly string[]): string[] {
    const keys = new Keys();
    for (const each of typed) keys.add(each);
    const all: string[] = [];
    for (let next = keys.next(); next !== undefined; next = keys.next()) all.push(keys.expanded(next));
    return all;
  }

  it("come one line at a time", () => {
    expect(linesOf("a\rb", "c\r\n\r", "\x03\x04d")).toEqual(["a\r", "bc\r\n", "\r", "\x03", "\x04", "d"]);
  });

  it("keep a paste together, however it arrives", () => {
    const typed = "x\x1b[200~one\r\ntwo\n\x03three\x1b[201~y\r";
    const begin = typed.indexOf("one");
    for (let cut = begin; cut <= typed.length; cut++) {
      expect(linesOf(typed.slice(0, cut), typed.slice(cut))).toEqual(["xone\ntwo\n\x03threey\r"]);
    }
  });

  it("insert a short paste as it is, and a word for another one", () => {
    const keys = new Keys();
    keys.add(`\x1b[200~short\n\x1b[201~\x1b[200~${"l".repeat(5_000)}\x1b[201~\x1b[200~a\nb\x1b[201~\r`);
    const line = keys.next() ?? "";
    expect(line).toBe("short[paste 1: 5000 characters][paste 2: 2 lines]\r");
    expect(keys.expanded(line)).toBe(`short${"l".repeat(5_000)}a\nb\r`);
    expect(keys.expanded("[paste 9: 2 lines]")).toBe("[paste 9: 2 lines]");
  });

  it("bound a paste that never ends", () => {
    const keys = new Keys();
    keys.add("\x1b[200~");
    for (let at = 0; at < 64; at++) keys.add("p".repeat(64 * 1024));
    keys.add("\x1b[201~\r");
    expect(keys.expanded(keys.next() ?? "").length).toBeLessThanOrEqual(1024 * 1024 + 1);
  });

  it("count each Ctrl-C among keys that are dropped", () => {
    const keys = new Keys();
    keys.add("a\x03\x03b");
    expect([keys.drop(), keys.drop(), keys.next()]).toEqual([2, 0, undefined]);
  });
});

describe("Tab in a chat", () => {
  it("completes commands and paths", () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-tab-"));
    try {
      mkdirSync(join(folder, "docs"));
      writeFileSync(join(folder, "docs", "a.txt"), "");
      expect(completed("/fi", ["/file", "/form"], folder)).toEqual([["/file"], "/fi"]);
      expect(completed("/file d", ["/file"], folder)).toEqual([["docs/"], "d"]);
      expect(completed("/file docs/", ["/file"], folder)).toEqual([["docs/a.txt"], "docs/"]);
      expect(completed("/file none/x", ["/file"], folder)).toEqual([[], "none/x"]);
      expect(completed("hello", ["/file"], folder)).toEqual([[], "hello"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("chat without a terminal", () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  it.each(["jsonrpc", "rest", "grpc"])(
    "A2ACLI_CHAT_001 sends one message and prints the answer (%s)",
    async (transport) => {
      const { exit, out, err } = await world.run(["chat", "stream 3", "-a", "AGENT", "--transport", transport]);
      expect(exit, err).toBe(0);
      expect(out).not.toContain("\x1b");
      expect(out.trim()).not.toBe("");
      expect(err).toMatch(/Resume with: parley chat .*--context-id \S+\n$/);
    },
  );

  it("A2ACLI_CHAT_001 names the task that waits, and continues it", async () => {
    const asked = await world.run(["chat", "ask Which city?", "-a", "AGENT"]);
    expect(asked.out).toBe("Which city?\n\n");
    const ids = /--context-id (\S+) --task-id (\S+)/.exec(asked.err);
    const told = await world.run([
      "chat",
      "Rome",
      "-a",
      "AGENT",
      "--context-id",
      ids?.[1] ?? "",
      "--task-id",
      ids?.[2] ?? "",
    ]);
    expect(told.out).toContain("Rome");
  });

  it("keeps an agent's text from driving the terminal", async () => {
    const { out } = await world.run(["chat", "control", "-a", "AGENT"]);
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it.each([
    [["chat"], "chat needs a terminal or a text to send"],
    [["chat", "hi", "-o", "json"], "chat has no JSON output"],
  ])("rejects %j before anything is sent", async (argv, text) => {
    world.seen.splice(0);
    const { exit, err, out } = await world.run([...argv, "-a", "AGENT"]);
    expect([exit, err + out]).toEqual([2, expect.stringContaining(text)]);
    expect(world.seen).toEqual([]);
  });
});
