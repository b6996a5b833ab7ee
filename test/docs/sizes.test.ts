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

  it("of a decision has its context, the decision and its consequences", () => {
    const records = docs.filter((page) => /^docs\/decisions\/\d{3}-/.test(page));
    expect(records.length).toBeGreaterThan(50);
    const lacking = records.filter((page) =>
      ["Context", "Decision", "Consequences"].some((part) => !pageText(page).includes(`\n**${part}.**`)),
    );
    expect(lacking).toEqual([]);
  });
});
