import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));

/** A file with everything that is loaded with it. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, names = "", from = ""] of text.matchAll(/^import (?!type )(\{[^}]*\}|[^;{]*) from "([^"]+)";/gm)) {
    const isTypesAlone = /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names);
    if (isTypesAlone) continue;
    if (from.startsWith(".")) loadedBy(join(dirname(file), from.replace(/\.js$/, ".ts")), known);
    else known.add(from);
  }
  return known;
}

describe("the writer's thread", () => {
  it("loads nothing of the protocol: a thread has its own copy of whatever it loads", () => {
    const loaded = [...loadedBy(join(SOURCE, "store/sqlite/writer.ts"))].map((file) =>
      file.startsWith("/") ? relative(SOURCE, file) : file,
    );
    expect(loaded).toContain("store/sqlite/append.ts");
    expect(loaded.filter((file) => !file.startsWith("store/") && !file.startsWith("node:"))).toEqual([]);
  });
});
