import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { forms } from "./forms.js";

const directory = mkdtempSync(join(tmpdir(), "parley-wire-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const digest = (line: string): string => createHash("sha256").update(line).digest("hex");

/** Bundles the codecs as a browser has them: one file without modules of Node.js, run without a `Buffer`. */
async function bundled(): Promise<string> {
  const outfile = join(directory, "forms.mjs");
  await build({
    stdin: {
      contents: `import { forms } from "./forms.ts"; globalThis.answer = forms(Number(process.argv[2]));`,
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    outfile,
    bundle: true,
    // Fails on every import of node:.
    platform: "browser",
    format: "esm",
    banner: { js: "delete globalThis.Buffer;" },
    footer: {
      js: `const { createHash } = process.getBuiltinModule("node:crypto");
        const digests = (await globalThis.answer).map((line) => createHash("sha256").update(line).digest("hex"));
        console.log(JSON.stringify([typeof Buffer, digests]));`,
    },
    logLevel: "silent",
  });
  return outfile;
}

describe("the codecs where there is no Buffer", () => {
  it("read and write the same as with it", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const expected = await forms(seed);
    const args = [await bundled(), String(seed)];
    const printed = execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
    const [buffer, actual] = JSON.parse(printed) as [string, string[]];
    expect(buffer).toBe("undefined");
    const wrong = expected.filter((line, i) => digest(line) !== actual[i]);
    expect(
      wrong.map((line) => line.slice(0, 200)),
      `seed ${seed}`,
    ).toEqual([]);
    expect(actual).toHaveLength(expected.length);
  }, 60_000);
});
