import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allPages, type Block, blocksOf, pageText, root } from "./pages.js";
import { places, placesOf } from "./places.js";

const pages = allPages();
const blocks = pages.flatMap(blocksOf);
const at = ({ page, line }: Block): string => `${page}:${line}`;
const inPlace = (name: keyof typeof places): readonly Block[] =>
  blocks.filter((block) => placesOf(block).includes(name));

describe("the blocks of the pages", () => {
  it("are all found", () => {
    const fences = pages.flatMap((page) => pageText(page).match(/^ *```/gm) ?? []);
    expect(blocks.length).toBe(fences.length / 2);
    expect(blocks.length).toBeGreaterThan(40);
  });

  it("have one place each, where they are run or it says why not", () => {
    const placed = blocks.map((block) => [at(block), placesOf(block)]);
    expect(placed.filter(([, names]) => names?.length !== 1)).toEqual([]);
  });

  it.each(Object.entries(places))("of the place %s are there, and so is their test", (name, place) => {
    expect(inPlace(name as keyof typeof places)).not.toEqual([]);
    if ("test" in place) expect(existsSync(join(root, place.test)), place.test).toBe(true);
  });

  it("that are files of a generated client have a name before them, and commands a folder of theirs", () => {
    for (const block of inPlace("generated")) {
      const before = pageText(block.page)
        .split("\n")
        .slice(0, block.line - 1)
        .join("\n")
        .trimEnd()
        .split("\n")
        .at(-1);
      if (block.language !== "console") expect(before, at(block)).toMatch(/^`(go|python|java)\/[\w./-]+`:$/);
      for (const { folder } of block.commands) expect(["", "go", "python", "java"]).toContain(folder);
    }
  });

  it("that run scripts name scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const named = [...blocks.map(({ text }) => text), ...pages.map(pageText)].flatMap((text) =>
      [...text.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, name = ""]) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it("that draw the layout have every folder of src, and no other", () => {
    const [text = ""] = inPlace("layout").map((block) => block.text);
    const drawn = [...text.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, name]) => name);
    const there = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(drawn.toSorted()).toEqual(there.map(({ name }) => name).toSorted());
  });
});
