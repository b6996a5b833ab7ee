import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiKeyScheme, customScheme, httpBasicScheme, httpBearerScheme } from "../../../src/auth/index.js";
import { A2AError } from "../../../src/core/error.js";
import { type Asked, ScriptedIssuer } from "../../client/credentials/scripted-issuer.js";
import { openWorld, runIn, type Setup, type World } from "./world.js";

const secret = "s3cret-of-the-client";
const quick = ["--poll-interval", "20ms"];

let issuer: ScriptedIssuer;
let world: World;
/** Tokens that the agent accepts. */
const valid = new Set<string>();
/** Folder of the user's settings. */
let config = "";
const file = () => join(config, "a2a-cli", "credentials.json");

beforeAll(async () => {
  issuer = await ScriptedIssuer.start();
});
beforeEach(() => {
  issuer.wellBehaved();
  valid.clear();
  config = mkdtempSync(join(tmpdir(), "parley-logins-"));
});
afterEach(() => rmSync(config, { recursive: true, force: true }));
afterAll(() => issuer.close());

/** Runs a command that uses the logins of this test. */
const run = (argv: readonly string[], { env = {}, ...setup }: Setup = {}) =>
  world.run(argv, { ...setup, env: { XDG_CONFIG_HOME: config, ...env } });

/** Returns an OAuth scheme that accepts the tokens in `valid`. */
const oauthScheme = (flow: object) =>
  customScheme({
    card: { oauth2SecurityScheme: { flows: flow } } as never,
    authenticate: (call) => {
      const token = call.header("authorization")?.replace(/^Bearer /, "") ?? "";
      return valid.has(token) ? { owner: "me" } : undefined;
    },
  });

/** Makes the token endpoint issue tokens that the agent accepts. */
function issueTokens(more: () => object = () => ({})) {
  issuer.scripts.set("/token", () => {
    const body = { ...issuer.token(), ...more() } as { access_token: string };
    valid.add(body.access_token);
    return { body };
  });
}

const scopes = { read: "Read." };
const flowsOf = (url: string) => ({
  machine: { clientCredentials: { tokenUrl: `${url}/token`, scopes } },
  device: { deviceCode: { tokenUrl: `${url}/token`, deviceAuthorizationUrl: `${url}/device`, scopes } },
  person: { authorizationCode: { tokenUrl: `${url}/token`, authorizationUrl: `${url}/authorize`, scopes } },
});

async function openSecured(schemes: Record<string, unknown>, require: readonly string[] = Object.keys(schemes)) {
  world = await openWorld({ agent: { security: { schemes, require } } });
}

describe("A2ACLI_AUTH_006 auth login by client credentials", { timeout: 60_000 }, () => {
  beforeAll(() => openSecured({ machine: oauthScheme(flowsOf(issuer.url).machine) }));
  afterAll(() => world.close());
  const login = ["auth", "login", "-a", "AGENT", "--client-id", "reports"];
  const env = { A2ACLI_CLIENT_SECRET: secret };

  it("stores the token in a file that only the user can read", async () => {
    issueTokens();
    const { exit, out, err } = await run(login, { env });
    expect(exit, err).toBe(0);
    expect(out).toMatch(/^Agent: http:\/\/127\.0\.0\.1:\d+\nScheme: machine\nFlow: client-credentials\nExpires: 20/);
    expect(out + err).not.toMatch(/s3cret|token-\d/);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, "a2a-cli")).mode & 0o777).toBe(0o700);
    expect(issuer.asked.at(-1)?.form.get("grant_type")).toBe("client_credentials");
  });

  it("prints JSON without the token", async () => {
    issueTokens();
    const { json, err } = await run([...login, "-o", "json"], { env });
    expect(json).toEqual({
      agent: expect.stringMatching(/^http:\/\/127/),
      scheme: "machine",
      flow: "client-credentials",
      expiresAt: expect.stringMatching(/^20.*Z$/),
    });
    expect(err).not.toContain("token-");
  });

  it.each(["jsonrpc", "rest", "grpc"])(
    "A2ACLI_AUTH_007 is attached to calls over %s, which fetch no token of their own",
    async (transport) => {
      issueTokens();
      await run(login, { env });
      const before = issuer.count();
      for (const text of ["one", "two"]) {
        const { exit, err } = await run(["send", text, "-a", "AGENT", "--transport", transport, ...quick]);
        expect(exit, err).toBe(0);
      }
      expect(issuer.count()).toBe(before);
    },
  );

  it("A2ACLI_AUTH_007 is renewed when it has expired, once for many processes", async () => {
    issueTokens(() => ({ expires_in: 0 }));
    await run(login, { env });
    issueTokens();
    const before = issuer.count();
    const all = await Promise.all([1, 2, 3, 4].map((n) => run(["send", `${n}`, "-a", "AGENT", ...quick])));
    expect(all.map(({ exit }) => exit)).toEqual([0, 0, 0, 0]);
    expect(issuer.count()).toBeGreaterThan(before);
    expect(JSON.parse(readFileSync(file(), "utf8")).version).toBe(1);
  });

  it("is renewed after the agent rejects it", async () => {
    issueTokens();
    await run(login, { env });
    valid.clear();
    const { exit, err } = await run(["send", "hi", "-a", "AGENT", ...quick]);
    expect(exit, err).toBe(0);
  });

  it("names the scope that a call lacks", async () => {
    issueTokens();
    await run(login, { env });
    world.before = () => {
      throw new A2AError("PERMISSION_DENIED", "More is needed.", { metadata: { scope: "write" } });
    };
    const { exit, json } = await run(["send", "hi", "-a", "AGENT", "-o", "json", ...quick]);
    world.before = () => {};
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error.hint).toMatch(/^log in again: parley auth login .* --scope write$/);
  });

  it("fails with 4 if the issuer refuses the client, and shows no secret", async () => {
    issuer.scripts.set("/token", () => ({ status: 401, body: { error: "invalid_client", error_description: secret } }));
    const { exit, json, err } = await run([...login, "-o", "json", "--debug", "--verbose"], { env });
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(JSON.stringify(json) + err).not.toContain("s3cret");
    expect(() => statSync(file())).toThrow();
  });

  it("fails with 3 if the issuer is not there", async () => {
    issuer.scripts.set("/token", () => (response) => response.destroy());
    const { exit, json } = await run([...login, "-o", "json"], { env });
    expect({ exit, code: json.error.code }).toEqual({ exit: 3, code: "A2ACLI_ERR_UNREACHABLE" });
  });

  it("tells to log in again if the client is refused later", async () => {
    issueTokens(() => ({ expires_in: 0 }));
    await run(login, { env });
    issuer.scripts.set("/token", () => ({ status: 401, body: { error: "invalid_client" } }));
    const { exit, json } = await run(["send", "hi", "-a", "AGENT", "-o", "json", ...quick]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error.hint).toMatch(/^log in again: parley auth login --agent-card 127\.0\.0\.1:\d+$/);
  });

  it("needs the secret of the client, and reads it from stdin", async () => {
    issueTokens();
    const none = await run([...login, "-o", "json"]);
    expect({ exit: none.exit, hint: none.json.error.hint }).toEqual({ exit: 2, hint: "pass it on stdin (--stdin)" });
    expect(issuer.count()).toBe(0);
    const { exit, err } = await run([...login, "--stdin"], { stdin: `${secret}\n` });
    expect(exit, err).toBe(0);
    expect(issuer.asked.at(-1)?.authorization).toBe(`Basic ${btoa(`reports:${secret.replaceAll("-", "%2D")}`)}`);
  });

  it("A2ACLI_AUTH_004 shows no secret in any report, and stores it in one file only", async () => {
    issueTokens(() => ({ refresh_token: "refresh-of-this-test" }));
    const loud = ["--debug", "--verbose"];
    const said = [
      await run([...login, ...loud], { env }),
      await run(["send", "hi", "-a", "AGENT", ...loud, ...quick]),
      await run(["auth", "status", ...loud]),
      await run(["config", "show", ...loud], { env }),
      await run(["auth", "logout", "--all", ...loud]),
    ];
    for (const { exit, out, err } of said) {
      expect(exit, err).toBe(0);
      expect(out + err).not.toMatch(/s3cret|token-\d|refresh-of|Basic [A-Za-z0-9]/);
    }
    expect(said[0]?.err).toContain("debug: > POST http://127.0.0.1");
  });
});

describe("A2ACLI_AUTH_005 auth login by device", { timeout: 60_000 }, () => {
  beforeAll(() => openSecured({ device: oauthScheme(flowsOf(issuer.url).device) }));
  afterAll(() => world.close());
  const login = ["auth", "login", "-a", "AGENT", "--client-id", "tv", "--flow", "device", "--scope", "offline_access"];

  beforeEach(() => {
    issuer.scripts.set("/device", () => ({
      body: {
        device_code: "d3vice-code",
        user_code: "WDJB-MJHT",
        verification_uri: "https://login.example/device",
        verification_uri_complete: "https://login.example/device?c=WDJB-MJHT",
        expires_in: 60,
        interval: 1,
      },
    }));
  });
  const refreshes = ({ form }: Asked): boolean => form.get("grant_type") === "refresh_token";

  it("shows where to agree, polls, and keeps the refresh token", async () => {
    let polls = 0;
    issuer.scripts.set("/token", () => {
      if (++polls === 1) return { status: 400, body: { error: "authorization_pending" } };
      const body = issuer.token({ refresh_token: "refresh-1", expires_in: 0 }) as { access_token: string };
      return { body };
    });
    const { exit, err, out } = await run(login);
    expect(exit, err).toBe(0);
    expect(err).toContain("Open https://login.example/device and enter the code WDJB-MJHT\n");
    expect(err).toContain("Or open https://login.example/device?c=WDJB-MJHT\n");
    expect(out + err).not.toMatch(/d3vice|refresh-1|token-\d/);
    expect(polls).toBe(2);
    expect(issuer.asked.find(({ path }) => path === "/device")?.form.get("scope")).toBe("offline_access");
    // The token has expired, so the next command refreshes it. The refresh token changes each time.
    issueTokens(() => ({ refresh_token: "refresh-2" }));
    const sent = await run(["send", "hi", "-a", "AGENT", "--transport", "grpc", ...quick]);
    expect(sent.exit, sent.err).toBe(0);
    expect(issuer.asked.filter(refreshes).map(({ form }) => form.get("refresh_token"))).toEqual(["refresh-1"]);
    expect(readFileSync(file(), "utf8")).toContain("refresh-2");
  });

  it("refreshes once for several commands at a time", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ refresh_token: "refresh-1", expires_in: 0 }) }));
    await run(login);
    let count = 1;
    issueTokens(() => ({ refresh_token: `refresh-${++count}` }));
    const all = await Promise.all([1, 2, 3, 4].map((n) => run(["send", `${n}`, "-a", "AGENT", ...quick])));
    expect(all.map(({ exit, err }) => [exit, err])).toEqual(all.map(() => [0, expect.anything()]));
    expect(issuer.asked.filter(refreshes)).toHaveLength(1);
  });

  it.each([
    ["access_denied", "access_denied"],
    ["expired_token", "expired_token"],
  ])("fails with 4 after %s", async (error, said) => {
    issuer.scripts.set("/token", () => ({ status: 400, body: { error } }));
    const { exit, json } = await run([...login, "-o", "json"]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error.message).toContain(said);
    expect(() => statSync(file())).toThrow();
  });

  it("tells to log in again once the refresh token is invalid, and starts no login by itself", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ refresh_token: "refresh-1", expires_in: 0 }) }));
    await run(login);
    issuer.scripts.set("/token", () => ({ status: 400, body: { error: "invalid_grant" } }));
    const devices = issuer.count("/device");
    const { exit, json } = await run(["send", "hi", "-a", "AGENT", "-o", "json", ...quick]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error).toMatchObject({
      message: "The login has expired or was revoked.",
      hint: expect.stringContaining("parley auth login --agent-card"),
    });
    expect(issuer.count("/device")).toBe(devices);
  });

  it("keeps the refresh token while the issuer is not there", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ refresh_token: "refresh-1", expires_in: 0 }) }));
    await run(login);
    issuer.scripts.set("/token", () => (response) => response.destroy());
    const { exit, json } = await run(["send", "hi", "-a", "AGENT", "-o", "json", ...quick]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 3, code: "A2ACLI_ERR_UNREACHABLE" });
    expect(json.error.message).toContain("issuer of tokens");
    issueTokens();
    expect((await run(["send", "hi", "-a", "AGENT", ...quick])).exit).toBe(0);
  });

  it("needs a terminal unless the flow is named", async () => {
    const { exit, json } = await run(["auth", "login", "-a", "AGENT", "--client-id", "tv", "-o", "json"]);
    expect({ exit, hint: json.error.hint }).toEqual({ exit: 2, hint: expect.stringContaining("--flow device") });
    expect(issuer.asked).toEqual([]);
  });

  it("ends when it is interrupted, and stores nothing", async () => {
    issuer.scripts.set("/token", () => ({ status: 400, body: { error: "authorization_pending" } }));
    const controller = new AbortController();
    const { exit, json } = await run([...login, "-o", "json"], {
      interrupted: controller.signal,
      onOutput: (_, text) => {
        if (text.includes("WDJB")) controller.abort("SIGINT");
      },
    });
    expect({ exit, code: json.error.code }).toEqual({ exit: 130, code: "PARLEY_ERR_INTERRUPTED" });
    expect(() => statSync(file())).toThrow();
  });
});

describe("A2ACLI_AUTH_005 auth login by a browser", { timeout: 60_000 }, () => {
  beforeAll(() => openSecured({ person: oauthScheme(flowsOf(issuer.url).person) }));
  afterAll(() => world.close());
  const login = ["auth", "login", "-a", "AGENT", "--client-id", "cli", "--flow", "code", "-o", "json"];

  /** Simulates a user that follows the printed link and returns with an answer. */
  const returning =
    (answer: (page: URL) => Record<string, string>, seen: string[] = []) =>
    (_: string, text: string): void => {
      const page = /^(http\S+\/authorize\S+)$/m.exec(text)?.[1];
      if (page === undefined) return;
      const back = new URL(new URL(page).searchParams.get("redirect_uri") ?? "");
      for (const [name, value] of Object.entries(answer(new URL(page)))) back.searchParams.set(name, value);
      void fetch(new URL("/callback?state=forged&code=x", back))
        .then((response) => seen.push(`forged ${response.status}`))
        .then(() => fetch(back))
        .then(async (response) => seen.push(`${response.status} ${await response.text()}`));
    };
  const stateOf = (page: URL): string => page.searchParams.get("state") ?? "";

  it("takes the code that comes back to this machine, with PKCE, and no forged one", async () => {
    issueTokens();
    const seen: string[] = [];
    const { exit, json, err } = await run(login, {
      onOutput: returning((page) => ({ state: stateOf(page), code: "the-c0de" }), seen),
    });
    expect(exit, err).toBe(0);
    expect(json).toMatchObject({ scheme: "person", flow: "code" });
    await expect.poll(() => seen).toEqual(["forged 404", "200 You are logged in. You can close this page.\n"]);
    const { form } = issuer.asked.at(-1) as Asked;
    expect(form.get("code")).toBe("the-c0de");
    expect(form.get("code_verifier")).toMatch(/^[\w~.-]{43,}$/);
    expect(err).toMatch(/code_challenge_method=S256/);
    const sent = await run(["send", "hi", "-a", "AGENT", "--transport", "grpc", ...quick]);
    expect(sent.exit, sent.err).toBe(0);
  });

  it("fails with 4 if the user declines", async () => {
    const seen: string[] = [];
    const { exit, json } = await run(login, {
      onOutput: returning((page) => ({ state: stateOf(page), error: "access_denied" }), seen),
    });
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error.message).toContain("access_denied");
    await expect.poll(() => seen.at(-1)).toBe("400 The login failed. The terminal shows why.\n");
  });

  it("returns to the URI that is registered, which is on this machine", async () => {
    issueTokens();
    const uri = ["--redirect-uri", "http://localhost/signed/in"];
    let page = "";
    const { exit, err } = await run([...login, ...uri], {
      onOutput: (_, text) => {
        page = /^(http\S+\/authorize\S+)$/m.exec(text)?.[1] ?? page;
        const back = new URL(new URL(page || "http://x").searchParams.get("redirect_uri") ?? "http://127.0.0.1:9");
        if (back.port !== "9") void fetch(`${back.href}?code=c&state=${stateOf(new URL(page))}`).catch(() => {});
      },
    });
    expect(exit, err).toBe(0);
    expect(new URL(page).searchParams.get("redirect_uri")).toMatch(/^http:\/\/localhost:\d+\/signed\/in$/);
    for (const wrong of ["https://127.0.0.1/", "http://elsewhere.example/", "nonsense"]) {
      const refused = await run([...login, "--redirect-uri", wrong]);
      expect(refused).toMatchObject({ exit: 2, json: { error: { message: expect.stringContaining(wrong) } } });
    }
  });

  it("ends at --timeout if nobody comes back", async () => {
    const { exit, json } = await run([...login, "--timeout", "300ms"]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 5, code: "A2ACLI_ERR_TIMEOUT" });
  });
});

describe("A2ACLI_AUTH_010 auth login by OpenID Connect", { timeout: 60_000 }, () => {
  beforeAll(() =>
    openSecured({
      oidc: customScheme({
        card: { openIdConnectSecurityScheme: { openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` } },
        authenticate: (call) => {
          const token = call.header("authorization")?.replace(/^Bearer /, "") ?? "";
          return valid.has(token) ? { owner: "me" } : undefined;
        },
      }),
    }),
  );
  afterAll(() => world.close());

  it("finds the endpoints of the issuer by its metadata", async () => {
    issueTokens();
    const { exit, err } = await run(["auth", "login", "-a", "AGENT", "--client-id", "c"], {
      env: { A2ACLI_CLIENT_SECRET: secret },
    });
    expect(exit, err).toBe(0);
    expect(issuer.asked.map(({ path }) => path)).toEqual(["/.well-known/openid-configuration", "/token"]);
    const sent = await run(["send", "hi", "-a", "AGENT", ...quick]);
    expect(sent.exit, sent.err).toBe(0);
  });

  it("says which flow to use with an issuer that has no devices", async () => {
    const { exit, json } = await run(
      ["auth", "login", "-a", "AGENT", "--client-id", "c", "--flow", "device", "-o", "json"],
      {},
    );
    expect({ exit, hint: json.error.hint }).toEqual({ exit: 4, hint: "use --flow code" });
  });
});

describe("A2ACLI_AUTH_007 stored logins", { timeout: 60_000 }, () => {
  const token = "s3cret-token-of-the-test";
  beforeAll(() =>
    openSecured({
      bearer: httpBearerScheme({ check: (given) => (given === token ? { owner: "me" } : undefined) }),
      key: apiKeyScheme({
        in: "header",
        name: "x-the-key",
        check: (given) => (given === token ? { owner: "me" } : undefined),
      }),
      basic: httpBasicScheme({
        check: (name, password) => (name === "me" && password === token ? { owner: "me" } : undefined),
      }),
    }),
  );
  afterAll(() => world.close());
  const login = (...more: string[]) =>
    run(["auth", "login", "-a", "AGENT", "--stdin", ...more], { stdin: `${token}\n` });
  const send = (...more: string[]) => run(["send", "hi", "-a", "AGENT", "-o", "json", ...quick, ...more]);

  it.each([
    ["bearer", []],
    ["api-key", []],
    ["basic", ["--user", "me"]],
  ])("are sent as a scheme of the kind %s says", async (flow, more) => {
    const { exit, out, err } = await login("--flow", flow, ...more);
    expect(exit, err).toBe(0);
    expect(out + err).not.toContain("s3cret");
    for (const transport of ["jsonrpc", "grpc"]) {
      const sent = await send("--transport", transport, "--debug", "--verbose");
      expect(sent.exit, sent.err).toBe(0);
      expect(sent.out + sent.err).not.toMatch(/s3cret|czNjcmV0/);
    }
  });

  it("replace the one of the same scheme", async () => {
    await run(["auth", "login", "-a", "AGENT", "--stdin"], { stdin: "wrong-token" });
    expect((await send()).exit).toBe(4);
    await login();
    expect((await send()).exit).toBe(0);
    expect((await run(["auth", "status", "-o", "json"])).json).toHaveLength(1);
  });

  it("come after flags and variables", async () => {
    await login("--flow", "bearer");
    expect((await send("--bearer", "wrong-token")).exit).toBe(4);
    const { exit } = await run(["send", "hi", "-a", "AGENT", ...quick], { env: { A2ACLI_API_KEY: "wrong-key" } });
    expect(exit).toBe(4);
    expect((await send()).exit).toBe(0);
  });

  it("are shown and removed without their secrets", async () => {
    await login("--flow", "bearer");
    await login("--flow", "api-key");
    const { json, out } = await run(["auth", "status", "-o", "json"]);
    expect(json).toMatchObject([
      { scheme: "bearer", flow: "bearer", expiresAt: null, state: "valid" },
      { scheme: "key", flow: "api-key" },
    ]);
    expect(out).not.toContain("s3cret");
    const shown = await run(["config", "show"]);
    expect(shown.out).toContain(`logins: see auth status (source: global-file ${file()})`);
    const gone = await run(["auth", "logout", "-a", "AGENT", "--scheme", "bearer"]);
    expect(gone.out).toContain("Scheme: bearer");
    expect((await run(["auth", "status"])).out).not.toContain("Scheme: bearer");
    expect((await run(["auth", "logout", "--all"])).exit).toBe(0);
    const none = await run(["auth", "status", "-o", "json"]);
    expect(none.json).toEqual([]);
    expect(none.err).toContain("no login is stored");
    expect(readFileSync(file(), "utf8")).not.toContain("s3cret");
    expect((await run(["auth", "logout"])).exit).toBe(2);
  });

  it("are written whole by several processes at a time", async () => {
    const all = await Promise.all([
      login("--flow", "bearer"),
      login("--flow", "api-key"),
      login("--flow", "basic", "--user", "me"),
    ]);
    expect(all.map(({ exit }) => exit)).toEqual([0, 0, 0]);
    expect((await run(["auth", "status", "-o", "json"])).json).toHaveLength(3);
  });

  it("are not used from a file that others can read", async () => {
    await login("--flow", "bearer");
    chmodSync(file(), 0o644);
    const sent = await send();
    expect({ exit: sent.exit, code: sent.json.error.code }).toEqual({
      exit: 4,
      code: "A2ACLI_ERR_CREDENTIALS_MISSING",
    });
    expect(sent.err).toContain(`warning: ${file()} can be read by others, so its credentials are not used: chmod 600`);
    expect((await login("--flow", "bearer")).exit).toBe(2);
  });

  it("are reported if their file is damaged", async () => {
    await login("--flow", "bearer");
    writeFileSync(file(), "{");
    expect((await run(["auth", "status", "-o", "json"])).json.error).toMatchObject({
      message: expect.stringContaining("damaged"),
      hint: "remove it, and log in again",
    });
  });

  it("are sent to no other agent, and to no interface that appeared later", async () => {
    await login("--flow", "bearer");
    const other = await openWorld({
      agent: { security: { schemes: { bearer: httpBearerScheme({ check: () => ({ owner: "x" }) }) } } },
    });
    const seen: (string | undefined)[] = [];
    other.before = ({ header }) => void seen.push(header("authorization"));
    try {
      const sent = await run(["send", "hi", "-a", `127.0.0.1:${other.server.port}`, "-o", "json", ...quick]);
      expect(sent.json.error.code).toBe("A2ACLI_ERR_CREDENTIALS_MISSING");
      // Rewrites the stored login as if it belonged to the other agent.
      const text = readFileSync(file(), "utf8");
      const at = new RegExp(`"agent": "http://127.0.0.1:${world.server.port}"`);
      expect(text).toMatch(at);
      const moved = text.replace(at, `"agent": "http://127.0.0.1:${other.server.port}"`);
      writeFileSync(file(), moved, { mode: 0o600 });
      const again = await run(["send", "hi", "-a", `127.0.0.1:${other.server.port}`, "-o", "json", ...quick]);
      expect(again.json.error.code).toBe("A2ACLI_ERR_CREDENTIALS_MISSING");
      expect(again.err).toContain("does not cover the interface");
      expect(seen).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it.each([
    ["a credential of the command line", ["--bearer", token], "takes no credential from the command line"],
    ["a flow that the card lacks", ["--flow", "device"], "fits no scheme"],
    ["an unknown flow", ["--flow", "magic"], "--flow"],
    ["an unknown scheme", ["--scheme", "nope"], "--scheme"],
    ["the URL of an issuer without encryption", ["--issuer", "http://login.example"], "--issuer"],
    ["basic without a name", ["--flow", "basic"], "--user"],
  ])("reject %s before anything is stored", async (_, more, said) => {
    const { exit, json } = await login("-o", "json", ...more);
    expect(exit).toBe(2);
    expect(json.error.message).toContain(said);
    expect(json.error.message + json.error.hint).not.toContain("s3cret");
    expect(() => statSync(file())).toThrow();
  });

  it("are named in the hint of a call without a credential", async () => {
    const { json } = await send();
    expect(json.error.hint).toMatch(/^log in \(parley auth login --agent-card \S+\), or set A2ACLI_BEARER/);
  });

  it("name what the agent requires besides", async () => {
    const both = await openWorld({
      agent: {
        security: {
          schemes: {
            bearer: httpBearerScheme({ check: () => ({ owner: "x" }) }),
            key: apiKeyScheme({ in: "header", name: "x-key", check: () => ({ owner: "x" }) }),
          },
          require: [{ bearer: [], key: [] }],
        },
      },
    });
    try {
      const { err } = await both.run(["auth", "login", "-a", "AGENT", "--stdin"], {
        stdin: token,
        env: { XDG_CONFIG_HOME: config },
      });
      expect(err).toMatch(/note: the agent also requires key: parley auth login --agent-card \S+ --scheme key\n/);
    } finally {
      await both.close();
    }
  });
});

describe("where a login sends secrets", { timeout: 60_000 }, () => {
  let elsewhere: ScriptedIssuer;
  let agent: ScriptedIssuer;
  beforeAll(async () => {
    elsewhere = await ScriptedIssuer.start();
    agent = await ScriptedIssuer.start();
  });
  afterAll(() => {
    elsewhere.close();
    agent.close();
  });
  const cardAt = (url: string, tokenUrl: string) => ({
    name: "Stub",
    supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
    securitySchemes: { s: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl, scopes } } } } },
    securityRequirements: [{ schemes: { s: {} } }],
  });
  const env = () => ({ XDG_CONFIG_HOME: config, A2ACLI_CLIENT_SECRET: secret });
  const login = ["auth", "login", "--client-id", "c", "-o", "json"];

  it("A2ACLI_AUTH_007 is never an issuer that the card names later", async () => {
    let at = issuer.url;
    agent.scripts.set("/.well-known/agent-card.json", () => ({ body: cardAt(agent.url, `${at}/token`) }));
    issuer.scripts.set("/token", () => ({ body: issuer.token({ expires_in: 0, refresh_token: "refresh-1" }) }));
    const made = await runIn([...login, "-a", agent.url], { env: env() });
    expect(made.exit, made.err).toBe(0);
    at = elsewhere.url;
    const sent = await runIn(["send", "hi", "-a", agent.url, "-o", "json"], { env: { XDG_CONFIG_HOME: config } });
    expect(sent.json.error.code).toBe("A2ACLI_ERR_CREDENTIALS_MISSING");
    expect(elsewhere.asked).toEqual([]);
    // The login works again for a card that names its issuer.
    at = issuer.url;
    const before = issuer.count();
    await runIn(["send", "hi", "-a", agent.url], { env: { XDG_CONFIG_HOME: config } });
    expect(issuer.count()).toBeGreaterThan(before);
  });

  it.each([
    ["on this machine", () => `${issuer.url}/token`],
    ["at an address", () => "https://10.0.0.1/token"],
    ["without encryption", () => "http://login.example/token"],
  ])("is no issuer %s for an agent elsewhere", async (_, tokenUrl) => {
    const files = { "card.json": JSON.stringify(cardAt("https://agent.example", tokenUrl())) };
    const { exit, json } = await runIn([...login, "-a", "./card.json"], { env: env(), files });
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
    expect(json.error.message).toContain("not trusted");
    expect(issuer.asked).toEqual([]);
  });

  it("is no interface without encryption on another machine", async () => {
    const files = { "card.json": JSON.stringify(cardAt("http://agent.example", `${issuer.url}/token`)) };
    const { exit, json } = await runIn([...login, "-a", "./card.json"], { env: env(), files });
    expect(exit).toBe(2);
    expect(json.error.message).toContain("without encryption at agent.example");
    expect(issuer.asked).toEqual([]);
  });
});
