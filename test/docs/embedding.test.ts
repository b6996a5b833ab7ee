import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** The pages that show examples, and at least how many. */
const pages = [
  ["docs/embedding.md", 9],
  ["docs/security.md", 1],
  ["docs/delegation.md", 2],
] as const;

/** The files that a page shows: a link in a line of its own, and the code below it. */
const shownIn = (page: string): { name: string; link: string; code: string }[] =>
  [...read(page).matchAll(/\[`(examples\/[^`]+)`\]\(\.\.\/([^)]+)\):\n\n```ts\n([\s\S]*?)```/g)].map(
    ([, name = "", link = "", code = ""]) => ({ name, link, code }),
  );

describe.each(pages)("%s", (page, least) => {
  it("shows code of examples that run, and no other", () => {
    expect(shownIn(page).length).toBeGreaterThanOrEqual(least);
    expect(shownIn(page).length).toBe([...read(page).matchAll(/^```ts$/gm)].length);
  });

  it.each(shownIn(page))("shows $name as it is", ({ name, link, code }) => {
    expect(decodeURIComponent(link)).toBe(name);
    expect(code).toBe(read(name));
  });
});
