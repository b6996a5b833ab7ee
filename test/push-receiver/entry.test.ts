import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { importGraph, isBuiltin } from "../support/import-graph.js";
import { notification, signing, trust } from "./world.js";

const directory = mkdtempSync(join(tmpdir(), "parley-receiver-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("parley-a2a/push-receiver", () => {
  const { files, outside } = importGraph("src/push-receiver/index.ts");

  it("imports nothing of Node.js, and no package that needs it", () => {
    expect([...outside].filter(([name]) => isBuiltin(name))).toEqual([]);
    const packages = [...outside.keys()].map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
    expect([...new Set(packages)].toSorted()).toEqual(["@bufbuild/protobuf", "jose"]);
  });

  it("imports nothing of a server", () => {
    const folders = [...files].map((file) => /\/src\/([^/]+)\//.exec(file)?.[1] ?? "gen");
    expect([...new Set(folders)].toSorted()).toEqual(["core", "gen", "jwt", "push-receiver", "version", "wire"]);
  });

  it("works in a runtime that has only what browsers have, by each kind of signature", async () => {
    const sent = await notification(signing, { token: "t" });
    const program = `
      import { createPushReceiver, pushSecretOf } from "../../src/push-receiver/index.ts";
      const { headers, body } = ${JSON.stringify(sent)};
      const done = [typeof Buffer, typeof process];
      for (const trust of ${JSON.stringify(Object.values(trust))}) {
        const receiver = createPushReceiver({ ...trust, tokens: ["t"] });
        for (const text of [body + " ", body, body]) {
          const event = await receiver.receive({ headers, body: text }).catch(({ code }) => code);
          if (typeof event !== "string") await receiver.handled(event);
          done.push(event.order === "new" ? [event.taskId, event.generation, event.signatures[0].kind] : event.order ?? event);
        }
      }
      done.push((await pushSecretOf("whsec_" + "A".repeat(32), "t")).length);
      console.log(JSON.stringify(done));
      exit();
    `;
    const outfile = join(directory, "receiver.mjs");
    await build({
      stdin: { contents: program, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
      outfile,
      bundle: true,
      platform: "browser",
      format: "esm",
      banner: {
        js: "const exit = process.exit; for (const name of ['Buffer', 'setImmediate', 'process']) delete globalThis[name];",
      },
      logLevel: "silent",
    });
    const of = (kind: string): unknown[] => ["signature", ["task-1", 1, kind], "repeat"];
    const printed = execFileSync(process.execPath, [outfile], { encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual(["undefined", "undefined", ...of("jwt"), ...of("v1"), ...of("v1a"), 50]);
  }, 60_000);
});
