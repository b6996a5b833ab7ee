import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import * as extend from "../../src/extend.js";
import * as main from "../../src/index.js";
import * as store from "../../src/store/index.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string | { types: string; default: string }>;
};

/** The source that an entry point is compiled from. */
const sourceOf = (built: string): string => built.replace("./dist/", "").replace(/\.js$/, ".ts");

describe("the entry points", () => {
  it("have a source and types of the same name, every one of them", () => {
    const modules = Object.values(entries).flatMap((entry) => (typeof entry === "string" ? [] : [entry]));
    expect(modules.length).toBeGreaterThan(8);
    for (const { types, default: code } of modules) {
      expect(types).toBe(code.replace(/\.js$/, ".d.ts"));
      expect(existsSync(join(root, sourceOf(code))), code).toBe(true);
    }
  });

  it("are all in the reference", () => {
    const typedoc = JSON.parse(readFileSync(join(root, "tools/docs/typedoc.json"), "utf8")) as {
      entryPoints: string[];
    };
    const shown = typedoc.entryPoints.map((path) => path.replace("../../", ""));
    const sources = Object.entries(entries).flatMap(([name, entry]) =>
      typeof entry === "string" || name === "./gen" ? [] : [sourceOf(entry.default)],
    );
    expect(shown.toSorted()).toEqual(sources.toSorted());
  });

  it("keep what only other libraries need apart from what authors and embedders do", () => {
    const seam = ["HealthSource", "StoreError", "alwaysHealthy"];
    const parts = ["CONNECT_BINDING", "buildCard", "chain", "interfacesOf", "registerAgents", "withInterfaces"];
    expect(Object.keys(store)).toEqual(expect.arrayContaining(seam));
    expect(Object.keys(extend)).toEqual(expect.arrayContaining(parts));
    expect(Object.keys(main).filter((name) => [...seam, ...parts].includes(name))).toEqual([]);
    // Interceptors are written by those who embed agents.
    expect(Object.keys(main)).toEqual(expect.arrayContaining(["createA2A", "createServer", "isCallOf", "isStream"]));
  });

  it("need no Fastify at run time where it is only typed", async () => {
    const text = readFileSync(join(root, "src/fastify.ts"), "utf8");
    expect(text.match(/^import (?!type).*$/gm)).toBeNull();
    expect((await import(pathToFileURL(join(root, "src/fastify.ts")).href)).parleyFastify).toBeTypeOf("function");
  });
});
