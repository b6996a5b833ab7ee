import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiKeyScheme, httpBearerScheme } from "../../../src/auth/index.js";
import { some } from "../../support/cover.js";
import { openWorld, runIn, type World } from "./world.js";

const token = "s3cret-token-of-the-test";
const quick = ["--poll-interval", "20ms"];

describe.each(some(["rest", "grpc"], ["jsonrpc"]))("credentials over %s", { timeout: 60_000 }, (transport) => {
  let world: World;
  beforeAll(async () => {
    const schemes = {
      bearer: httpBearerScheme({ check: (given) => (given === token ? { owner: "me" } : undefined) }),
      key: apiKeyScheme({
        in: "header",
        name: "x-the-key",
        check: (key) => (key === token ? { owner: "me" } : undefined),
      }),
    };
    world = await openWorld({ agent: { security: { schemes, require: ["bearer", "key"] } } });
  });
  afterAll(() => world.close());
  beforeEach(() => void world.seen.splice(0));

  const agent = ["-a", "AGENT", "--transport", transport, ...quick];

  it.each([
    ["a token in a variable", [], { A2ACLI_BEARER: token }],
    ["a token in a flag", ["--bearer", token], { A2ACLI_BEARER: "wrong-token" }],
    ["a key in a variable", [], { A2ACLI_API_KEY: token }],
    ["a header", ["--auth", `Bearer ${token}`], {}],
    ["a service parameter", ["--svc-param", `x-the-key: ${token}`], {}],
  ])("A2ACLI_AUTH_001 sends %s as the scheme says", async (_, flags, env) => {
    const { exit, err } = await world.run(["send", "hi", ...flags, ...agent], { env: env as Record<string, string> });
    expect(exit, err).toBe(0);
  });

  it("A2ACLI_AUTH_001 fails before anything is sent without a credential", async () => {
    const { exit, json } = await world.run(["send", "hi", "-o", "json", ...agent]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_CREDENTIALS_MISSING" });
    expect(json.error.hint).toContain("A2ACLI_BEARER");
    expect(world.seen).toEqual([]);
  });

  it("A2ACLI_EXIT_001 exits with 4 for a credential that the agent rejects", async () => {
    const { exit, json } = await world.run(["send", "hi", "--bearer", "wrong-token", "-o", "json", ...agent]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_AUTH_FAILED" });
  });

  it("A2ACLI_AUTH_004 shows no credential, whatever is asked for", async () => {
    const env = { A2ACLI_API_KEY: token, A2ACLI_BEARER: token };
    const said = await world.run(
      ["send", `echo`, "--text-part", "fine", "--debug", "--verbose", "--svc-param", "x-other: s3cret-other", ...agent],
      { env },
    );
    expect(said.exit, said.err).toBe(0);
    expect(said.err).toContain("debug: ");
    expect(said.err + said.out).not.toMatch(/s3cret/);
  });
});

describe("where credentials go", { timeout: 60_000 }, () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  /** Serves JSON on loopback. Records the requests. */
  async function serve(
    answer: (url: string, headers: IncomingHttpHeaders) => { status?: number; body: object | string; headers?: object },
  ) {
    const got: { url: string; headers: IncomingHttpHeaders }[] = [];
    const server = createServer((request, response) => {
      request.resume();
      got.push({ url: request.url ?? "", headers: request.headers });
      const { status = 200, body, headers = {} } = answer(request.url ?? "", request.headers);
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      server.close();
      server.closeAllConnections();
    });
    return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, got };
  }

  const card = (url: string, more: object = {}) => ({
    name: "Stub",
    supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "acme" }],
    capabilities: {},
    ...more,
  });
  const reply = { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "ok" }] } };

  it("sends none with the request for the card, and service parameters always", async () => {
    const stub = await serve((url) => ({ body: url.includes("agent-card") ? card(`http://${stub.host}`) : reply }));
    const { exit, err, out } = await runIn(["send", "hi", "-a", stub.host, "--svc-param", "x-gate: open"], {
      env: { A2ACLI_BEARER: token },
    });
    expect(exit, err).toBe(0);
    expect(out).toContain("Text:\nok\n\n");
    const [first, second] = stub.got;
    expect(first?.headers).toMatchObject({ "x-gate": "open" });
    expect(first?.headers).not.toHaveProperty("authorization");
    expect(second?.headers).toMatchObject({ "x-gate": "open", authorization: `Bearer ${token}` });
    expect(err).toContain("no security scheme is declared");
    // The request names exactly the tenant of the interface (TX_003).
    expect(second?.url).toContain("/acme/");
  });

  it("sends the token for a card once the server asks for it, to the same origin", async () => {
    const stub = await serve((url, { authorization }) => {
      if (!url.includes("agent-card")) return { body: reply };
      if (authorization === `Bearer ${token}`) return { body: card(`http://${stub.host}`) };
      return { status: 401, body: {}, headers: { "www-authenticate": 'Bearer realm="cards"' } };
    });
    const { exit, err } = await runIn(["card", "get", stub.host], { env: { A2ACLI_BEARER: token } });
    expect(exit, err).toBe(0);
    expect(stub.got).toHaveLength(2);
    const without = await runIn(["card", "get", stub.host, "-o", "json"]);
    expect({ exit: without.exit, code: without.json.error.code }).toEqual({
      exit: 4,
      code: "A2ACLI_ERR_CREDENTIALS_MISSING",
    });
    const login = await runIn(["auth", "login", "-a", stub.host, "-o", "json"]);
    expect(login.json.error.hint).toContain("the card itself needs a credential: set A2ACLI_BEARER");
  });

  it.each([
    [
      { apiKeySecurityScheme: { location: "query", name: "k" } },
      (got: { url: string }) => got.url.includes(`k=${token}`),
    ],
    [
      { apiKeySecurityScheme: { location: "cookie", name: "k" } },
      (got: { headers: IncomingHttpHeaders }) => got.headers.cookie === `k=${token}`,
    ],
  ])("A2ACLI_AUTH_001 sends a key as %j says", async (scheme, isSent) => {
    const more = { securitySchemes: { k: scheme }, securityRequirements: [{ schemes: { k: {} } }] };
    const stub = await serve((url) => ({
      body: url.includes("agent-card") ? card(`http://${stub.host}`, more) : reply,
    }));
    const { exit, err } = await runIn(["send", "hi", "-a", stub.host, "--debug"], { env: { A2ACLI_API_KEY: token } });
    expect(exit, err).toBe(0);
    expect(isSent(stub.got[1] as never)).toBe(true);
    expect(err).not.toContain(token);
  });

  it("warns of an interface on another host than the card, and stores the hosts of a login", async () => {
    const more = {
      securitySchemes: { b: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      securityRequirements: [{ schemes: { b: {} } }],
    };
    const stub = await serve(() => ({ body: card("http://127.0.0.2:9", more) }));
    const { exit, err } = await runIn(["send", "hi", "-a", stub.host, "--bearer", token]);
    expect(exit).toBe(3);
    expect(err).toContain("warning: credentials are sent to 127.0.0.2, which the card of localhost names");
    const login = await runIn(["auth", "login", "-a", stub.host, "--stdin"], { stdin: token });
    expect(login.exit, login.err).toBe(0);
    expect(login.err).toContain("warning: credentials are sent to 127.0.0.2, which the card of localhost names");
    expect(login.err + err).not.toContain(token);
  });

  it("A2ACLI_AUTH_008 sends no stored credential to the server of a card, or to a scheme it is not for", async () => {
    const config = mkdtempSync(join(tmpdir(), "parley-logins-"));
    closing.push(() => rmSync(config, { recursive: true, force: true }));
    const env = { XDG_CONFIG_HOME: config };
    let scheme: object = { httpAuthSecurityScheme: { scheme: "Bearer" } };
    const stub = await serve((url) => ({
      body: url.includes("agent-card")
        ? card(`http://${stub.host}`, {
            securitySchemes: { s: scheme },
            securityRequirements: [{ schemes: { s: {} } }],
          })
        : reply,
    }));
    const login = await runIn(["auth", "login", "-a", stub.host, "--stdin"], { env, stdin: token });
    expect(login.exit, login.err).toBe(0);
    expect((await runIn(["send", "hi", "-a", stub.host], { env })).exit).toBe(0);
    expect(stub.got.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined, `Bearer ${token}`]);
    scheme = { apiKeySecurityScheme: { location: "header", name: "x-key" } };
    const { exit, json } = await runIn(["send", "hi", "-a", stub.host, "-o", "json"], { env });
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_CREDENTIALS_MISSING" });
    expect(JSON.stringify(stub.got.slice(3))).not.toContain(token);
  });

  it("A2ACLI_AUTH_003 warns loudly of --insecure", async () => {
    const stub = await serve((url) => ({ body: url.includes("agent-card") ? card(`http://${stub.host}`) : reply }));
    const { err } = await runIn(["send", "hi", "-a", stub.host, "--insecure", "--bearer", token]);
    expect(err).toContain("CERTIFICATES ARE NOT VERIFIED");
    expect(err).not.toContain(token);
  });

  it("A2ACLI_OUT_004 reports an answer that is no answer", async () => {
    const stub = await serve((url) => ({ body: url.includes("agent-card") ? card(`http://${stub.host}`) : "[1" }));
    const { exit, json } = await runIn(["send", "hi", "-a", stub.host, "-o", "json"]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 1, code: "InvalidAgentResponseError" });
  });

  it("A2ACLI_VER_001 does not speak an older version unless it is told to", async () => {
    const older = {
      supportedInterfaces: [{ url: "http://127.0.0.1:9", protocolBinding: "JSONRPC", protocolVersion: "0.3" }],
    };
    const files = { "c.json": JSON.stringify({ name: "Old", ...older }) };
    const refused = await runIn(["send", "hi", "-a", "./c.json", "-o", "json"], { files });
    expect(refused).toMatchObject({ exit: 1, json: { error: { code: "VersionNotSupportedError", a2aCode: -32009 } } });
    const told = await runIn(["send", "hi", "-a", "./c.json", "--a2a-version", "0.3"], { files });
    expect(told.err).toContain("note: speaking A2A 0.3\n");
  });

  it("A2ACLI_TX_001 selects the first interface that it supports, or the preferred one", async () => {
    const at = (protocolBinding: string, port: number) => ({
      url: protocolBinding === "GRPC" ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}`,
      protocolBinding,
      protocolVersion: "1.0",
    });
    const supportedInterfaces = [at("SMOKE", 1), at("HTTP+JSON", 2), at("GRPC", 3), at("JSONRPC", 4)];
    const files = { "c.json": JSON.stringify({ name: "Many", supportedInterfaces }) };
    const chosen = async (...flags: string[]) => {
      const { err } = await runIn(["send", "hi", "-a", "./c.json", "--debug", ...flags], { files });
      return /debug: interface (\S+)/.exec(err)?.[1];
    };
    expect(await chosen()).toBe("HTTP+JSON");
    expect(await chosen("--transport", "grpc", "--transport", "jsonrpc")).toBe("GRPC");
    expect(await chosen("--transport", "connect", "--transport", "JSONRPC")).toBe("JSONRPC");
    const none = { "c.json": JSON.stringify({ name: "Odd", supportedInterfaces: [at("SMOKE", 1)] }) };
    const { exit, json } = await runIn(["send", "hi", "-a", "./c.json", "-o", "json"], { files: none });
    expect({ exit, code: json.error.code }).toEqual({ exit: 1, code: "PARLEY_ERR_NO_INTERFACE" });
  });
});

describe("A2ACLI_CONFIG_002 files of settings", () => {
  const show = async (files: Record<string, string>, argv: string[] = [], env: Record<string, string> = {}) => {
    const { json, err, exit } = await runIn(["config", "show", "-o", "json", ...argv], { files, env });
    const of = (name: string) => json.find((row: { name: string }) => row.name === name);
    return { of, err, exit };
  };

  it("have the order flag, variable, local file, global file, default", async () => {
    const files = { ".env": "A2ACLI_TIMEOUT=3s", "home/.config/a2a-cli/.env": "A2ACLI_TIMEOUT=4s" };
    const timeout = async (argv: string[], env: Record<string, string>, some: Record<string, string>) =>
      (await show(some, argv, env)).of("timeout").value;
    expect(await timeout(["--timeout", "1s"], { A2ACLI_TIMEOUT: "2s" }, files)).toBe("1s");
    expect(await timeout([], { A2ACLI_TIMEOUT: "2s" }, files)).toBe("2s");
    expect(await timeout([], {}, files)).toBe("3s");
    expect(await timeout([], {}, { "home/.config/a2a-cli/.env": "A2ACLI_TIMEOUT=4s" })).toBe("4s");
    expect(await timeout([], {}, {})).toBe("5m");
  });

  it("are read as dotenv files are, and --config replaces the local one", async () => {
    const text = '# mine\nDATABASE=x\nexport A2ACLI_OUTPUT="json"\nA2ACLI_TRANSPORT=grpc, rest # two\n';
    const { of } = await show({ ".env": "A2ACLI_VERBOSE=1", "own.env": text }, ["--config", "own.env"]);
    expect(of("transport")).toMatchObject({ value: "GRPC,HTTP+JSON", source: "local-file" });
    expect(of("verbose").source).toBe("default");
  });

  it("cannot switch off TLS unless they are named, and unknown settings are reported", async () => {
    const files = { ".env": "A2ACLI_INSECURE=true\nA2ACLI_TIMOUT=3s\n" };
    const found = await show(files);
    expect(found.of("insecure").value).toBe("false");
    expect(found.err).toContain("A2ACLI_INSECURE in");
    expect(found.err).toMatch(/\.env:2: A2ACLI_TIMOUT is not a setting/);
    expect((await show({ "own.env": "A2ACLI_INSECURE=true" }, ["--config", "own.env"])).of("insecure").value).toBe(
      "true",
    );
  });

  it("are scoped by the reference of the card, below the local file and above the global one", async () => {
    const folder = "home/.config/a2a-cli";
    const files = {
      [`${folder}/agents/agent.example.env`]:
        "A2ACLI_TIMEOUT=1s\nA2ACLI_TRANSPORT=grpc\nA2ACLI_AGENT_CARD=other.example\n",
      [`${folder}/agents/localhost_8080.env`]: "A2ACLI_TIMEOUT=2s",
      [`${folder}/.env`]: "A2ACLI_TIMEOUT=4s\nA2ACLI_POLL_INTERVAL=5s\nA2ACLI_AGENT_CARD=localhost:8080",
      ".env": "A2ACLI_TRANSPORT=rest",
    };
    for (const ref of ["agent.example", "https://agent.example/card.json"]) {
      const { of } = await show(files, ["-a", ref]);
      expect(of("timeout")).toMatchObject({
        value: "1s",
        source: "global-file",
        path: expect.stringMatching(/agents\/agent\.example\.env$/),
      });
      expect(of("transport").value).toBe("HTTP+JSON");
      expect(of("poll-interval").value).toBe("5s");
      expect(of("agent-card")).toMatchObject({ value: ref, source: "flag" });
    }
    expect((await show(files)).of("timeout").value).toBe("2s");
    expect((await show(files, ["-a", "elsewhere.example"])).of("timeout").value).toBe("4s");
    expect((await show(files, ["-a", "./card.json"])).of("timeout").value).toBe("4s");
    expect((await show(files, ["-e", "https://agent.example/rpc"])).of("timeout").value).toBe("1s");
  });

  it("are named with the line of a wrong value", async () => {
    const { exit, json } = await runIn(["config", "show", "-o", "json"], {
      files: { ".env": "\nA2ACLI_TIMEOUT=soon\n" },
    });
    expect(exit).toBe(2);
    expect(json.error.message).toMatch(/\.env:2: A2ACLI_TIMEOUT: "soon" is not a duration/);
  });
});
