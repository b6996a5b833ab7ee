import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "parley-core-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/**
 * A program for a runtime without `setImmediate` and `process`. It runs work and throws errors in later rounds of the
 * event loop.
 */
const program = `
  import { callAll } from "../../src/core/event-loop.ts";
  import { defer } from "../../src/core/event-loop.ts";
  import { yieldToEventLoop } from "../../src/core/event-loop.ts";
  import { lengthOf } from "../../src/wire/large/piece-list.ts";
  const done = [];
  globalThis.reportError = (error) => done.push("reported " + error.message);
  callAll([() => { throw new Error("broken") }, () => done.push("called")]);
  defer({ run: () => done.push("deferred"), failed: () => {} });
  defer({ run: () => { throw new Error("thrown") }, failed: ({ message }) => done.push("failed " + message) });
  done.push("first");
  await yieldToEventLoop();
  done.push("next round");
  let others = false;
  setTimeout(() => (others = true), 1);
  while (!others) await yieldToEventLoop();
  const pieces = Array.from({ length: 5000 }, () => new Uint8Array(3));
  done.push(String(await lengthOf(pieces)));
  console.log(JSON.stringify([typeof setImmediate, typeof process, ...done]));
  exit();
`;

describe("core and wire in a runtime that has only what browsers have", () => {
  it("go on in later rounds of the event loop, and report what is thrown", async () => {
    const outfile = join(directory, "rounds.mjs");
    await build({
      stdin: { contents: program, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
      outfile,
      bundle: true,
      platform: "browser",
      format: "esm",
      // The open channel keeps Node.js alive. A page would be closed.
      banner: { js: "const exit = process.exit; delete globalThis.setImmediate; delete globalThis.process;" },
      logLevel: "silent",
    });
    expect(JSON.parse(execFileSync(process.execPath, [outfile], { encoding: "utf8" }))).toEqual([
      "undefined",
      "undefined",
      "reported broken",
      "called",
      "first",
      "deferred",
      "failed thrown",
      "next round",
      "15000",
    ]);
  }, 60_000);
});
