import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { freePort } from "../support/free-port.js";
import { blocksOf, root } from "./pages.js";

// The folder is inside the package, so that programs import it by name.
const folder = join(root, ".cache", "docs", "card-signing");
const [keys, server, files, verify] = blocksOf("docs/card-signing.md").map(({ text }) => text);
let port = 0;
let running: ChildProcess | undefined;

beforeAll(async () => {
  build();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  port = await freePort();
}, 120_000);
afterAll(() => {
  running?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

it("the commands and programs of docs/card-signing.md do what the page says", { timeout: 60_000 }, async () => {
  expect(shell(keys)).toMatchObject({ status: 0 });
  program("server.js", server);
  running = spawn(process.execPath, ["server.js"], { cwd: folder, stdio: "inherit" });
  const url = `http://localhost:${port}/.well-known/agent-card.json`;
  await expect.poll(() => fetch(url).then(({ status }) => status, String), { timeout: 30_000 }).toBe(200);
  const own = await fetch(url, { headers: { "a2a-version": "1.0" } });
  const { signatures: _, ...card } = (await own.json()) as { signatures: unknown };
  writeFileSync(join(folder, "card.json"), JSON.stringify(card));

  const { status, stdout, stderr } = shell(files);
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout.match(/^signature 1: valid, EdDSA by the key "2026-11" from --(key|jwks)$/gm)).toHaveLength(2);

  program("verify.js", verify);
  const verified = spawnSync(process.execPath, ["verify.js"], { cwd: folder, encoding: "utf8" });
  expect(verified.stderr).toBe("");
  expect(verified.stdout).toMatch(/^true Echo \[/);
});

const here = (text = ""): string => text.replaceAll("8080", String(port));

function program(name: string, text: string | undefined): void {
  writeFileSync(join(folder, name), here(text));
}

/** Runs commands in a shell, with the command line of this checkout. */
function shell(commands: string | undefined) {
  const npx = `set -e\nnpx() { shift; "${process.execPath}" "${join(root, "dist/src/cli/main.js")}" "$@"; }\n`;
  return spawnSync("sh", ["-c", npx + here(commands)], { cwd: folder, encoding: "utf8" });
}
