import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import probe from "../../examples/probe/agent.js";
import { customScheme, httpBearerScheme } from "../../src/auth/index.js";
import { flows } from "../../src/cli/a2a/auth/store.js";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { ScriptedIssuer } from "../client/credentials/scripted-issuer.js";
import { build } from "../e2e/support/build.js";
import { blocksOf, pageText, root } from "./pages.js";
import { follow } from "./shell.js";

const PAGE = "docs/cli-credentials.md";
const commands = blocksOf(PAGE).flatMap((block) => block.commands);

build();

let issuer: ScriptedIssuer;
let server: Server;
let cwd = "";
beforeAll(async () => {
  issuer = await ScriptedIssuer.start();
  issuer.scripts.set("/device", () => ({
    body: {
      device_code: "d",
      user_code: "WDJB-MJHT",
      verification_uri: "https://login.example/device",
      expires_in: 600,
      interval: 1,
    },
  }));
  const deviceCode = { tokenUrl: `${issuer.url}/token`, deviceAuthorizationUrl: `${issuer.url}/device`, scopes: {} };
  const login = customScheme({
    card: { oauth2SecurityScheme: { flows: { deviceCode } } },
    authenticate: (call) => (call.header("authorization")?.startsWith("Bearer token-") ? { owner: "it" } : undefined),
  });
  const token = httpBearerScheme({ check: () => undefined });
  server = await createServer({
    agent: { ...probe, security: { schemes: { login, token }, require: ["login", "token"] } },
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
  });
  cwd = mkdtempSync(join(tmpdir(), "parley-cli-page-"));
  writeFileSync(join(cwd, "token.txt"), "a-token\n");
}, 120_000);
afterAll(async () => {
  await server?.close();
  issuer?.close();
  rmSync(cwd, { recursive: true, force: true });
});

describe(PAGE, { timeout: 120_000 }, () => {
  it("shows what its commands print", async () => {
    expect(commands.length).toBeGreaterThan(4);
    const ports = { 8080: String(server.port) };
    for (const { command, prints, ...rest } of commands) {
      const typed = command.replaceAll("npx parley", `node ${join(root, "dist/src/cli/main.js")}`);
      const printed = prints.replaceAll("localhost:8080", `localhost:${ports[8080]}`);
      await follow(
        { ...rest, command: typed, prints: printed },
        { cwd, ports, env: { HOME: cwd, XDG_CONFIG_HOME: "" } },
      );
    }
  });

  it("names every way to log in", () => {
    const rows = [...pageText(PAGE).matchAll(/^\| (`.+?`) +\|/gm)].flatMap(([, cell = ""]) =>
      cell.match(/[a-z-]{4,}/g),
    );
    expect(rows.filter((name) => flows.includes(name as never)).toSorted()).toEqual([...flows].toSorted());
  });
});
