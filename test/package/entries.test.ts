import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import * as extend from "../../src/extend.js";
import * as main from "../../src/index.js";
import * as store from "../../src/store/index.js";
import { exportsByEntry } from "../docs/api-page.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string | Entry>;
};

/** An entry point: one for everybody, or one for Node.js and another one for everywhere else. */
interface Entry {
  readonly types: string;
  readonly browser?: string;
  readonly node?: string;
  readonly default: string;
}

/** The source that an entry point is compiled from. */
const sourceOf = (built: string): string => built.replace(/^\.\/dist\/(?:web\/)?/, "").replace(/\.js$/, ".ts");

const forNode = (entry: Entry): string => entry.node ?? entry.default;

describe("the entry points", () => {
  it("have a source and types of the same name, every one of them", () => {
    const modules = Object.values(entries).flatMap((entry) => (typeof entry === "string" ? [] : [entry]));
    expect(modules.length).toBeGreaterThan(8);
    for (const entry of modules) {
      expect(entry.types).toBe(forNode(entry).replace(/\.js$/, ".d.ts"));
      for (const code of [forNode(entry), entry.default, entry.browser ?? entry.default])
        expect(existsSync(join(root, sourceOf(code))), code).toBe(true);
    }
  });

  it("are for browsers, workers and edge runtimes what they are where nothing is known, and have the same names on Node.js", async () => {
    const modules = Object.values(entries).flatMap((entry) => (typeof entry === "string" ? [] : [entry]));
    const both = modules.filter(({ browser }) => browser !== undefined);
    expect(both.length).toBeGreaterThan(1);
    for (const { types: _, browser, node, default: other, ...more } of both) {
      expect(Object.values(more).filter((path) => path !== browser)).toEqual([]);
      expect(Object.keys(more)).toEqual(["workerd", "edge-light", "worker"]);
      if (node !== undefined) expect(other).toBe(browser);
      const [here = "", there = ""] = [node ?? other, browser ?? ""].map(sourceOf);
      const names = async (path: string): Promise<string[]> =>
        Object.keys(await import(pathToFileURL(join(root, path)).href));
      expect(await names(there)).toEqual(await names(here));
    }
  });

  it("are all in the reference", () => {
    const typedoc = JSON.parse(readFileSync(join(root, "tools/docs/typedoc.json"), "utf8")) as {
      entryPoints: string[];
    };
    const shown = typedoc.entryPoints.map((path) => path.replace("../../", ""));
    const sources = Object.entries(entries).flatMap(([name, entry]) =>
      typeof entry === "string" || name === "./gen" ? [] : [sourceOf(forNode(entry))],
    );
    expect(shown.toSorted()).toEqual(sources.toSorted());
  });

  it("keep what only other libraries need apart from what authors and embedders do", () => {
    const seam = ["HealthSource", "StoreError", "alwaysHealthy"];
    const parts = ["CONNECT_BINDING", "buildCard", "chain", "interfacesOf", "registerAgents", "withInterfaces"];
    expect(Object.keys(store)).toEqual(expect.arrayContaining(seam));
    expect(Object.keys(extend)).toEqual(expect.arrayContaining(parts));
    expect(Object.keys(main).filter((name) => [...seam, ...parts].includes(name))).toEqual([]);
    // Embedders write interceptors with these.
    expect(Object.keys(main)).toEqual(expect.arrayContaining(["createA2A", "createServer", "isCallOf", "isStream"]));
  });

  it("give a name one meaning, whichever of them exports it", () => {
    const all = [...exportsByEntry().values()].flat();
    const filesOf = (name: string): Set<string> =>
      new Set(all.filter((each) => each.name === name).map(({ file }) => file));
    const names = new Set(all.map(({ name }) => name));
    expect(names.size).toBeGreaterThan(300);
    expect([...names].filter((name) => filesOf(name).size > 1)).toEqual([]);
  });

  it("have schemes and the rarer events in one place each", () => {
    const others = [...exportsByEntry()].flatMap(([entry, all]) =>
      entry.endsWith("/auth") || entry.endsWith("/events") ? [] : all,
    );
    const rare = ["authRequired", "canceled", "failed", "rejected"];
    const wrong = others.filter(({ name, file }) => rare.includes(name) || /^src\/auth\//.test(file));
    expect(wrong).toEqual([]);
  });

  it("export none of the seams between the client and its platforms", () => {
    const client = exportsByEntry().get("parley-a2a/client") ?? [];
    expect(client.length).toBeGreaterThan(30);
    expect(client.filter(({ file }) => file.endsWith("/platform.ts")).map(({ name }) => name)).toEqual(["ClientTls"]);
  });

  it("need no Fastify at run time where it is only typed", async () => {
    const text = readFileSync(join(root, "src/fastify.ts"), "utf8");
    expect(text.match(/^import (?!type).*$/gm)).toBeNull();
    expect((await import(pathToFileURL(join(root, "src/fastify.ts")).href)).parleyFastify).toBeTypeOf("function");
  });
});
