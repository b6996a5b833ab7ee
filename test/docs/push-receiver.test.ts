import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushSecretOf } from "../../src/push-receiver/index.js";
import { build } from "../e2e/support/build.js";
import { freePort } from "../support/free-port.js";
import { blocksOf, pageText, root } from "./pages.js";

// The folder is inside the package, so that programs import it by name.
const folder = join(root, ".cache", "docs", "push-receiver");
const [keys, server, webhook, send, , anywhere] = blocksOf("docs/push-receiver.md").map(({ text }) => text);
const [, secret] = blocksOf("docs/push-signing.md").map(({ text }) => text);
const ports = new Map<string, number>();

beforeAll(async () => {
  build();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const port of ["8080", "8090"]) ports.set(port, await freePort());
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const here = (text = ""): string => text.replace(/\b80[89]0\b/g, (port) => String(ports.get(port)));
const program = (name: string, text: string | undefined): void => writeFileSync(join(folder, name), here(text));

/** Requires curl, openssl and a shell in CI. Minimal systems have no curl or openssl, and Windows has no shell. */
const hasShell =
  process.env.CI !== undefined || spawnSync("sh", ["-c", "curl --version && openssl version"]).status === 0;

describe.skipIf(!hasShell)("docs/push-receiver.md", () => {
  it("shows a server and a webhook that work together", { timeout: 120_000 }, async () => {
    expect(spawnSync("sh", ["-ec", here(keys)], { cwd: folder, encoding: "utf8" })).toMatchObject({ status: 0 });
    program("server.js", server);
    program("webhook.js", webhook);
    const shell = spawn("sh", ["-c", `${here(send)}\nwait`], { cwd: folder, detached: true });
    try {
      const printed = outputOf(shell);
      const said = [...(/prints\s`([^`]+)`\sand\s`([^`]+)`/.exec(pageText("docs/push-receiver.md")) ?? [])].slice(1);
      expect(said).toHaveLength(2);
      await expect.poll(printed, { timeout: 60_000 }).toContain(`${said.join("\n")}\n`);
    } finally {
      process.kill(-(shell.pid as number), "SIGKILL");
    }
  });

  it("shows how a secret is derived", async () => {
    program("secret.js", secret);
    const { stdout, stderr } = spawnSync(process.execPath, ["secret.js"], { cwd: folder, encoding: "utf8" });
    const own = readFileSync(join(folder, "push.secret"), "utf8").trim();
    expect([stderr, stdout]).toEqual(["", `${await pushSecretOf(own, "a token that nobody guesses")}\n`]);
  });

  it("shows a webhook for other runtimes", async () => {
    program("fetch.mjs", anywhere);
    const { default: served } = await import(pathToFileURL(join(folder, "fetch.mjs")).href);
    const answer: Response = await served.fetch(new Request("https://hooks.example/a2a"));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

/** Collects both outputs of a shell. */
function outputOf(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (text += String(chunk)));
  return () => text;
}
