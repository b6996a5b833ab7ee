import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { allPages, type Block, blocksOf, pageText, root } from "./pages.js";

/** A TypeScript block. The line before it may name a file or link to the example that the block copies. */
interface Program extends Block {
  readonly name: string | undefined;
  readonly example: string | undefined;
}

const programs: readonly Program[] = allPages()
  .flatMap(blocksOf)
  .filter(({ language }) => language === "ts")
  .map((block) => {
    const before = pageText(block.page)
      .split("\n")
      .slice(0, block.line - 1);
    const introduction = before.join("\n").trimEnd().split("\n").at(-1) ?? "";
    const [, link] = /\]\(([^)]+\.ts)\):$/.exec(introduction) ?? [];
    const example = link && join(dirname(block.page), decodeURIComponent(link));
    return { ...block, name: /`([\w.-]+\.ts)`.*:$/.exec(introduction)?.[1], example };
  });
const at = ({ page, line }: Block): string => `${page}:${line}`;

describe("TypeScript of the pages", () => {
  const copies = programs.filter(({ example }) => example !== undefined);

  it("is found", () => {
    expect(copies.length).toBeGreaterThan(3);
    expect(programs.length).toBeGreaterThan(copies.length);
  });

  it.each(copies.map((block) => [at(block), block] as const))("is the example that it links to: %s", (_, block) => {
    expect(block.text).toBe(readFileSync(join(root, block.example ?? ""), "utf8"));
  });

  // `test/examples` and `test/interop` compile and run the examples.
  const own = programs.filter(({ example }) => example === undefined);
  const folder = join(root, ".cache", "docs", "typescript");
  const fileOf = ({ page, name, line }: Program): string =>
    join(folder, page.replace(/\.md$/, ""), name ?? `line-${line}.ts`);

  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    const agent = own.find(({ page, name }) => page === "docs/get-started.md" && name === "agent.ts");
    for (const block of own) {
      const file = fileOf(block);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, block.text);
      // Pages without an agent use this one.
      if (!existsSync(join(file, "..", "agent.ts"))) writeFileSync(join(file, "..", "agent.ts"), agent?.text ?? "");
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("satisfies the compiler, where it is not an example", { timeout: 120_000 }, () => {
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    expect([stdout, status]).toEqual(["", 0]);
  });

  const tests = own.filter(({ text }) => text.includes('from "node:test"'));

  it.each(tests.map((block) => [at(block), block] as const))("passes, where it is a test: %s", (_, block) => {
    build();
    const args = ["--import", "tsx", fileOf(block)];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    expect(stdout).toMatch(/pass 1\b/);
  });
});

/** The project's settings, which resolve the package's own names to its sources. */
const config = {
  extends: join(root, "tsconfig.json"),
  compilerOptions: { rootDir: root, paths: sourcesOfEntries() },
  include: ["**/*.ts", join(root, "src/**/*.d.ts")],
  exclude: [],
};

function sourcesOfEntries(): Record<string, readonly string[]> {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, { types }]) =>
      types === undefined
        ? []
        : [[entry.replace(".", "parley-a2a"), [join(root, types.replace("dist/", "").replace(".d.ts", ".ts"))]]],
    ),
  );
}
