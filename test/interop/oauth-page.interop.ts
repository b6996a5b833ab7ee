import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openIdConnectScheme } from "../../src/auth/index.js";
import { type Agent, createServer as createParley, reply, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { AUDIENCE, OidcIssuer } from "./support/oidc-issuer.js";

// A page in Chromium whose user signs in. The page redirects to the issuer and back, and has another origin than the
// agent and the issuer.

const program = `
  import { connect } from "../../src/client/web.ts";
  import { authorizationCode, webStorage } from "../../src/client/oauth/index.ts";

  const { issuer, agent, resource } = globalThis.settings;
  const storage = webStorage(sessionStorage);
  const signIn = authorizationCode({
    clientId: "page", redirectUri: location.origin + "/", issuer, resource, storage, tokens: storage, allowLocalIssuer: true,
    scopes: ["openid", "offline_access"], authorizationParameters: { prompt: "consent" },
  });
  const say = (text) => { document.body.textContent = text; };
  try {
    if (await signIn.finish(location.href)) history.replaceState(null, "", "/");
    const client = await connect(agent, { credentials: signIn, bindings: ["HTTP+JSON"] });
    try {
      say((await client.send("Hello")).text);
    } catch (error) {
      if (error.metadata?.signIn !== "required") throw error;
      const page = await signIn.begin(client);
      if (location.hash === "#stay") say("sign in");
      else location.href = page;
    }
  } catch (error) {
    say("failed: " + error.message);
  }
`;

let browser: Browser;
let issuer: OidcIssuer;
let agent: Server;
let pages: HttpServer;
let origin = "";

beforeAll(async () => {
  browser = await launch();
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true,
    write: false,
    platform: "browser",
    format: "esm",
  });
  const script = outputFiles[0]?.text ?? "";
  pages = createServer((request, response) => {
    if (request.url === "/page.js") return response.setHeader("content-type", "text/javascript").end(script);
    const settings = JSON.stringify({
      issuer: issuer.url,
      agent: `http://127.0.0.1:${agent.port}`,
      resource: AUDIENCE,
    });
    response
      .setHeader("content-type", "text/html")
      .end(
        `<!doctype html><link rel="icon" href="data:," /><body>…<script>globalThis.settings = ${settings}</script><script type="module" src="/page.js"></script>`,
      );
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", () => resolve()));
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  issuer = await OidcIssuer.start([
    {
      client_id: "page",
      application_type: "native",
      redirect_uris: [`${origin}/`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
  ]);
  const named = { issuer: issuer.url, audience: AUDIENCE, owner: ({ sub }: Record<string, unknown>) => String(sub) };
  const it: Agent = {
    card: { name: "Greeter", description: "Says who calls.", version: "1.0.0" },
    responds: "message",
    security: { schemes: { it: openIdConnectScheme(named) }, require: [{ it: ["read"] }] },
    async *execute({ caller, text }) {
      yield reply(`${caller.owner} said ${text}`);
    },
  };
  agent = await createParley({ agent: it, store: memoryStore(), port: 0, grpcPort: false, cors: true });
});
afterAll(async () => {
  await closeWindows(browser);
  await agent?.close();
  await issuer?.stop();
  pages?.close();
  pages?.closeAllConnections();
});

it("comes back to a page that was left, and stays signed in when that is opened again", async () => {
  const page = await browser.newPage();
  const shown = (): Promise<string | null> => page.textContent("body").catch(() => null);
  await page.goto(origin);
  await expect.poll(shown, { timeout: 30_000 }).toBe("alice said Hello");
  expect(page.url()).toBe(`${origin}/`);
  const tokens = issuer.count("/token");
  expect(tokens).toBe(1);
  await page.reload();
  await expect.poll(shown, { timeout: 30_000 }).toBe("alice said Hello");
  expect(issuer.count("/token")).toBe(tokens);
});

it("is nothing that another tab is signed in by", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${origin}/#stay`);
  await expect.poll(() => page.textContent("body"), { timeout: 30_000 }).toBe("sign in");
});
