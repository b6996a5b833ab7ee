import { createServer as createHttp, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toJson, toJsonString } from "@bufbuild/protobuf";
import { exportPKCS8, generateKeyPair } from "jose";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { apiKeyScheme, openIdConnectScheme } from "../../src/auth/index.js";
import { publicKeysOf, signCard } from "../../src/card/index.js";
import { connect } from "../../src/client/index.js";
import { type Agent, createServer, reply, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { AUDIENCE, OidcIssuer, PlainBrowser } from "./support/oidc-issuer.js";

const KEY = "a-key-of-somebody-to-hide";

let browser: Browser;
let opened: OpenedConsole;
let page: Page;
let issuer: OidcIssuer;
let secured: Server;
const cards = new Map<string, string>();
let pages: HttpServer;
let pagesUrl = "";

const urlOf = ({ port }: { readonly port: number }): string => `http://127.0.0.1:${port}`;
const agentPage = (url: string, tab?: string): string =>
  `agent?url=${encodeURIComponent(url)}${tab === undefined ? "" : `&tab=${tab}`}`;
const own = (): string => new URL(opened.url).origin;
const main = (): Promise<string | null> => page.locator("main").textContent();
const copied = (): Promise<string> => page.evaluate<string>("navigator.clipboard.readText()");

function securedAgent(issuerUrl: string): Agent {
  return {
    card: { name: "Secured", description: "Wants to know its callers.", version: "2.0.0" },
    security: {
      schemes: {
        key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ owner: "somebody", key: KEY }] }),
        people: openIdConnectScheme({
          issuer: issuerUrl,
          audience: AUDIENCE,
          owner: ({ sub }) => (typeof sub === "string" ? `person:${sub}` : undefined),
        }),
      },
      require: ["key", "people"],
    },
    async *execute() {
      yield reply("done");
    },
  };
}

beforeAll(async () => {
  browser = await launch();
  pages = createHttp((request, response) => {
    const path = request.url ?? "";
    if (path.startsWith("/moved/")) return response.writeHead(301, { location: path.slice("/moved".length) }).end();
    const text = cards.get(path);
    response.statusCode = text === undefined ? 404 : 200;
    response.setHeader("content-type", "application/json").end(text ?? "{}");
  });
  await new Promise<void>((resolve) => pages.listen(0, "0.0.0.0", () => resolve()));
  pagesUrl = urlOf(pages.address() as AddressInfo);
  opened = await openConsole(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
  issuer = await OidcIssuer.start([
    {
      client_id: "console",
      application_type: "native",
      redirect_uris: [`${opened.url}login/callback`],
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
  ]);
  secured = await createServer({ agent: securedAgent(issuer.url), store: memoryStore(), port: 0, grpcPort: false });
}, 180_000);

afterAll(async () => {
  await opened.close();
  await secured.close();
  await issuer.stop();
  await new Promise((resolve) => pages.close(resolve));
  await closeWindows(browser);
});

describe("the list of agents", () => {
  it("adds an agent by its URL, keeps it and forgets it", async () => {
    await opened.go("agents");
    await page.getByLabel("URL of an agent").fill(urlOf(secured));
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name: "Secured", level: 1 }).waitFor();
    await opened.go("agents");
    await page.getByRole("heading", { name: "Secured" }).waitFor();
    await page.getByLabel("Filter by name").fill("secur");
    await expect.poll(() => page.locator("main ul[aria-label=Agents] > li").count()).toBe(1);
    expect(page.url()).toContain("filter=secur");
    await page.getByRole("button", { name: "Forget Secured" }).click();
    await page.getByText("No agent matches").waitFor();
  });

  it("says why there is no agent, and adds it anyway", async () => {
    await opened.go("agents");
    await page.getByLabel("URL of an agent").fill(`${pagesUrl}/none`);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByText("No agent card was found at").waitFor();
    await page.getByLabel("URL of an agent").fill("javascript:alert(1)");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("is not an address of the web").waitFor();
    await page.getByLabel("URL of an agent").fill(`${pagesUrl}/none`);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Add it anyway" }).click();
    await page.getByText("No agent card was found at").waitFor();
    expect(page.url()).toContain("/agent?url=");
  });
});

describe("the page of an agent", () => {
  it("shows the card, and begins conversations with the examples of skills", async () => {
    await opened.go(agentPage(own()));
    await page.getByRole("link", { name: "echo hello" }).click();
    await expect.poll(() => page.url()).toMatch(/\/talk\?agent=.*text=echo(?:\+|%20)hello/);
  });

  it("asks each interface that a browser can call", async () => {
    await opened.go(agentPage(own(), "interfaces"));
    const rows = page.locator("main tbody tr");
    await expect.poll(() => rows.filter({ hasText: "Answers" }).count(), { timeout: 20_000 }).toBeGreaterThanOrEqual(8);
    for (const binding of ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB"])
      expect(await rows.filter({ hasText: binding }).first().textContent()).toContain("Answers");
    expect(
      await rows
        .filter({ hasText: /^GRPC\d/ })
        .first()
        .textContent(),
    ).toContain("cannot be called from a browser");
  });

  it("shows the faults of a card with their places", async () => {
    cards.set(
      "/broken/.well-known/agent-card.json",
      JSON.stringify({ name: "Broken", supportedInterfaces: [{ url: 7 }] }),
    );
    await opened.go(agentPage(`${pagesUrl}/broken`));
    await page.getByText("/supportedInterfaces/0/url").first().waitFor();
    expect(await main()).toContain('"Broken"');
  });

  it("finds a card that was moved", async () => {
    const { card } = await connect(own());
    cards.set("/new/.well-known/agent-card.json", toJsonString(AgentCardSchema, card));
    await opened.go(agentPage(`${pagesUrl}/moved/new`));
    await page.getByText(`${pagesUrl}/new/.well-known/agent-card.json`).first().waitFor();
  });

  it("verifies signatures with the keys of the card's own host, and asks before it takes others", async () => {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const { card } = await connect(own());
    const key = { key: await exportPKCS8(privateKey), kid: "signer" };
    cards.set("/keys", JSON.stringify(await publicKeysOf([key])));
    const elsewhere = `${pagesUrl.replace("127.0.0.1", "127.0.0.2")}/keys`;
    const signed = await signCard(card, [key], { jku: `${pagesUrl}/keys` });
    const foreign = await signCard(card, [key], { jku: elsewhere });
    cards.set("/signed/.well-known/agent-card.json", toJsonString(AgentCardSchema, signed));
    cards.set("/foreign/.well-known/agent-card.json", toJsonString(AgentCardSchema, foreign));
    const tampered = toJsonString(AgentCardSchema, { ...signed, name: "Other" });
    cards.set("/tampered/.well-known/agent-card.json", tampered);
    await opened.go(agentPage(`${pagesUrl}/signed`, "checks"));
    await page.getByText("Verified", { exact: true }).waitFor();
    expect(await main()).toContain("Signed with the key signer");
    await opened.go(agentPage(`${pagesUrl}/tampered`, "checks"));
    await page.getByText("Not verified").waitFor();
    await opened.go(agentPage(`${pagesUrl}/foreign`, "checks"));
    await page.getByText("Not verified").waitFor();
    await page.getByRole("button", { name: /^Use the keys at 127\.0\.0\.2/ }).click();
    await page.getByText("Verified", { exact: true }).waitFor();
  });

  it("runs the checks of doctor, and copies a report", async () => {
    await opened.go(agentPage(own(), "checks"));
    await page.getByRole("button", { name: "Check the interfaces" }).click();
    await page.getByRole("button", { name: "Copy the report" }).click({ timeout: 60_000 });
    const report = await copied();
    expect(report).toContain("JSONRPC 1.0");
    expect(report).toContain("GRPC-WEB 1.0");
    expect(report).toContain("- Sound: unknown-task");
    expect(report).not.toContain("- Fault:");
  });

  it("sends a message over all interfaces, and finds the answers alike", async () => {
    await opened.go(agentPage(own(), "bindings"));
    await page.getByLabel("Message").fill("stream 3 32");
    await page.getByRole("button", { name: "Send over all" }).click();
    await page.getByText("All answers are the same").waitFor({ timeout: 60_000 });
    expect(await page.locator("main tbody tr").count()).toBeGreaterThanOrEqual(8);
    expect(page.url()).toContain("text=stream");
  });

  it("shows the events and messages of each binding, and copies them as grpcurl", async () => {
    await page.getByRole("link", { name: "Exchanges" }).click();
    for (const [wire, part] of [
      ["JSON-RPC", "Event 2"],
      ["HTTP+JSON", "Event 2"],
      ["Connect", "Message 2"],
      ["gRPC-Web", "Message 2"],
    ] as const) {
      const streams = page.locator("li button").filter({ hasText: "SendStreamingMessage" });
      await streams.filter({ hasText: wire }).first().click();
      await page.getByText(part).waitFor();
      await page.getByText("artifactUpdate").first().waitFor();
    }
    await page.getByRole("button", { name: "Copy as grpcurl" }).click();
    expect(await copied()).toMatch(
      /^grpcurl -plaintext[\s\S]*"stream 3 32"[\s\S]*lf\.a2a\.v1\.A2AService\/SendStreamingMessage$/,
    );
  });
});

describe("the login at an agent", () => {
  it("keeps an API key in the tab, hides it everywhere, and forgets it", async () => {
    await opened.go(agentPage(urlOf(secured), "login"));
    const scheme = page.getByRole("region", { name: "key", exact: true });
    await scheme.getByLabel("API key").fill(KEY);
    await scheme.getByRole("button", { name: "Keep" }).click();
    await page.reload();
    await scheme.getByText("••••••").waitFor();
    await page.getByRole("button", { name: "Ask the agent" }).click();
    await page.getByText("The agent takes the login.", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Exchanges" }).click();
    await page.locator("li button", { hasText: "GetTask" }).first().click();
    await page.getByText("headers").first().click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    expect(await copied()).toContain(`-H 'x-key: '"$X_KEY"`);
    expect(await page.content()).not.toContain(KEY);
    await page.getByRole("button", { name: "Show secrets" }).click();
    await page.getByText(KEY).waitFor();
    await page.getByRole("link", { name: "Login" }).click();
    await page.getByRole("button", { name: "Forget the login" }).click();
    await page.getByRole("button", { name: "Ask the agent" }).click();
    await page.getByText("The agent does not take the login").waitFor();
    expect(
      await page.evaluate("JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage })"),
    ).not.toContain(KEY);
    // Earlier exchanges still contain it, masked.
    await page.getByRole("link", { name: "Exchanges" }).click();
    await page.locator("li button", { hasText: "GetTask" }).last().click();
    await page.getByText("headers").first().click();
    await page.getByText("x-key").first().waitFor();
    expect(await page.content()).not.toContain(KEY);
  });

  it("signs in at the issuer's page and comes back", async () => {
    await opened.go(agentPage(urlOf(secured), "login"));
    await fillClient("Sign in at the issuer's page");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Signed in", { exact: true }).waitFor({ timeout: 30_000 });
    expect(page.url()).not.toContain("code=");
    await page.getByRole("button", { name: "Ask the agent" }).click();
    await page.getByText("The agent takes the login.", { exact: true }).waitFor();
    expect(await main()).toContain("alice");
    await page.getByRole("button", { name: "Forget the login" }).click();
  });

  it("shows a code to confirm on another device", async () => {
    await opened.go(agentPage(urlOf(secured), "login"));
    await fillClient("Confirm on another device");
    await page.getByRole("button", { name: "Get a code" }).click();
    const code = await page.getByRole("button", { name: /^Copy [A-Z]{4}-[A-Z]{4}$/ }).textContent();
    const other = new PlainBrowser();
    const confirm = await other.submit(await other.open(`${issuer.url}/device`), {
      user_code: code?.slice(0, 9) ?? "",
    });
    await other.submit(confirm, { confirm: "yes" });
    await page.getByText("Signed in", { exact: true }).waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Ask the agent" }).click();
    await page.getByText("The agent takes the login.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Forget the login" }).click();
  });

  it("says why a sign-in failed", async () => {
    issuer.user = "refuses";
    await opened.go(agentPage(urlOf(secured), "login"));
    await fillClient("Sign in at the issuer's page");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "The sign-in failed" }).waitFor({ timeout: 30_000 });
    expect(page.url()).not.toContain("state=");
    issuer.user = "agrees";
  });

  async function fillClient(way: string): Promise<void> {
    const scheme = page.getByRole("region", { name: "people" });
    await scheme.getByLabel("Way to log in").selectOption({ label: way });
    await scheme.getByLabel("Client id").fill("console");
    await scheme.getByLabel("Resource").fill(AUDIENCE);
    await scheme.getByLabel("Further scopes").fill("openid offline_access");
    await scheme.getByRole("button", { name: "Keep" }).click();
  }
});

describe("hostile cards", () => {
  it("run nothing, and lead nowhere but to the web", async () => {
    const script = "<img src=x onerror=alert(1)><script>alert(1)</script>";
    const { card } = await connect(own());
    const json = toJson(AgentCardSchema, card) as Record<string, unknown>;
    const hostile = {
      ...json,
      name: script,
      description: script.repeat(2_000),
      documentationUrl: "javascript:alert(1)",
      iconUrl: "http://elsewhere.example/icon.svg",
      provider: { organization: script, url: "javascript:alert(1)" },
      skills: Array.from({ length: 3_000 }, (_, at) => ({
        ...{ id: `${at}`, name: script, description: script, tags: [script], examples: [script] },
      })),
    };
    cards.set("/hostile/.well-known/agent-card.json", JSON.stringify(hostile));
    let isAlerted = false;
    page.on("dialog", (dialog) => {
      isAlerted = true;
      void dialog.dismiss();
    });
    await opened.go(agentPage(`${pagesUrl}/hostile`));
    await page.getByRole("heading", { name: script, level: 1 }).waitFor();
    expect(await page.locator("main a[href^=javascript]").count()).toBe(0);
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.locator("main li").count()).toBeLessThan(200);
    expect(isAlerted).toBe(false);
    expect(opened.foreign.filter((url) => !url.startsWith(issuer.url))).toEqual([]);
  });
});

describe("every tab", () => {
  const tabs = ["card", "interfaces", "login", "checks", "bindings", "exchanges", "json"];

  it("is accessible and never scrolls sideways, light at 1280 px and dark at 360 px", async () => {
    const looks = [["light", 1280] as const, ["dark", 360] as const];
    for (const [index, path] of ["agents", ...tabs.map((tab) => agentPage(urlOf(secured), tab))].entries()) {
      // Pages are loaded in both looks.
      for (const [at, [colorScheme, width]] of (index % 2 === 0 ? looks : looks.toReversed()).entries()) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        if (at === 0) await opened.go(path);
        await page.waitForLoadState("networkidle");
        const where = `${path} ${width}`;
        expect(await axeFindings(page), where).toEqual([]);
        expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), where).toBe(false);
      }
    }
  });
});
