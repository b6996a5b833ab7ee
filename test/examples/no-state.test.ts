import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));

/** The sources of all examples, without tests and installed packages. */
function sources(folder = examples): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sources(path);
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

/** Module variables that can grow: maps, sets and lists that are not read-only. */
function growing(source: string): string[] {
  const variables = source.matchAll(
    /^(?:export )?(?:const|let|var) (\w+)(: [^=]+?)? =\s*(?:new (?:Weak)?(?:Map|Set)\b|\[)/gm,
  );
  return [...variables].flatMap(({ 1: name = "", 2: type = "", index }) => {
    const isConst = / as const/.test(/\]( as const)?;/.exec(source.slice(index))?.[0] ?? "");
    return isConst || /readonly/i.test(type) ? [] : name;
  });
}

it("no example keeps conversations or tasks in variables of a module", () => {
  const found = sources().flatMap((path) =>
    growing(readFileSync(path, "utf8")).map((name) => `${relative(examples, path)}: ${name}`),
  );
  expect(sources().length).toBeGreaterThan(20);
  expect(found).toEqual([]);
});

it("finds such variables", () => {
  expect(
    growing("const talks = new Map<string, string>();\nexport let ids: string[] = [];\nconst a = new Set();"),
  ).toEqual([...["talks", "ids", "a"]]);
  expect(
    growing(
      "const a: ReadonlyMap<string, string> = new Map([]);\nconst b: readonly string[] = [];\nconst c = [1] as const;",
    ),
  ).toEqual([]);
});
