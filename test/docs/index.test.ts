import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { allPages, pageText } from "./pages.js";

const INDEX = "docs/README.md";

/** The pages that a page links to. */
const linkedFrom = (page: string): readonly string[] =>
  [...pageText(page).matchAll(/\]\((?!https?:)([^)#\s]+\.md)(?:#[^)]*)?\)/g)].map(([, path = ""]) =>
    join(dirname(page), path),
  );

/** The index for language models: https://llmstxt.org. */
function llms(): string {
  const [, sentence = ""] = /^# Parley\n\n([\s\S]*?)\n\n/.exec(pageText("README.md")) ?? [];
  const summary = sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("\n", " ");
  const [, ...sections] = pageText(INDEX).split(/^(?=## )/m);
  const lists = sections
    .filter((section) => /^- /m.test(section))
    .map((section) =>
      section
        .replace(/\n +/g, " ")
        .replace(/\]\(([^):]+)\)/g, (_, path: string) => `](${join("docs", path)})`)
        .split("\n")
        .filter((line) => /^(## |- )/.test(line))
        .join("\n")
        .replace("\n", "\n\n"),
    );
  return `# Parley\n\n> ${summary}\n\n${lists.join("\n\n")}\n`;
}

describe("docs/README.md", () => {
  it("leads to every page of docs, directly or by another page", () => {
    const reached = new Set([INDEX]);
    for (const page of reached) if (page.startsWith("docs/")) for (const next of linkedFrom(page)) reached.add(next);
    expect(allPages().filter((page) => page.startsWith("docs/") && !reached.has(page))).toEqual([]);
  });

  it("has the same entries as llms.txt", async () => {
    await expect(llms()).toMatchFileSnapshot("../../llms.txt");
  });
});
