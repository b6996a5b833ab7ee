import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { httpBearerScheme, type OAuth2SchemeOptions, oauth2Scheme, openIdConnectScheme } from "../../src/auth/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { main, type Run, workplaces } from "../cli/cli.js";
import { obedient } from "../conformance/agents.js";
import { build } from "../e2e/support/build.js";
import { setConstantsOfFile } from "../support/constants.js";
import { AUDIENCE, OidcIssuer, PlainBrowser, type RegisteredClient } from "./support/oidc-issuer.js";

// The built command line as a separate process, an independent issuer, and agents that verify its tokens.

const secret = "s3cret: of/the+client%";
const person = ["authorization_code", "refresh_token"];
const registered: readonly RegisteredClient[] = [
  {
    client_id: "reports",
    client_secret: secret,
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_basic",
  },
  {
    client_id: "television",
    application_type: "native",
    redirect_uris: [],
    response_types: [],
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  },
  {
    client_id: "cli",
    application_type: "native",
    redirect_uris: ["http://127.0.0.1/callback"],
    response_types: ["code"],
    grant_types: person,
    token_endpoint_auth_method: "none",
  },
];

build();
const place = workplaces();
let issuer: OidcIssuer;
let server: Server;
let config = "";
const file = () => join(config, "a2a-cli", "credentials.json");
const cardOf = (agent: string) => `http://127.0.0.1:${server.port}/${agent}/.well-known/agent-card.json`;

beforeAll(async () => {
  issuer = await OidcIssuer.start(registered);
  const at = issuer.url;
  const named = { issuer: at, audience: AUDIENCE, clockTolerance: 0 };
  const scopes = { read: "Read." };
  const flows: Record<string, OAuth2SchemeOptions["flows"]> = {
    machine: { clientCredentials: { tokenUrl: `${at}/token`, scopes } },
    device: { deviceCode: { tokenUrl: `${at}/token`, deviceAuthorizationUrl: `${at}/device/auth`, scopes } },
    code: { authorizationCode: { tokenUrl: `${at}/token`, authorizationUrl: `${at}/auth`, scopes } },
  };
  const schemes = {
    ...Object.fromEntries(Object.entries(flows).map(([name, each]) => [name, oauth2Scheme({ ...named, flows: each })])),
    oidc: openIdConnectScheme(named),
  };
  const typed = httpBearerScheme({ check: (token) => (token === "t0ken-of-a-person" ? { owner: "p" } : undefined) });
  setConstantsOfFile(issuerBounds, { cooldownMs: 1 });
  server = await createServer({
    agents: {
      ...Object.fromEntries(
        Object.entries(schemes).map(([name, it]) => [
          name,
          { ...obedient("secured"), security: { schemes: { [name]: it }, require: [{ [name]: ["read"] }] } },
        ]),
      ),
      typed: { ...obedient("typed"), security: { schemes: { typed } } },
    },
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 0, credentialMemoryMs: 1, maxFailedAttempts: 1_000_000 },
  } as never);
}, 120_000);
afterAll(async () => {
  await server?.close();
  await issuer?.stop();
});
beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), "parley-logins-"));
  issuer.user = "agrees";
  issuer.tokenSeconds = 600;
});
afterEach(() => rmSync(config, { recursive: true, force: true }));

/** Runs the built command line. */
const start = (args: readonly string[], env: Record<string, string> = {}): Run =>
  place.run([...args], { XDG_CONFIG_HOME: config, HOME: config, ...env });

async function done(run: Run): Promise<{ exit: unknown; out: string; err: string }> {
  return { exit: await run.exited, out: run.stdout(), err: run.stderr() };
}

const login = (agent: string, clientId: string, ...more: string[]) => [
  ...["auth", "login", "-a", cardOf(agent), "--client-id", clientId, "--resource", AUDIENCE, ...more],
];

async function send(agent: string, transport: string) {
  return done(start(["send", "turn", "-a", cardOf(agent), "--transport", transport]));
}

const transports = ["jsonrpc", "rest", "grpc"];

/** Waits until the command prints a page. Returns the match. */
async function pageOf(run: Run, pattern: RegExp): Promise<RegExpExecArray> {
  let found: RegExpExecArray | null = null;
  await expect
    .poll(
      () => {
        found = pattern.exec(run.stderr());
        return found !== null || run.child.exitCode !== null;
      },
      { timeout: 30_000 },
    )
    .toBe(true);
  expect(found, run.stderr() + run.stdout()).not.toBeNull();
  return found as unknown as RegExpExecArray;
}

/** Confirms a device code. */
async function agree(run: Run): Promise<void> {
  const [, page = "", code = ""] = await pageOf(run, /^Open (\S+) and enter the code (\S+)$/m);
  const browser = new PlainBrowser();
  const confirm = await browser.submit(await browser.open(page), { user_code: code });
  await browser.submit(confirm, { confirm: "yes" });
}

/** Searches everything that a test left behind for a secret, except for the file of logins. */
function expectNowhere(secrets: readonly string[], ...texts: readonly string[]): void {
  for (const each of secrets) {
    for (const text of texts) expect(text).not.toContain(each);
    for (const name of readdirSync(config, { recursive: true, encoding: "utf8" })) {
      const path = join(config, name);
      if (path !== file() && statSync(path).isFile()) expect(readFileSync(path, "utf8")).not.toContain(each);
    }
  }
}

/** Returns the secrets in the file of logins. */
function secretsIn(): string[] {
  const { logins } = JSON.parse(readFileSync(file(), "utf8"));
  return Object.values(logins as Record<string, { tokens?: Record<string, string> }>).flatMap(({ tokens = {} }) =>
    Object.values(tokens).flatMap((text) => {
      const { accessToken, refreshToken } = JSON.parse(text);
      return [accessToken, refreshToken].filter((each) => each !== undefined);
    }),
  );
}

describe("A2ACLI_AUTH_006 auth login by client credentials", { timeout: 120_000 }, () => {
  it.each(["machine", "oidc"])("lets calls of the agent %s in over every binding", async (agent) => {
    const env = { A2ACLI_CLIENT_SECRET: secret };
    const made = await done(start([...login(agent, "reports"), "--debug", "--verbose"], env));
    expect(made.exit, made.err).toBe(0);
    const before = issuer.count("/token");
    for (const transport of transports) {
      const sent = await done(
        start(["send", "turn", "-a", cardOf(agent), "--transport", transport, "--debug", "--verbose"]),
      );
      expect(sent.exit, sent.err).toBe(0);
      expectNowhere([...secretsIn(), secret], sent.out, sent.err, made.out, made.err);
    }
    expect(issuer.count("/token")).toBe(before);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it("renews the token after it has expired, in two processes at a time", async () => {
    issuer.tokenSeconds = 1;
    const made = await done(start(login("machine", "reports"), { A2ACLI_CLIENT_SECRET: secret }));
    expect(made.exit, made.err).toBe(0);
    const [old] = secretsIn();
    issuer.tokenSeconds = 600;
    await expect.poll(() => statusOf()).toMatchObject([{ state: "renewed when needed" }]);
    const both = await Promise.all(["rest", "grpc"].map((transport) => send("machine", transport)));
    expect(both.map(({ exit }) => exit)).toEqual([0, 0]);
    expect(secretsIn()).not.toContain(old);
  });

  it("is refused with the wrong secret", async () => {
    const { exit, out, err } = await done(
      start([...login("machine", "reports"), "-o", "json", "--debug"], { A2ACLI_CLIENT_SECRET: "wr0ng-secret" }),
    );
    expect(exit).toBe(4);
    expect(JSON.parse(out).error).toMatchObject({
      code: "A2ACLI_ERR_AUTH_FAILED",
      message: expect.stringContaining("invalid_client"),
    });
    expect(out + err).not.toContain("wr0ng");
    expect(existsSync(file())).toBe(false);
  });
});

function statusOf() {
  const { stdout } = spawnSync(process.execPath, [main, "auth", "status", "-o", "json"], {
    env: { PATH: process.env.PATH ?? "", HOME: config, XDG_CONFIG_HOME: config },
    encoding: "utf8",
  });
  return JSON.parse(stdout);
}

describe("A2ACLI_AUTH_005 auth login by device", { timeout: 120_000 }, () => {
  const device = (...more: string[]) =>
    login("device", "television", "--flow", "device", "--scope", "openid offline_access", ...more);

  it("waits for the user, and refreshes with refresh tokens that change, in processes at a time", async () => {
    // Longer than a command on a busy machine needs between its token and its call.
    issuer.tokenSeconds = 4;
    const run = start(device("--debug"));
    await agree(run);
    const made = await done(run);
    expect(made.exit, made.err).toBe(0);
    const seen = new Set<string>(secretsIn());
    expect(seen.size).toBe(2);
    for (let round = 0; round < 2; round++) {
      await expect.poll(() => statusOf()[0].state, { timeout: 10_000 }).toBe("renewed when needed");
      const all = await Promise.all(transports.map((transport) => send("device", transport)));
      expect(all.map(({ exit, err }) => (exit === 0 ? 0 : err))).toEqual([0, 0, 0]);
      for (const each of secretsIn()) seen.add(each);
    }
    expect(seen.size).toBeGreaterThanOrEqual(6);
    expectNowhere([...seen], made.out, made.err);
  });

  it("fails with 4 if the user refuses", async () => {
    issuer.user = "refuses";
    const run = start(device("-o", "json"));
    await agree(run);
    const { exit, out } = await done(run);
    expect(exit).toBe(4);
    expect(JSON.parse(out).error.message).toContain("access_denied");
    expect(existsSync(file())).toBe(false);
  });

  it("ends at Ctrl-C with 130, and stores nothing", async () => {
    const run = start(device());
    await pageOf(run, /^Open /m);
    run.child.kill("SIGINT");
    expect(await run.exited).toBe(130);
    expect(existsSync(file())).toBe(false);
  });
});

describe("A2ACLI_AUTH_005 auth login by a browser", { timeout: 120_000 }, () => {
  const code = (agent: string, ...more: string[]) =>
    login(agent, "cli", "--flow", "code", "--scope", "openid offline_access", ...more);

  it.each(["code", "oidc"])("lets the user of the agent %s in over every binding", async (agent) => {
    const run = start(code(agent));
    const [, page = ""] = await pageOf(run, /^(http\S+code_challenge\S+)$/m);
    const { html } = await new PlainBrowser().open(page);
    expect(html).toContain("You are logged in.");
    const made = await done(run);
    expect(made.exit, made.err).toBe(0);
    for (const transport of transports) {
      const sent = await send(agent, transport);
      expect(sent.exit, sent.err).toBe(0);
    }
    expectNowhere(secretsIn(), made.out, made.err);
  });

  it.skipIf(process.platform !== "linux")("opens the page in a browser that sees no secret", async () => {
    const [tools, seen] = [join(config, "bin"), join(config, "seen")];
    mkdirSync(tools);
    writeFileSync(join(tools, "xdg-open"), `#!/bin/sh\n{ echo "$1"; env; } > ${seen}.new\nmv ${seen}.new ${seen}\n`, {
      mode: 0o755,
    });
    const run = start(code("code", "--open"), {
      PATH: `${tools}:${process.env.PATH}`,
      A2ACLI_API_KEY: "s3cret-key-of-another",
    });
    await expect.poll(() => existsSync(seen), { timeout: 30_000 }).toBe(true);
    const said = readFileSync(seen, "utf8");
    expect(said).not.toContain("A2ACLI_");
    expect(readFileSync(`/proc/${run.child.pid}/cmdline`, "utf8")).not.toMatch(/s3cret|token/);
    await new PlainBrowser().open(said.split("\n", 1)[0] ?? "");
    const { exit, err } = await done(run);
    expect(exit, err).toBe(0);
  });

  it("fails with 4 if the user refuses", async () => {
    issuer.user = "refuses";
    const run = start(code("code"));
    const [, page = ""] = await pageOf(run, /^(http\S+code_challenge\S+)$/m);
    const { html } = await new PlainBrowser().open(page);
    expect(html).toContain("The login failed.");
    expect((await done(run)).exit).toBe(4);
  });
});

describe("A2ACLI_AUTH_007 a secret typed at a terminal", { timeout: 120_000 }, () => {
  const tmux = (...args: string[]) => spawnSync("tmux", ["-L", "parley-login", ...args], { encoding: "utf8" });
  beforeAll(() => {
    if (tmux("-V").status !== 0) spawnSync("apt-get", ["install", "-y", "-q", "tmux"]);
  });
  afterEach(() => void tmux("kill-server"));
  const shown = () => tmux("capture-pane", "-p", "-t", "t").stdout;

  /** Starts a login in a terminal, and waits for its question. */
  async function asking(): Promise<void> {
    const script = join(config, "login.sh");
    const words = [process.execPath, main, "auth", "login", "-a", cardOf("typed")];
    writeFileSync(script, `export XDG_CONFIG_HOME=${config}\n${words.join(" ")}\necho "exit $?"\nsleep 60\n`);
    tmux("new-session", "-d", "-x", "100", "-y", "30", "-s", "t", `sh ${script}`);
    await expect.poll(shown, { timeout: 30_000 }).toContain("Token for http://127.0.0.1");
  }

  it("is not shown, and is stored", async () => {
    await asking();
    tmux("send-keys", "-t", "t", "-l", "t0ken-of-a-persom");
    tmux("send-keys", "-t", "t", "BSpace");
    tmux("send-keys", "-t", "t", "-l", "n");
    tmux("send-keys", "-t", "t", "Enter");
    await expect.poll(shown, { timeout: 30_000 }).toContain("exit 0");
    expect(shown()).not.toContain("t0ken");
    expect(shown()).toContain("Flow: bearer");
    const sent = await send("typed", "rest");
    expect(sent.exit, sent.err).toBe(0);
  });

  it("is given up by Ctrl-C", async () => {
    await asking();
    tmux("send-keys", "-t", "t", "-l", "t0k");
    tmux("send-keys", "-t", "t", "C-c");
    await expect.poll(shown, { timeout: 30_000 }).toContain("exit 130");
    expect(existsSync(file())).toBe(false);
  });
});
