import { describe, expect, it } from "vitest";
import { allPages, pageText } from "./pages.js";

const README = "README.md";
const ARCHITECTURE = "docs/architecture.md";

/** Words of a page, without code blocks and tables. */
const wordsOf = (page: string): number =>
  pageText(page)
    .replace(/^```[\s\S]*?^```$/gm, "")
    .replace(/^ *\|.*$/gm, "")
    .split(/\s+/)
    .filter((word) => word !== "").length;

const docs = allPages().filter((page) => page.startsWith("docs/"));

/** Lines of more than 100 characters, without tables, code blocks and lines that one word fills. */
const longLines = (page: string): readonly string[] =>
  pageText(page)
    .replace(/^( *)```[\s\S]*?^\1```$/gm, "")
    .split("\n")
    .filter((line) => line.length > 100 && !/^ *\|/.test(line) && /\S\s+\S/.test(line.replace(/^[\s>*-]+/, "")));

describe("a page", () => {
  it("has at most 1,500 words, except that architecture.md has at most 250 lines", () => {
    expect(docs.length).toBeGreaterThan(50);
    expect(docs.filter((page) => page !== ARCHITECTURE && wordsOf(page) > 1_500)).toEqual([]);
    expect(pageText(ARCHITECTURE).trimEnd().split("\n").length).toBeLessThanOrEqual(250);
  });

  it("that a newcomer reads first has 400 to 800 words", () => {
    const words = pageText(README).split(/\s+/).length;
    expect(words).toBeGreaterThan(400);
    expect(words).toBeLessThan(800);
  });

  it("has at most 100 characters in a line", () => {
    const pages = allPages();
    expect(pages.length).toBeGreaterThan(docs.length);
    expect(pages.flatMap((page) => longLines(page).map((line) => `${page}: ${line}`))).toEqual([]);
  });

  it("of a decision has at most 280 words", () => {
    const words = docs
      .filter((page) => /^docs\/decisions\/\d{3}-/.test(page))
      .map((page) => ({ page, words: wordsOf(page) }));
    expect(words.filter((record) => record.words > 280)).toEqual([]);
  });

  it("of a decision has its context, the decision and its consequences", () => {
    const records = docs.filter((page) => /^docs\/decisions\/\d{3}-/.test(page));
    expect(records.length).toBeGreaterThan(50);
    const lacking = records.filter((page) =>
      ["Context", "Decision", "Consequences"].some((part) => !pageText(page).includes(`\n**${part}.**`)),
    );
    expect(lacking).toEqual([]);
  });
});
