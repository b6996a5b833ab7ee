import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** Scripts of the package that a page describes: a template, or this package. */
function scriptsOf(page: string): object {
  const own = join(root, page === "docs/authoring-cli.md" ? "templates/plain" : dirname(page), "_package.json");
  const file = existsSync(own) ? own : join(root, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly scripts: object }).scripts;
}

/** Folders to which pages' paths of files in src/ and test/ may be relative. */
const bases = ["", "src", "src/engine", "src/store/sqlite", "console/src", "test"];

/** Names in backticks that only look like files: a method of A2A, and an entry point of the AI SDK. */
const notFiles = ["agent/getAuthenticatedExtendedCard", "ai/test"];

const folders = new Set(
  ["src", "test"].flatMap((base) =>
    readdirSync(join(root, base), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : [])),
  ),
);

/** Files and folders of the code that a page names in backticks, such as `engine/run/cancel.ts` or `e2e/kill-loop`. */
const filesNamedBy = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => !notFiles.includes(path) && !path.startsWith("./"))
    .filter((path) => /\.tsx?$/.test(path) || folders.has(path.slice(0, path.indexOf("/"))));

const isFile = (path: string): boolean =>
  bases.some((base) => ["", ".test.ts", ".interop.ts"].some((end) => existsSync(join(root, base, path + end))));

describe("links", () => {
  it.each(pages)("of %s lead to files and headings", (page) => {
    const links = proseOf(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
    const broken = [...links].filter(([, path = "", anchor]) => !resolves(page, path, anchor));
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it("and names in backticks lead to files of the code", () => {
    const named = pages
      .filter((page) => /^docs\/|^[^/]+$/.test(page))
      .flatMap((page) => filesNamedBy(page).map((path) => ({ page, path })));
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter(({ path }) => !isFile(path))).toEqual([]);
  });

  it("and commands name scripts of package.json", () => {
    const named = pages.flatMap((page) => {
      const scripts = scriptsOf(page);
      return [...pageText(page).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, name = ""]) => ({
        ...{ page, name, exists: name in scripts },
      }));
    });
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ exists }) => !exists)).toEqual([]);
  });
});
