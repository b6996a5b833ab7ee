import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";
import { afterAll, beforeAll, expect, it } from "vitest";
import { oauth2Scheme, openIdConnectScheme } from "../../src/auth/index.js";
import { type Agent, createServer as createParley, reply, type Server } from "../../src/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { setConstantsOfFile } from "../support/constants.js";

// An independent issuer with its own discovery document, keys, tokens and introspection.

const AUDIENCE = "https://agents.example";
const client = { client_id: "caller", client_secret: "secret-of-caller" };
const resourceServer = { client_id: "parley", client_secret: "secret-of-parley" };

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
}

/** A provider configured by its documentation for client credentials with resource indicators (RFC 8707). */
function providerOf(issuer: string, keys: readonly JWK[], accessTokenFormat: "jwt" | "opaque"): Provider {
  const grants = { redirect_uris: [], response_types: [], grant_types: ["client_credentials"] };
  return new Provider(issuer, {
    clients: [
      { ...client, ...grants },
      { ...resourceServer, ...grants },
    ],
    jwks: { keys: [...keys] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: "read write", audience: AUDIENCE, accessTokenFormat }),
      },
    },
  } as never);
}

let issuer = "";
let current: Provider;
let format: "jwt" | "opaque" = "jwt";
let keys: JWK[] = [];
let issuerServer: HttpServer;
let server: Server;

beforeAll(async () => {
  issuerServer = createServer((request, response) => current.callback()(request, response));
  await new Promise<void>((resolve) => issuerServer.listen(0, "127.0.0.1", () => resolve()));
  issuer = `http://127.0.0.1:${(issuerServer.address() as AddressInfo).port}`;
  keys = [await newKey("first")];
  current = providerOf(issuer, keys, format);
  const named = { issuer, audience: AUDIENCE, owner: ({ client_id }: Record<string, unknown>) => String(client_id) };
  const flows = { clientCredentials: { tokenUrl: `${issuer}/token`, scopes: { read: "Read." } } };
  const introspection = {
    url: `${issuer}/token/introspection`,
    clientId: resourceServer.client_id,
    clientSecret: resourceServer.client_secret,
  };
  const agentOf = (name: string, it: ReturnType<typeof oauth2Scheme>): Agent => ({
    card: { name, description: "Says who calls.", version: "1.0.0" },
    responds: "message",
    security: { schemes: { it }, require: [{ it: ["read"] }] },
    async *execute({ caller }) {
      yield reply(caller.owner);
    },
  });
  setConstantsOfFile(issuerBounds, { cooldownMs: 1 });
  server = await createParley({
    agents: {
      oidc: agentOf("OpenID Connect", openIdConnectScheme(named)),
      oauth: agentOf("OAuth 2.0", oauth2Scheme({ ...named, flows })),
      opaque: agentOf("Introspection", oauth2Scheme({ ...named, flows, introspection })),
    },
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    limits: { credentialMemoryMs: 1 },
  });
});
afterAll(async () => {
  await server?.close();
  issuerServer?.closeAllConnections();
  issuerServer?.close();
});

async function token(scope = "read"): Promise<string> {
  const credentials = Buffer.from(`${client.client_id}:${client.client_secret}`).toString("base64");
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: AUDIENCE, scope }),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { access_token: string }).access_token;
}

async function call(tenant: string, bearer: string): Promise<{ status: number; text: string }> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "who?" }] };
  const answer = await fetch(`http://127.0.0.1:${server.port}/${tenant}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ message }),
  });
  return { status: answer.status, text: await answer.text() };
}

it.each(["oidc", "oauth"])("takes the access tokens of oidc-provider: %s", async (tenant) => {
  const answer = await call(tenant, await token());
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"caller"') });
  expect((await call(tenant, await token("write"))).status).toBe(403);
  expect((await call(tenant, "not.a.token")).status).toBe(401);
});

it("takes its opaque tokens by introspection", async () => {
  format = "opaque";
  current = providerOf(issuer, keys, format);
  const bearer = await token();
  expect(bearer).not.toContain(".");
  expect(await call("opaque", bearer)).toMatchObject({ status: 200, text: expect.stringContaining('"caller"') });
  expect((await call("opaque", "unknown")).status).toBe(401);
  expect((await call("oidc", bearer)).status).toBe(401);
  format = "jwt";
  current = providerOf(issuer, keys, format);
});

it("goes on while it rotates its keys", async () => {
  let going = true;
  const refused: unknown[] = [];
  let calls = 0;
  const callers = ["oidc", "oauth", "oidc", "oauth"].map(async (tenant) => {
    while (going) {
      const answer = await call(tenant, await token());
      calls++;
      if (answer.status !== 200) refused.push(answer);
    }
  });
  for (let i = 0; i < 5; i++) {
    // The issuer signs with the first suitable key. It keeps the old key for tokens in use.
    keys = [await newKey(`rotated ${i}`), ...keys].slice(0, 2);
    current = providerOf(issuer, keys, format);
    const before = calls;
    await expect.poll(() => calls, { timeout: 30_000 }).toBeGreaterThan(before + 8);
  }
  going = false;
  await Promise.all(callers);
  expect(refused).toEqual([]);
});
