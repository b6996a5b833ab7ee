import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { allFiles, pageText } from "./pages.js";

const files = allFiles();
const pages = files.filter((path) => path.endsWith(".md"));

/** The text of a page without its fenced blocks. */
const proseOf = (page: string): string => pageText(page).replace(/^( *)```[\s\S]*?^\1```$/gm, "");

/** The files that a page links to. */
const linksOf = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)[^)\s]*\)/g)].map(([, path = ""]) =>
    join(dirname(page), decodeURIComponent(path)),
  );

/** The paths between backticks. */
const namesOf = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/`([\w.-]+(?:\/[\w.*-]+)*\/[\w.*-]*)`/g)].map(([, path = ""]) => path);

/** Whether there is such a file or folder below a folder, or below any. `*` stands for a part of a name. */
function isThere(path: string, below: "" | "any" = ""): boolean {
  const pattern = path
    .replace(/\/$/, "")
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", "[^/]*");
  const whole = new RegExp(`^${below === "any" ? "(?:.*/)?" : ""}${pattern}(?:/.*)?$`);
  return files.some((file) => whole.test(file));
}

describe("links and paths", () => {
  it.each(pages)("of %s lead somewhere", (page) => {
    expect(linksOf(page).filter((path) => !isThere(path))).toEqual([]);
  });

  it("of the README lead to every page of docs", () => {
    const linked = linksOf("README.md");
    expect(pages.filter((page) => page.startsWith("docs/") && !linked.includes(page))).toEqual([]);
  });

  it("to a heading of a page find it", () => {
    const wrong = pages.flatMap((page) =>
      [...proseOf(page).matchAll(/\]\(([^)\s:]*)#([^)\s]+)\)/g)].filter(([, path = "", heading = ""]) => {
        const target = path === "" ? page : join(dirname(page), path);
        return !headingsOf(target).includes(heading);
      }),
    );
    expect(wrong.map(([link]) => link)).toEqual([]);
  });

  it.each(["docs/architecture.md", "docs/security.md", "CONTRIBUTING.md"])("that %s names are there", (page) => {
    // What a command makes is there after it.
    const named = namesOf(page).filter((path) => !path.startsWith(".cache/"));
    const names = named.filter((path) => /\.\w+$|^(src|test|docs|tools|bench|examples|proto)\//.test(path));
    expect(names.length).toBeGreaterThan(3);
    // Such a page leaves the beginning of a path away where it is clear.
    expect(names.filter((path) => ![path, `${path}.test.ts`].some((name) => isThere(name, "any")))).toEqual([]);
  });
});

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

describe("docs/durability.md", () => {
  it("names tests that are there, one in each row of its promises and of what can go wrong", () => {
    const named = [...proseOf("docs/durability.md").matchAll(/`([a-z][\w-]*(?:\/[\w*-]+)+|slow-engine)`/g)];
    expect(named.length).toBeGreaterThan(50);
    const missing = named.filter(([, name = ""]) => !isThere(`test/${name}.test.ts`) && !isThere(`test/${name}`));
    expect(missing.map(([name]) => name)).toEqual([]);
    const rows = proseOf("docs/durability.md")
      .split(/^## /m)
      .filter((part) => /^(What is promised|What can go wrong)/.test(part))
      .flatMap((part) => part.split(/\n\n/).filter((table) => /^\|.*\| Test +\|/.test(table)))
      .flatMap((table) => table.split("\n").slice(2));
    expect(rows.length).toBeGreaterThan(25);
    // What pulls the plug of a machine cannot be a test: the page says so in the row.
    expect(rows.filter((row) => !/\| +(?:`.*`|\(settings only\)) +\|$/.test(row))).toEqual([]);
  });
});
