import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

vi.setConfig({ testTimeout: 60_000 });

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
let place = "";

beforeEach(() => {
  // Reports of Vitest have the real path.
  place = realpathSync(mkdtempSync(join(tmpdir(), "parley-ci-")));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

/** Runs a script in the folder of the test. */
function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; stdout: string }> {
  const options = { cwd: place, env: { ...process.env, ...env } };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout) => resolve({ code: error?.code ?? 0, stdout }));
  });
}

const write = (file: string, text: string): void => writeFileSync(join(place, file), text);
const read = (file: string): string => readFileSync(join(place, file), "utf8");

/** Runs tests as `.ci/run` does, with a second try for each. */
function runTests(report: string, ...files: readonly string[]): Promise<{ code: unknown }> {
  const reporters = [`--reporter=${at(".ci/running.mjs")}`, "--reporter=json", `--outputFile.json=${report}`];
  const env = { CI_CHECK_RUNNING: join(place, "running"), CI_CHECK_RETRIED: join(place, "retried") };
  const args = ["run", "--globals", "--retry=1", "--root", place, ...reporters, ...files];
  return run([at("node_modules/vitest/vitest.mjs"), ...args], env);
}

const again = (...args: readonly string[]): ReturnType<typeof run> => run([at(".ci/again.mjs"), ...args]);

const passing = `test("passes", () => {});`;
const shaky = `let tries = 0; test("is shaky", () => { if (++tries < 2) throw new Error("first"); });`;
const failing = `test("fails", () => { throw new Error("always"); });`;

describe("the scripts of .ci/run", () => {
  it("name tests that passed at a second try, there or alone, with their first error", async () => {
    write("shaky.test.js", passing + shaky);
    write("failing.test.js", passing + failing);
    expect((await runTests("report.json")).code).toBe(1);
    const first = "shaky.test.js: is shaky\n    first (shaky.test.js:1)\n";
    expect(read("retried")).toBe(first);
    expect(read("running")).toBe("its tests are over: it ends\n");

    expect((await again("failed", "report.json", "12")).stdout).toBe("failing.test.js\n");
    expect((await again("failed", "report.json", "0")).stdout).toBe("");

    write("failing.test.js", passing + failing.replace(/throw[^;]*;/, ""));
    expect((await runTests("again.json", "failing.test.js")).code).toBe(0);
    expect((await again("merge", "report.json", "again.json", "retried")).code).toBe(0);
    expect(read("retried").startsWith(`${first}failing.test.js: fails, alone\n    Error: always at `)).toBe(true);
    expect(JSON.parse(read("report.json"))).toMatchObject({ numFailedTests: 0, numPassedTests: 4 });
    expect((await again("failed", "report.json", "12")).stdout).toBe("");
  });

  it("leave failures that did not run again, and errors outside of tests", async () => {
    write("failing.test.js", failing);
    write(
      "passing.test.js",
      `${passing} setTimeout(() => { throw new Error("outside"); }); test("waits", () => new Promise((end) => setTimeout(end, 50)));`,
    );
    expect((await runTests("report.json")).code).toBe(1);
    expect(read("running")).toContain("an error outside of its tests: Error: outside");
    expect((await runTests("again.json", "passing.test.js")).code).toBe(1);
    expect((await again("merge", "report.json", "again.json", "retried")).code).toBe(1);
    expect(JSON.parse(read("report.json"))).toMatchObject({ numFailedTests: 1 });
  });
});
