import { describe, expect, it } from "vitest";
import { blocksOf, codeIn, fenceIn, growingParts } from "../../console/src/content/blocks.js";

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${line(index + 1)}\n`).join("");

describe("blocksOf()", () => {
  it.each([
    ["paragraphs", lines(500, (index) => `Paragraph ${index} with some words.\n`)],
    ["a list", lines(800, (index) => `- item ${index} with **bold** words`)],
    ["a numbered list", lines(800, (index) => `${index}. item with **bold** words`)],
    ["nested items", lines(400, (index) => `* item ${index}\n  more of it\n  - below it`)],
    ["fences", lines(200, (index) => `\`\`\`js\ncode(${index})\n\n- not a list\n\`\`\`\nText ${index}.\n`)],
  ])("splits %s into small blocks", (_what, text) => {
    const blocks = blocksOf(text);
    expect(blocks.join("")).toBe(text);
    expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThan(1_700);
  });

  it("keeps the blocks of a text that grows, but the last", () => {
    const text =
      lines(200, (index) => `- item ${index}`) + lines(100, (index) => `\nText ${index}\n\n\`\`\`\ncode\n\`\`\``);
    let before: readonly string[] = [];
    for (let length = 1; length <= text.length; length += 7) {
      const blocks = blocksOf(text.slice(0, length));
      expect(blocks.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      before = blocks;
    }
  });

  it("bounds paragraphs, of lines or of one line", () => {
    for (const text of [lines(900, (index) => `line ${index} of a log`), `${"word ".repeat(9_000)}\nend`]) {
      const blocks = blocksOf(text);
      expect(blocks.join("")).toBe(text);
      expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThan(4_100);
    }
  });

  it("does not split what belongs together", () => {
    const rows = lines(200, (index) => `| cell ${index} | other |`);
    expect(blocksOf(`| a | b |\n|---|---|\n${rows}`)).toHaveLength(1);
    const paragraph = lines(60, (index) => `a line of a paragraph, and then the year\n${1_900 + index}. It goes on`);
    expect(blocksOf(paragraph)).toHaveLength(1);
    expect(blocksOf(`\`\`\`\n${lines(300, (index) => `\n- line ${index}\n\`\`\`js`)}`)).toHaveLength(1);
  });
});

describe("codeIn()", () => {
  it.each([
    ["```js\na\nb\n```\n", "js", "a\nb"],
    ["```js\na\n", "js", "a\n"],
    ["~~~~\na\n~~~\n~~~~", "", "a\n~~~"],
    ["```", "", ""],
    ["```\n```\n", "", ""],
  ])("returns the code of the fence %j", (block, language, code) => {
    expect([fenceIn(block), codeIn(block)]).toEqual([language, code]);
  });

  it("is for fences only", () => {
    expect(["```inline```", "text\n```\n", "  ```\n"].map(fenceIn)).toEqual([undefined, undefined, undefined]);
  });
});

describe("growingParts()", () => {
  it("reads a bounded part of a block that cannot be split, the same one while it grows", () => {
    const table = `| a | b |\n|---|---|\n${lines(1_000, (index) => `| cell ${index} | other |`)}`;
    const [head, rest] = growingParts(table);
    expect(head + rest).toBe(table);
    expect(head).toMatch(/\|\n$/);
    expect(head.length).toBeLessThanOrEqual(4_001);
    expect(growingParts(table.slice(0, -500))[0]).toBe(head);
    expect(growingParts("word ".repeat(9_000))[0]).toHaveLength(4_000);
    expect(growingParts("short")).toEqual(["short", ""]);
    const fence = `\`\`\`\n${table}`;
    expect(growingParts(fence)).toEqual([fence, ""]);
  });
});
