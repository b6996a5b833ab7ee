import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { build, root } from "../e2e/support/build.js";

const {
  dependencies,
  exports: entries,
  peerDependencies,
} = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string | { default: string }>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** Runs a program in the project's folder, which imports the package by its name, and parses its output. */
function run(script: string): unknown {
  return JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: root, encoding: "utf8" }),
  );
}

/** Built files, each with the sources that it is made of. */
function filesBuilt(): ReadonlyMap<string, readonly string[]> {
  const folders = ["dist/src", "dist/contract", "dist/gen"].map((folder) => join(root, folder));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const sourcesIn = (text: string): string[] => [
    ...new Set([...text.matchAll(/^\/\/ ((?:src|contract|gen)\/\S+\.ts)$/gm)].map(([, path = ""]) => path)),
  ];
  const code = files.filter((file) => file.endsWith(".js"));
  return new Map(code.map((file) => [file, sourcesIn(readFileSync(file, "utf8"))]));
}

describe("what is built", () => {
  beforeAll(() => build(), 120_000);

  it.each([
    ["of entry points and servers", false],
    ["of commands that call agents", true],
  ])("has each source once in the files %s, so that a class and a table are the same in all of them", (_, ofCalls) => {
    const found = [...filesBuilt()].filter(
      ([file]) =>
        /\/src\/cli\/(?!main)/.test(file) === ofCalls && !/(writer|writer-process|heartbeats|copier)\.js$/.test(file),
    );
    const sources = found.flatMap(([, paths]) => paths);
    expect(sources.length).toBeGreaterThan(150);
    expect(sources.filter((path, index) => sources.indexOf(path) !== index)).toEqual([]);
    expect(sources.some((path) => path.startsWith("src/engine/"))).toBe(!ofCalls);
  });

  it("is ASCII, as V8 takes two bytes for each character of a file that is not", () => {
    const others = [...filesBuilt().keys()].flatMap((file) => {
      const found = /^.*[^\0-\x7f].*$/m.exec(readFileSync(file, "utf8"));
      return found === null ? [] : [`${file}: ${found[0]}`];
    });
    expect(others).toEqual([]);
  });

  it("exports what the sources export, by every name of the package", () => {
    const names = Object.entries(entries).flatMap(([name, entry]) =>
      typeof entry === "string" ? [] : [name.slice(2)],
    );
    const specifiers = names.map((name) => (name === "" ? "parley-a2a" : `parley-a2a/${name}`));
    const lists = run(`
      const lists = {};
      for (const name of ${JSON.stringify(specifiers)}) lists[name] = Object.keys(await import(name));
      console.log(JSON.stringify(lists));`) as Record<string, string[]>;
    expect(Object.keys(lists)).toEqual(specifiers);
    for (const exported of Object.values(lists)) expect(exported).not.toEqual([]);
    expect(lists["parley-a2a"]).toEqual(expect.arrayContaining(["A2AError", "createServer", "text"]));
    expect(lists["parley-a2a/testing"]).toEqual(expect.arrayContaining(["testAgent", "turnWith"]));
  });

  it("asks at run time for no package but those that are installed with it", () => {
    const names = /^(?:import .*|\} from )"([^"]+)";$|(?:import|require|Require\([^()]*\))\("([^"]+)"\)/gm;
    const asked = [...filesBuilt().keys()].flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(names)]
        .map(([, name, other = ""]) => name ?? other)
        // Modules of later versions of Node.js are none that an earlier one knows.
        .filter((name) => !/^(?:\.|node:)/.test(name) && !isBuiltin(name))
        .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/")),
    );
    // Ajv names itself in texts for code that it generates elsewhere.
    const own = ["ajv", "ajv-formats"];
    expect([...new Set(asked)].toSorted()).toEqual([
      "@opentelemetry/api",
      "@photostructure/sqlite",
      "ai",
      ...own,
      "pg",
      "react",
    ]);
    for (const name of own) expect(dependencies).toHaveProperty(name);
    for (const name of ["@opentelemetry/api", "@photostructure/sqlite", "ai", "pg", "react"])
      expect(peerDependencies).toHaveProperty(name);
  });

  it("takes and gives what a program makes with protobuf of its own", () => {
    const shown = run(`
      import { fromBinary, isMessage, toBinary, toJson } from "@bufbuild/protobuf";
      import { artifact, completed, createA2A } from "parley-a2a";
      import { MessageSchema } from "parley-a2a/gen";
      import { memoryStore } from "parley-a2a/store/memory";

      const agent = {
        card: { name: "A", description: "Shows what it was sent.", version: "1" },
        async *execute({ message }) {
          const copy = fromBinary(MessageSchema, toBinary(MessageSchema, message));
          yield artifact({ name: "a", data: [isMessage(message, MessageSchema), toJson(MessageSchema, copy).parts] });
          yield completed();
        },
      };
      const a2a = createA2A({ agent, store: memoryStore(), publicUrl: "http://localhost" });
      const headers = { "content-type": "application/json", "a2a-version": "1.0" };
      const body = JSON.stringify({ message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "hi" }] } });
      const answer = await a2a.fetch(new Request("http://localhost/message:send", { method: "POST", headers, body }));
      const { task } = await answer.json();
      console.log(JSON.stringify(task.artifacts[0].parts));
      await a2a.close({ graceMs: 0 });`);
    expect(shown).toEqual([{ data: [true, [{ text: "hi" }]] }]);
  });

  it("needs no more of Node.js for parley-a2a/fetch than workerd has (see test/fetch.test.ts)", () => {
    const built = filesBuilt();
    const seen = new Set<string>();
    const modules = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export|\} from).*?"([^"]+)";$/gm)) {
        if (name.startsWith(".")) visit(join(file, "..", name));
        else modules.add(name);
      }
    };
    visit(join(root, "dist/src/fetch.js"));
    expect([...seen].flatMap((file) => built.get(file) ?? []).length).toBeGreaterThan(100);
    expect([...modules].toSorted()).toEqual(["node:buffer", "node:crypto", "node:net", "node:tls"]);
  });
});
