import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** The files that the page shows: a link in a line of its own, and the code below it. */
const shown = [
  ...read("docs/embedding.md").matchAll(/\[`(examples\/[^`]+)`\]\(\.\.\/([^)]+)\):\n\n```ts\n([\s\S]*?)```/g),
].map(([, name = "", link = "", code = ""]) => ({ name, link, code }));

describe("docs/embedding.md", () => {
  it("shows code of examples that run, and no other", () => {
    expect(shown.length).toBeGreaterThan(8);
    expect(shown.length).toBe([...read("docs/embedding.md").matchAll(/^```ts$/gm)].length);
  });

  it.each(shown)("shows $name as it is", ({ name, link, code }) => {
    expect(decodeURIComponent(link)).toBe(name);
    expect(code).toBe(read(name));
  });
});
