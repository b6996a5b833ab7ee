import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const tools = fileURLToPath(new URL("../../tools", import.meta.url));
let place = "";

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "parley-tools-"));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, args, {
    cwd: place,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...env },
  });
  let stderr = "";
  child.stderr.on("data", (text) => (stderr += String(text)));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stderr })));
}

describe("hold()", () => {
  const script = `
    import { appendFileSync } from "node:fs";
    import { hold } from ${JSON.stringify(join(tools, "hold.mjs"))};
    const release = await hold("cache/it.pid");
    appendFileSync("log", "begin ");
    for (const until = Date.now() + 100; Date.now() < until; );
    appendFileSync("log", "end ");
    if (process.argv.includes("die")) process.kill(process.pid, "SIGKILL");
    release();`;
  const holder = (...more: string[]): ReturnType<typeof run> =>
    run(["--input-type=module", "--eval", script, "--", ...more]);

  it("lets processes in one after the other, and one that dies holds nothing", async () => {
    await Promise.all([holder(), holder("die"), holder(), holder("die"), holder()]);
    expect(readFileSync(join(place, "log"), "utf8")).toBe("begin end ".repeat(5));
    await holder();
    expect(existsSync(join(place, "cache/it.pid"))).toBe(false);
  });

  it("does not wait for who was ended before he could write who he is", async () => {
    mkdirSync(join(place, "cache"));
    writeFileSync(join(place, "cache/it.pid"), "");
    utimesSync(join(place, "cache/it.pid"), 1, 1);
    expect((await holder()).code).toBe(0);
  });
});
