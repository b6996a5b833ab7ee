import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { allPages, pageText, root } from "./pages.js";

const pages = allPages();

/** The text of a page without its fenced blocks. */
const proseOf = (page: string): string => pageText(page).replace(/^( *)```[\s\S]*?^\1```$/gm, "");

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

function resolves(page: string, path: string, anchor: string | undefined): boolean {
  const target = path === "" ? page : join(dirname(page), decodeURIComponent(path));
  if (!existsSync(join(root, target))) return false;
  return anchor === undefined || !target.endsWith(".md") || anchorsOf(target).includes(anchor);
}

describe("links", () => {
  it.each(pages)("of %s lead to files and headings", (page) => {
    const links = proseOf(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
    const broken = [...links].filter(([, path = "", anchor]) => !resolves(page, path, anchor));
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it("and commands name scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const named = pages.flatMap((page) => [...pageText(page).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)]);
    expect(named.length).toBeGreaterThan(5);
    expect(named.map(([, name = ""]) => name).filter((name) => !(name in scripts))).toEqual([]);
  });
});
