import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { customScheme } from "../../src/auth/index.js";
import { createServer, reply, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { ScriptedIssuer } from "../client/credentials/scripted-issuer.js";
import { build } from "../e2e/support/build.js";
import { blocksOf, root } from "./pages.js";

// The folder is inside the package, so that programs import it by name.
const folder = join(root, ".cache", "docs", "client-credentials");
const [machine, device, signIn] = blocksOf("docs/client-credentials.md").map(({ text }) => text);
let issuer: ScriptedIssuer;
let server: Server;
const running: ChildProcess[] = [];

beforeAll(async () => {
  build();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  issuer = await ScriptedIssuer.start();
  const { metadata } = issuer;
  const described = { ...metadata, device_authorization_endpoint: `${issuer.url}/device` };
  issuer.scripts.set("/.well-known/openid-configuration", () => ({ body: described }));
  issuer.scripts.set("/device", () => ({
    body: {
      device_code: "d",
      user_code: "WDJB-MJHT",
      verification_uri: "https://login.example/d",
      expires_in: 60,
      interval: 1,
    },
  }));
  const scheme = customScheme({
    card: { openIdConnectSecurityScheme: { openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` } },
    authenticate: (call) => (call.header("authorization")?.startsWith("Bearer token-") ? { owner: "it" } : undefined),
  });
  server = await createServer({
    agent: {
      card: { name: "Echo", description: "Says it again.", version: "1.0.0" },
      responds: "message",
      security: { schemes: { scheme } },
      async *execute(turn) {
        yield reply(`You said: ${turn.text}`);
      },
    },
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
  });
}, 120_000);
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await server?.close();
  issuer?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a block with the local addresses of issuer and agent. */
function run(name: string, text = "") {
  const local = text
    .replace('issuer: "https://login.example"', `issuer: "${issuer.url}", allowLocalIssuer: true`)
    .replaceAll("https://agent.example", `http://127.0.0.1:${server.port}`);
  writeFileSync(join(folder, name), local);
  const child = spawn(process.execPath, [name], { cwd: folder, env: { ...process.env, CLIENT_SECRET: "secret" } });
  running.push(child);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (printed += chunk));
  return { printed: () => printed, ended: once(child, "exit") };
}

describe("docs/client-credentials.md", () => {
  it("shows a client that acts for itself", async () => {
    const program = run("machine.mjs", machine);
    expect(await program.ended).toEqual([0, null]);
    expect(program.printed()).toBe("You said: Hello\n");
  }, 60_000);

  it("shows a command line whose user agrees on another device", async () => {
    const program = run("device.mjs", device);
    expect(await program.ended).toEqual([0, null]);
    expect(program.printed()).toBe("Open https://login.example/d and type WDJB-MJHT\nYou said: Hello\n");
  }, 60_000);

  it("shows a command line whose user signs in", async () => {
    const program = run("sign-in.mjs", signIn);
    await expect.poll(program.printed, { timeout: 30_000 }).toMatch(/^Open \S+\n/);
    const page = new URL(program.printed().slice(5).trim());
    const back = new URL(page.searchParams.get("redirect_uri") ?? "");
    expect((await fetch(new URL("/favicon.ico", back))).status).toBe(404);
    back.search = `?code=c&state=${page.searchParams.get("state")}`;
    expect(await (await fetch(back)).text()).toBe("You are signed in.");
    expect(await program.ended).toEqual([0, null]);
    expect(program.printed()).toMatch(/\nYou said: Hello\n$/);
  }, 60_000);
});
