import { spawn, spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { start } from "../../examples/secured/server.js";

let running: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  running = await start(0);
});
afterAll(() => running.stop());

async function call(scope?: string): Promise<Response> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (scope !== undefined) {
    const answer = await fetch(`${running.issuer}/token?name=alice&scope=${scope}`);
    headers.authorization = `Bearer ${((await answer.json()) as { access_token: string }).access_token}`;
  }
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "Whose?" }] };
  return fetch(`${running.url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
}

it("the secured example takes tokens of its own issuer, with the scope", async () => {
  const answer = await call("books.read");
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("The books of person:alice.");
});

it("it refuses callers without a token, or without the scope", async () => {
  const without = await call();
  expect(without.status).toBe(401);
  expect(without.headers.get("www-authenticate")).toBe(
    'Bearer realm="bearer", scope="books.read", ApiKey realm="nightly", in="header", name="X-Api-Key"',
  );
  const other = await call("books.write");
  expect(other.status).toBe(403);
  expect(await other.text()).toContain("The caller lacks the scope books.read.");
});

/** Requires curl and bash in CI. Minimal systems have no curl, and Windows has no bash. */
const hasShell = process.env.CI !== undefined || spawnSync("bash", ["-c", "curl --version"]).status === 0;

it.skipIf(!hasShell)("its calls answer as it says, pasted into a shell", async () => {
  const env = { ...process.env, PORT: "0" };
  const child = spawn(process.execPath, ["--import", "tsx", "examples/secured/main.ts"], { env });
  try {
    let printed = "";
    for await (const text of child.stdout) {
      printed += String(text);
      if (printed.includes("Ctrl-C")) break;
    }
    const commands = printed.split("\n").filter((line) => line.startsWith("  "));
    const { stdout } = spawnSync("bash", ["-c", commands.join("\n")], { encoding: "utf8" });
    expect(stdout).toContain("The books of person:alice.");
    expect(stdout).toContain("The books of nightly.");
  } finally {
    child.kill("SIGINT");
  }
});
