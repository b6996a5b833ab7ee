import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentCardSchema, SecuritySchemeSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import * as auth from "../../../src/auth/index.js";
import { apiKey } from "../../../src/client/credentials/api-key.js";
import { basic } from "../../../src/client/credentials/basic.js";
import { bearer } from "../../../src/client/credentials/bearer.js";
import { clientCertificate } from "../../../src/client/credentials/choose.js";
import type { Credential, Credentials } from "../../../src/client/credentials/credential.js";
import type { SecretAsk } from "../../../src/client/credentials/secret.js";
import { A2AError } from "../../../src/core/error.js";
import type { Agent } from "../../../src/index.js";
import { type SecuredWorld, say, secured } from "../../auth/world.js";
import { obedient } from "../../conformance/agents.js";
import type { Driver } from "../../support/driver.js";
import { callWith, cardAt, noHttp, showing } from "./world.js";

/** Tokens that the server accepts now. */
const good = new Set(["token-1"]);

const schemes = {
  header: auth.apiKeyScheme({ in: "header", name: "X-Key", keys: [{ owner: "by header", key: "key-1" }] }),
  cookie: auth.apiKeyScheme({ in: "cookie", name: "key", keys: [{ owner: "by cookie", key: "key-1" }] }),
  query: auth.apiKeyScheme({ in: "query", name: "key", keys: [{ owner: "by query", key: "key-1&=ü" }] }),
  token: auth.httpBearerScheme({
    check: (token) => (good.has(token) ? { owner: `by ${token}`, scopes: ["read"] } : undefined),
  }),
  name: auth.httpBasicScheme({ users: [{ name: "zoë", password: "pass:wörd" }] }),
};
const agentOf = (require: auth.AgentSecurity["require"]): Agent => ({
  ...obedient("secured"),
  security: { schemes, ...(require !== undefined && { require }) },
});

let world: SecuredWorld;
const tenants = Object.keys(schemes);
beforeAll(async () => {
  const agents = Object.fromEntries(tenants.map((name) => [name, agentOf([name])]));
  world = await secured({ agents: { ...agents, both: agentOf([{ header: [], token: [] }]) } });
});
afterAll(() => world?.close());

async function ask(driver: Driver, tenant: string, credentials: Credentials) {
  const card = await cardAt(`${world.address.url}/${tenant}`);
  const call = { card, url: world.address.url, credentials };
  const reply = await callWith(driver, call, { tenant, ...say("turn") } as never);
  return { ...reply, owner: /"owner":"([^"]*)"/.exec(JSON.stringify(reply.message ?? {}))?.[1] };
}

const bindingNames = ["grpc", "grpc-http", "connect", "grpc-web", "jsonrpc", "rest"];
const driverOf = (name: string): Driver => world.drivers.get(name) as Driver;

describe.each(bindingNames)("over %s", (binding) => {
  it.each([
    ["header", apiKey("key-1"), "by header"],
    ["cookie", apiKey("key-1"), "by cookie"],
    ["token", bearer("token-1"), "by token-1"],
    ["token", bearer(async () => "token-1"), "by token-1"],
    ["name", basic("zoë", "pass:wörd"), "zoë"],
    ["both", [bearer("token-1"), apiKey("key-1")], "by header"],
  ] as const)("%s lets its caller in", async (tenant, credentials, owner) => {
    expect(await ask(driverOf(binding), tenant, credentials)).toMatchObject({ owner, tries: 1 });
  });

  it.each([
    ["header", apiKey("key-2")],
    ["cookie", apiKey("key-2")],
    ["token", bearer("token-2")],
    ["token", bearer(() => "token-2")],
    ["name", basic("zoë", "wrong")],
  ] as const)("%s is refused where it is wrong, and not tried again", async (tenant, credentials) => {
    const { error, tries } = await ask(driverOf(binding), tenant, credentials);
    expect([error?.reason, tries]).toEqual(["UNAUTHENTICATED", 1]);
  });

  it("asks a function once more where the server refuses what it gave", async () => {
    const asked: SecretAsk[] = [];
    const token = bearer((it) => {
      asked.push(it);
      return it.refused ? "token-1" : "token-0";
    });
    expect(await ask(driverOf(binding), "token", token)).toMatchObject({ owner: "by token-1", tries: 2 });
    expect(asked.map(({ refused, url, scopes }) => [refused, url, scopes])).toEqual([
      [false, world.address.url, []],
      [true, world.address.url, []],
    ]);
  });
});

describe.each(["jsonrpc", "rest"])("over %s", (binding) => {
  it("a key goes into the query", async () => {
    expect(await ask(driverOf(binding), "query", apiKey("key-1&=ü"))).toMatchObject({ owner: "by query", tries: 1 });
  });
});

/** The headers and query of one attempt with a scheme at a URL. */
async function shownTo(credential: Credential, scheme: object, url = "https://agent.example/") {
  const securitySchemes = { it: create(SecuritySchemeSchema, { scheme } as never) };
  const securityRequirements = [{ schemes: { it: { list: [] } } }];
  const card = create(AgentCardSchema, { securitySchemes, securityRequirements });
  return showing({ card, url, credentials: credential }).attempt();
}
const httpScheme = (scheme: string) => ({ case: "httpAuthSecurityScheme", value: { scheme } });
const keyScheme = (location: string, name: string) => ({ case: "apiKeySecurityScheme", value: { location, name } });

describe("allowHttp", () => {
  it.each(["false", "no", 1, null])("rejects %o, which is not a boolean", (allowHttp) => {
    const options = { allowHttp } as never;
    const fault = /^(?:Invalid options: )?allowHttp is .*, not true or false$/;
    for (const make of [bearer, apiKey]) expect(() => make("token", options)).toThrow(fault);
    expect(() => basic("name", "password", options)).toThrow(fault);
  });
});

describe("credentials", () => {
  const secret = "s3cret-s3cret";
  const all: [string, (options?: object) => Credential, object][] = [
    ["apiKey", (options) => apiKey(secret, options), keyScheme("header", "x-key")],
    ["bearer", (options) => bearer(secret, options), httpScheme("Bearer")],
    ["bearer of a function", (options) => bearer(() => secret, options), httpScheme("Bearer")],
    ["basic", (options) => basic("name", secret, options), httpScheme("Basic")],
  ];

  it.each(all)("are not sent unencrypted to another machine, unless that is allowed: %s", async (_, make, scheme) => {
    for (const url of [
      "http://agent.example/",
      "http://10.0.0.1/",
      "http://localhost.example/",
      "ws://localhost/",
      "no url",
    ]) {
      const refused = shownTo(make(), scheme, url);
      await expect(refused).rejects.toBeInstanceOf(A2AError);
      await expect(refused).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
      expect(Object.keys((await shownTo(make({ allowHttp: true }), scheme, url)).headers)).toHaveLength(1);
    }
    for (const url of ["https://agent.example", "http://localhost:1", "http://127.0.0.2/", "http://[::1]:4/"]) {
      expect(Object.keys((await shownTo(make(), scheme, url)).headers)).toHaveLength(1);
    }
  });

  it.each(all)("do not show their secret when they are looked at: %s", async (_, make) => {
    const it = make();
    for (const text of [inspect(it, { depth: 20, showHidden: true }), String(it), JSON.stringify(it)]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(`name:${secret}`).toString("base64"));
    }
  });

  const unsendable = ["", "a\nb", "a\u0000", "ü", " a", "a ", 7, undefined, null];
  it.each(unsendable)("that cannot be sent are refused, without their text: %j", async (bad) => {
    expect(() => bearer(bad as string)).toThrow(TypeError);
    const key = async () => shownTo(apiKey(bad as string), keyScheme("header", "x-key"));
    await expect(key()).rejects.toThrow(/that cannot be sent|is not a text/);
    const given = shownTo(
      bearer(() => bad as string),
      httpScheme("bearer"),
    );
    await expect(given).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    const later = shownTo(
      bearer(async () => bad as string),
      httpScheme("bearer"),
    );
    await expect(later).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    for (const each of [given, later]) {
      const text = inspect(await each.catch((error: unknown) => error));
      if (typeof bad === "string" && bad.trim().length > 1) expect(text).not.toContain(bad);
    }
  });

  it("of a function that fails are refused, with its error as the cause", async () => {
    const cause = new Error("the vault is closed");
    const failing = shownTo(
      bearer(() => {
        throw cause;
      }),
      httpScheme("bearer"),
    );
    await expect(failing).rejects.toMatchObject({ reason: "UNAUTHENTICATED", cause });
  });

  it("of Basic have no colon in the name and no control characters", () => {
    expect(() => basic("a:b", "c")).toThrow(TypeError);
    expect(() => basic("a", "b\r\nc")).toThrow(TypeError);
    expect(() => basic("a", undefined as never)).toThrow(TypeError);
  });

  it("are one cookie beside others", async () => {
    const { header, third } = { header: keyScheme("cookie", "key"), third: keyScheme("COOKIE", "third") };
    const card = create(AgentCardSchema, {
      securitySchemes: { a: { scheme: header }, b: { scheme: third } } as never,
      securityRequirements: [{ schemes: { a: {}, b: {} } }],
    });
    const { headers } = await showing({
      card,
      url: "https://a.example",
      credentials: { a: apiKey("1"), b: apiKey("2") },
    }).attempt();
    expect(headers).toEqual({ cookie: "key=1; third=2" });
    await expect(shownTo(apiKey("a;b"), header)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
  });

  it("of a certificate are the connection's", async () => {
    expect(await shownTo(clientCertificate(), { case: "mtlsSecurityScheme", value: {} })).toEqual({
      headers: {},
      query: {},
    });
  });

  it("that do not do are refused before the call", async () => {
    await expect(shownTo(apiKey("k"), httpScheme("bearer"))).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining('"it" (HTTP authentication, bearer)'),
    });
  });
});

describe("a refusal", () => {
  const scheme = create(SecuritySchemeSchema, { scheme: httpScheme("bearer") } as never);
  const contextFor = () => ({
    card: create(AgentCardSchema),
    name: "it",
    scheme,
    scopes: [],
    url: "https://a.example",
    http: noHttp,
    signal: undefined,
  });
  const target = { header: new Headers(), addQuery: () => {} };

  it("of an old token does not take the new one away", async () => {
    let token = "old";
    const credential = bearer(() => token);
    const [first, second] = [contextFor(), contextFor()];
    await credential.apply(target, first);
    await credential.apply(target, second);
    token = "new";
    expect(await credential.refused?.(first)).toBe(true);
    await credential.apply(target, first);
    // The other call is refused after the first one has used the new token.
    expect(await credential.refused?.(second)).toBe(true);
    // The first call is refused again with the newest token, so it cannot be repeated.
    expect(await credential.refused?.(first)).toBe(false);
  });
});
