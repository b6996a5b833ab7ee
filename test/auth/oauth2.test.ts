import { afterEach, describe, expect, it, vi } from "vitest";
import { type AgentSecurity, apiKeyScheme, oauth2Scheme, openIdConnectScheme } from "../../src/auth/index.js";
import { createA2A } from "../../src/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { WELL_KNOWN_PATH } from "../../src/wire/card-names.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import type { Driver, Reply } from "../support/driver.js";
import { TestIssuer } from "./issuer.js";
import { type SecuredWorld, secured, securedAgent } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const flows = { clientCredentials: { tokenUrl: "https://issuer.example/token", scopes: { read: "Read." } } };

async function start(schemes: (issuer: TestIssuer) => AgentSecurity["schemes"], cooldownMs = 600_000) {
  setConstants(issuerBounds, { cooldownMs });
  const issuer = await TestIssuer.start();
  const world = await securedAgent({ schemes: schemes(issuer) });
  open.push(issuer, world);
  return { issuer, world };
}

function call(world: SecuredWorld, token: string, title = "rest"): Promise<Reply> {
  const driver = world.drivers.get(title) as Driver;
  return driver.call("ListTasks", {}, { headers: { Authorization: `Bearer ${token}` } });
}

describe("discovery", () => {
  it.each([
    ["of another issuer", { issuer: "https://evil.example" }],
    ["with keys that are fetched without TLS", { jwks_uri: "http://evil.example/jwks" }],
    ["without keys", { jwks_uri: undefined }],
  ])("does not take metadata %s", async (_name, metadata) => {
    for (const make of [
      (url: string) => oauth2Scheme({ issuer: url, audience: "agents", flows }),
      (url: string) => openIdConnectScheme({ issuer: url, audience: "agents" }),
    ]) {
      const { issuer, world } = await start(({ url }) => ({ it: make(url) }));
      issuer.metadata = metadata;
      expect((await call(world, await issuer.token())).error?.reason).toBe("UNAVAILABLE");
      expect(issuer.asked).toBe(0);
    }
  });

  it("finds keys that rotate", async () => {
    const { issuer, world } = await start(
      ({ url }) => ({ it: openIdConnectScheme({ issuer: url, audience: "agents" }) }),
      1,
    );
    expect((await call(world, await issuer.token())).error).toBeUndefined();
    await issuer.rotate({ keepOld: false });
    expect((await call(world, await issuer.token())).error).toBeUndefined();
  });
});

describe("introspection", () => {
  const introspected = ({ url }: TestIssuer): AgentSecurity["schemes"] => ({
    it: oauth2Scheme({
      issuer: url,
      audience: "agents",
      flows,
      introspection: { url: `${url}/introspect`, clientId: "parley", clientSecret: "client secret" },
    }),
  });

  it("asks once for a token that is used again", async () => {
    const { issuer, world } = await start(introspected);
    issuer.opaque.set("t", { active: true, sub: "alice", aud: "agents" });
    for (let i = 0; i < 5; i++) expect((await call(world, "t")).error).toBeUndefined();
    expect(issuer.introspected).toBe(1);
  });

  it("asks once for a token that many calls bring before the answer, each of which gets its caller", async () => {
    const { issuer, world } = await start(introspected);
    issuer.opaque.set("t", { active: true, sub: "alice", aud: "agents" });
    const replies = await Promise.all(Array.from({ length: 20 }, () => call(world, "t")));
    for (const { error } of replies) expect(error).toBeUndefined();
    expect(issuer.introspected).toBe(1);
  });

  it.each(["exp", "nbf"])("refuses a token whose %s is no number, since it could not end", async (name) => {
    const { issuer, world } = await start(introspected);
    for (const [index, value] of ["1", "4102444800", [], {}, true].entries()) {
      issuer.opaque.set(`t${index}`, { active: true, sub: "alice", aud: "agents", [name]: value });
      expect((await call(world, `t${index}`)).error?.reason).toBe("UNAUTHENTICATED");
    }
  });

  it("knows a token that is remembered however the header is written", async () => {
    const { issuer, world } = await start(introspected);
    issuer.opaque.set("t", { active: true, sub: "alice", aud: "agents" });
    const driver = world.drivers.get("rest") as Driver;
    for (const Authorization of ["bearer t", "Bearer t", "BEARER   t", "Bearer t "]) {
      expect((await driver.call("ListTasks", {}, { headers: { Authorization } })).error).toBeUndefined();
    }
    expect(issuer.introspected).toBe(1);
    expect((await call(world, "tt")).error?.reason).toBe("UNAUTHENTICATED");
  });

  it("answers with UNAVAILABLE where the server fails, and rests", async () => {
    const { issuer, world } = await start(introspected);
    issuer.mood = "fails";
    for (let i = 0; i < 5; i++) expect((await call(world, "t")).error?.reason).toBe("UNAVAILABLE");
    expect(issuer.introspected).toBe(1);
    expect(world.log.text).not.toContain("client secret");
  });
});

describe("a token that the authorization server takes offence at", () => {
  it("is refused, and keeps nobody else out", async () => {
    const { issuer, world } = await start(({ url }) => ({
      it: oauth2Scheme({
        issuer: url,
        audience: "agents",
        flows,
        introspection: { url: `${url}/introspect`, clientId: "parley", clientSecret: "client secret" },
      }),
    }));
    issuer.opaque.set("odd", 400);
    issuer.opaque.set("good", { active: true, sub: "alice", aud: "agents" });
    expect((await call(world, "odd")).error?.reason).toBe("UNAUTHENTICATED");
    expect((await call(world, "good")).error).toBeUndefined();
  });
});

describe("metadata of the protected resource (RFC 9728)", () => {
  it("are named in WWW-Authenticate on every binding, and served", async () => {
    const { issuer, world } = await start(({ url }) => ({
      it: oauth2Scheme({ issuer: url, audience: "agents", flows }),
    }));
    for (const driver of world.drivers.values()) {
      const { headers } = await driver.call("ListTasks", {});
      expect(headers["www-authenticate"]).toMatch(
        /^Bearer realm="it", resource_metadata="http:\/\/[^"]+\/\.well-known\/oauth-protected-resource"$/,
      );
    }
    const { headers } = await (world.drivers.get("rest") as Driver).call("ListTasks", {});
    const [, url = ""] = /resource_metadata="([^"]+)"/.exec(headers["www-authenticate"] ?? "") ?? [];
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({
      resource: world.address.url,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ["header"],
      resource_name: expect.any(String),
    });
  });

  it("are each agent's own, with the scopes that it asks for", async () => {
    const issuer = await TestIssuer.start();
    const it = oauth2Scheme({ issuer: issuer.url, audience: "agents", flows, owner: ({ sub }) => `it:${sub}` });
    const key = apiKeyScheme({ in: "header", name: "k", keys: [{ owner: "a", key: "k" }] });
    const world = await secured({
      agents: {
        books: { ...obedient("books"), security: { schemes: { it, key }, require: [{ it: ["read", "list"] }, "key"] } },
        keys: { ...obedient("keys"), security: { schemes: { key } } },
      },
    });
    open.push(issuer, world);
    const path = "/.well-known/oauth-protected-resource";
    expect(await (await fetch(`${world.address.url}${path}/books`)).json()).toMatchObject({
      resource: `${world.address.url}/books`,
      scopes_supported: ["read", "list"],
    });
    expect((await fetch(`${world.address.url}${path}/keys`)).status).toBe(404);
    expect((await fetch(world.address.url + path)).status).toBe(404);
  });

  it("of a resource with a path are in front of the path (RFC 9728, 3.1)", async () => {
    const issuer = await TestIssuer.start();
    const security = { schemes: { it: oauth2Scheme({ issuer: issuer.url, audience: "agents", flows }) } };
    const agent = { ...obedient("books"), security };
    const a2a = createA2A({ agent, store: memoryStore(), basePath: "/agents", allowedHosts: true });
    open.push(issuer, a2a);
    const refused = await a2a.fetch(new Request("https://a.example/agents/tasks"));
    const url = "https://a.example/.well-known/oauth-protected-resource/agents";
    expect(refused.headers.get("www-authenticate")).toContain(`resource_metadata="${url}"`);
    for (const each of [url, "https://a.example/agents/.well-known/oauth-protected-resource"]) {
      const answer = await a2a.fetch(new Request(each));
      expect([each, answer.status]).toEqual([each, 200]);
      expect(await answer.json()).toMatchObject({ resource: "https://a.example/agents" });
    }
    for (const other of [`${url}2`, `${url}/other`, "https://a.example/.well-known/oauth-protected-resource"]) {
      expect([other, (await a2a.fetch(new Request(other))).status]).toEqual([other, 404]);
    }
  });

  it("stand beside the card's own words for OAuth 2.0 and OpenID Connect", async () => {
    const { issuer, world } = await start(({ url }) => ({
      oauth: oauth2Scheme({ issuer: url, audience: "agents", flows }),
      oidc: openIdConnectScheme({ issuer: url, audience: "agents" }),
    }));
    expect(await (await fetch(world.address.url + WELL_KNOWN_PATH)).json()).toMatchObject({
      securitySchemes: {
        oauth: {
          oauth2SecurityScheme: {
            flows,
            oauth2MetadataUrl: `${issuer.url}/.well-known/oauth-authorization-server`,
          },
        },
        oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` } },
      },
    });
  });
});
