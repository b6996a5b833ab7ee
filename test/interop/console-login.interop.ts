import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  httpBasicScheme,
  httpBearerScheme,
  mutualTlsScheme,
  oauth2Scheme,
  type SecurityScheme,
} from "../../src/auth/index.js";
import { type Agent, artifact, completed, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { PATIENCE, say, talkTo } from "./console/talk.js";
import { AUDIENCE, OidcIssuer } from "./support/oidc-issuer.js";

/** Secrets that appear nowhere else. */
const secrets = {
  password: "open: sesame+%/81",
  token: "a-token-4711-of-the-bearer",
  client: "secret-4712-of-the-program",
} as const;

let browser: Browser;
let opened: OpenedConsole;
let page: Page;
let issuer: OidcIssuer;
let agents: Server;

function agentOf(name: string, it: SecurityScheme, scopes: readonly string[] = []): Agent {
  return {
    card: { name, description: "Wants to know its callers.", version: "1.0.0" },
    extendedCard: (caller) => ({
      name,
      description: `For ${caller.owner} alone.`,
      version: "1.0.0",
      skills: [{ id: "hidden", name: "Hidden skill", description: "Of known callers.", tags: ["hidden"] }],
    }),
    security: { schemes: { it }, require: [scopes.length === 0 ? "it" : { it: [...scopes] }] },
    async *execute({ caller }) {
      yield artifact({ name: "caller", text: `You are ${caller.owner}.` });
      yield completed();
    },
  };
}

beforeAll(async () => {
  browser = await launch();
  const machine = { redirect_uris: [], response_types: [], grant_types: ["client_credentials"] };
  issuer = await OidcIssuer.start([{ ...machine, client_id: "program", client_secret: secrets.client }]);
  const { url } = issuer;
  const flows = { clientCredentials: { tokenUrl: `${url}/token`, scopes: { read: "Read." } } };
  const owner = ({ client_id: id }: Readonly<Record<string, unknown>>) => `client ${id}`;
  const options = { store: memoryStore(), port: 0, grpcPort: 0 } as const;
  agents = await createServer({
    ...options,
    agents: {
      basic: agentOf("Basic", httpBasicScheme({ users: [{ name: "ann", password: secrets.password }] })),
      bearer: agentOf("Bearer", httpBearerScheme({ tokens: [{ owner: "bob", token: secrets.token }] })),
      program: agentOf("Program", oauth2Scheme({ issuer: url, audience: AUDIENCE, owner, flows }), ["read"]),
      certified: agentOf("Certified", mutualTlsScheme()),
    },
  });
  opened = await openConsole(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
}, 180_000);

afterAll(async () => {
  await opened?.close();
  await agents?.close();
  await issuer?.stop();
  await closeWindows(browser);
});

const urlOf = (name: string): string => `${agents.url}/${name}`;
const open = (name: string, tab: string): Promise<void> =>
  opened.go(`agent?url=${encodeURIComponent(urlOf(name))}&tab=${tab}`);
const copied = (): Promise<string> => page.evaluate<string>("navigator.clipboard.readText()");

/** Fills in the form of the scheme. Replaces a stored login. */
async function keep(name: string, fields: Readonly<Record<string, string>>): Promise<void> {
  await open(name, "login");
  const scheme = page.getByRole("region", { name: "it", exact: true });
  await scheme
    .getByRole("button", { name: /^(?:Change|Keep)$/ })
    .first()
    .waitFor(PATIENCE);
  const change = scheme.getByRole("button", { name: "Change" });
  if ((await change.count()) > 0) await change.click();
  for (const [label, value] of Object.entries(fields)) await scheme.getByLabel(label).fill(value);
  await scheme.getByRole("button", { name: "Keep" }).click();
}

async function ask(): Promise<string> {
  await page.getByRole("button", { name: "Ask the agent" }).click();
  const status = page.getByRole("status").filter({ hasText: "The agent" });
  await status.waitFor(PATIENCE);
  return (await status.textContent()) ?? "";
}

/** Opens the last exchange over a wire, and copies it. */
async function exchangeOf(name: string, action: "curl" | "grpcurl"): Promise<string> {
  await page.getByRole("link", { name: "Exchanges" }).click();
  await page.locator("li button", { hasText: name }).first().click();
  await page.getByText("headers").first().click();
  await page.getByRole("button", { name: `Copy as ${action}`, exact: true }).click();
  return copied();
}

const basic = Buffer.from(`ann:${secrets.password}`).toString("base64");

const ways = [
  {
    name: "basic",
    right: { "User name": "ann", Password: secrets.password },
    wrong: { "User name": "ann", Password: "wrong-1-of-ann" },
    refusal: "Name or password is not accepted.",
    header: `-H 'authorization: Basic '"$BASIC"`,
    caller: "ann",
    sent: [secrets.password, basic],
    shown: basic,
  },
  {
    name: "bearer",
    right: { Token: secrets.token },
    wrong: { Token: "wrong-2-of-bob" },
    refusal: "The token is not accepted.",
    header: `-H 'authorization: Bearer '"$TOKEN"`,
    caller: "bob",
    sent: [secrets.token],
    shown: secrets.token,
  },
  {
    name: "program",
    right: { "Client id": "program", "Client secret": secrets.client, Resource: AUDIENCE },
    wrong: { "Client id": "program", "Client secret": "wrong-3-of-program", Resource: AUDIENCE },
    refusal: "The issuer of tokens refused the client: invalid_client.",
    header: `-H 'authorization: Bearer '"$TOKEN"`,
    caller: "client program",
    // "eyJ" is the start of each JWT.
    sent: [secrets.client, "eyJ"],
    shown: "eyJ",
  },
];

describe.each(ways)("the login of $name", ({ name, right, wrong, refusal, header, caller, sent, shown }) => {
  it("says before it that the extended card and messages need it", async () => {
    await open(name, "card");
    await page.getByText("The agent has another card for callers that it knows.").waitFor(PATIENCE);
    expect(await page.getByRole("button", { name: "Load the extended card" }).count()).toBe(0);
    await page.getByRole("link", { name: "Log in to load it." }).click();
    await page.getByRole("button", { name: "Ask the agent" }).waitFor(PATIENCE);
    await talkTo(opened, urlOf(name));
    await say(page, "hello");
    await page.getByText("Valid credentials are required.").waitFor(PATIENCE);
    await page.getByRole("link", { name: "Log in at the agent" }).click();
    await page.getByRole("region", { name: "it", exact: true }).waitFor(PATIENCE);
  });

  it("says what to do about a wrong secret, without showing it", async () => {
    await keep(name, wrong);
    const answer = await ask();
    expect(answer).toContain(refusal);
    expect(answer).toContain("Change what is kept here");
    expect(await axeFindings(page)).toEqual([]);
    const texts = [await page.content()];
    await page.getByRole("link", { name: "Exchanges" }).click();
    texts.push(await page.content());
    for (const text of texts) expect(text).not.toContain("wrong-");
  });

  it("is taken with the right one, which exchanges and commands hide", async () => {
    await keep(name, right);
    expect(await ask()).toContain("The agent takes the login.");
    const commands = [await exchangeOf("GetTask", "curl"), await exchangeOf("GetTask", "grpcurl")];
    for (const command of commands) expect(command).toContain(header);
    const text = (await page.content()) + commands.join();
    for (const secret of sent) expect(text).not.toContain(secret);
    await page.getByRole("button", { name: "Show secrets" }).click();
    await expect.poll(() => page.content(), PATIENCE).toContain(shown);
  });

  it("shows the extended card, and calls as this caller", async () => {
    await open(name, "card");
    expect(await page.getByText("Hidden skill").count()).toBe(0);
    await page.getByRole("button", { name: "Load the extended card" }).click();
    await page.getByText("Hidden skill").waitFor(PATIENCE);
    await page.getByText(`For ${caller} alone.`).waitFor(PATIENCE);
    await page.getByRole("button", { name: "Show the public card" }).click();
    expect(await page.getByText("Hidden skill").count()).toBe(0);
    await talkTo(opened, urlOf(name));
    await say(page, "hello");
    await page.getByText(`You are ${caller}.`).waitFor(PATIENCE);
  });
});

describe("logins at several agents", () => {
  it("are kept and sent apart", async () => {
    await open("bearer", "login");
    expect(await ask()).toContain("The agent takes the login.");
    await page.getByRole("button", { name: "Forget the login" }).click();
    // The result of the previous login has disappeared.
    expect(await page.getByRole("status").filter({ hasText: "The agent" }).count()).toBe(0);
    expect(await ask()).toContain("The agent does not take the login: Valid credentials are required.");
    await open("basic", "login");
    expect(await ask()).toContain("The agent takes the login.");
  });

  it("need parley in a terminal for client certificates", async () => {
    await open("certified", "login");
    await page.getByText("A client certificate: a page cannot choose one.").waitFor(PATIENCE);
    expect(await page.getByRole("region", { name: "it", exact: true }).locator("input").count()).toBe(0);
    expect(await ask()).toContain("Valid credentials are required.");
  });
});
