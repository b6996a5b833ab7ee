import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  apiKeyScheme,
  customScheme,
  httpBasicScheme,
  httpBearerScheme,
  jwtScheme,
  oauth2Scheme,
  openIdConnectScheme,
  Refusal,
  type SecurityScheme,
} from "../../src/auth/index.js";
import { cover } from "../support/cover.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { TestIssuer } from "./issuer.js";
import { everyBinding, type SecuredWorld, say, securedAgent, titleOf } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const now = (): number => Math.floor(Date.now() / 1000);
const bearer = (token: string): CallOptions => ({ headers: { Authorization: `Bearer ${token}` } });
const basic = (text: string): CallOptions => ({
  headers: { Authorization: `Basic ${Buffer.from(text).toString("base64")}` },
});

/** Secrets that must not appear in answers or logs. */
const secrets = [
  "client secret",
  "client%20secret",
  "key-of-alice-4711",
  "password-of-bob",
  "token-of-carol",
  "a-wrong-key-0815",
  "hawk-secret",
];

/** Result of a call: its owner, or the reason of the refusal. */
type End =
  | { readonly owner: string }
  | { readonly reason: string; readonly message: string; readonly challenge: string };

const right = (owner: string): End => ({ owner });
const unauthenticated = (message: string, challenge: string): End => ({
  reason: "UNAUTHENTICATED",
  message,
  challenge,
});
const none = "Valid credentials are required.";

interface Row {
  readonly name: string;
  /** The credentials that the client sends. */
  readonly send: (issuer: TestIssuer) => CallOptions | Promise<CallOptions>;
  readonly end: End;
  /** True if the client has to write the URL itself. */
  readonly needsUrl?: boolean;
}

interface Table {
  readonly scheme: (issuer: TestIssuer) => SecurityScheme;
  readonly scopes?: readonly string[];
  readonly rows: readonly Row[];
}

const invalid = (message: string): End =>
  unauthenticated(message, `Bearer realm="it", scope="read", error="invalid_token", error_description="${message}"`);

const keyTable = (location: "header" | "query" | "cookie", send: (key: string) => CallOptions): Table => ({
  scheme: () => apiKeyScheme({ in: location, name: "X-Key", keys: [{ owner: "alice", key: "key-of-alice-4711" }] }),
  rows: [
    { name: "right", send: () => send("key-of-alice-4711"), end: right("alice") },
    {
      name: "wrong",
      send: () => send("a-wrong-key-0815"),
      end: unauthenticated("The API key is not accepted.", `ApiKey realm="it", in="${location}", name="X-Key"`),
    },
    {
      name: "right but for its last character",
      send: () => send("key-of-alice-4712"),
      end: unauthenticated("The API key is not accepted.", "ApiKey"),
    },
    { name: "missing", send: () => ({}), end: unauthenticated(none, `ApiKey realm="it", in="${location}"`) },
    { name: "empty", send: () => send(""), end: unauthenticated(none, "ApiKey") },
    { name: "in another place", send: () => bearer("key-of-alice-4711"), end: unauthenticated(none, "ApiKey") },
  ].map((row) => ({ ...row, needsUrl: location === "query" })),
});

const tables: Record<string, Table> = {
  "API key in a header": keyTable("header", (key) => ({ headers: { "X-Key": key } })),
  "API key in a cookie": keyTable("cookie", (key) => ({ headers: { Cookie: `a=b; X-Key=${key}; c=d` } })),
  "API key in the query": keyTable("query", (key) => ({ query: { "X-Key": key } })),
  Basic: {
    scheme: () => httpBasicScheme({ users: [{ name: "bob", password: "password-of-bob" }] }),
    rows: [
      { name: "right", send: () => basic("bob:password-of-bob"), end: right("bob") },
      {
        name: "wrong password",
        send: () => basic("bob:a-wrong-key-0815"),
        end: unauthenticated("Name or password is not accepted.", 'Basic realm="it", charset="UTF-8"'),
      },
      {
        name: "wrong name",
        send: () => basic("eve:password-of-bob"),
        end: unauthenticated("Name or password is not accepted.", "Basic"),
      },
      {
        name: "no colon",
        send: () => basic("bob"),
        end: unauthenticated("Name or password is not accepted.", "Basic"),
      },
      {
        name: "no base64",
        send: () => ({ headers: { Authorization: "Basic ???" } }),
        end: unauthenticated("Name or password is not accepted.", "Basic"),
      },
      { name: "missing", send: () => ({}), end: unauthenticated(none, "Basic") },
      { name: "another scheme", send: () => bearer("password-of-bob"), end: unauthenticated(none, "Basic") },
    ],
  },
  "opaque bearer token": {
    scheme: () =>
      httpBearerScheme({
        tokens: [{ owner: "carol", token: "token-of-carol", scopes: ["read"] }],
      }),
    scopes: ["read"],
    rows: [
      { name: "right", send: () => bearer("token-of-carol"), end: right("carol") },
      {
        name: "in small letters",
        send: () => ({ headers: { Authorization: "bearer token-of-carol" } }),
        end: right("carol"),
      },
      { name: "wrong", send: () => bearer("a-wrong-key-0815"), end: invalid("The token is not accepted.") },
      {
        name: "of no form",
        send: () => ({ headers: { Authorization: "Bearer a b" } }),
        end: invalid("The token is not accepted."),
      },
      {
        name: "two of them",
        send: () => ({ headers: { Authorization: "Bearer token-of-carol, Bearer token-of-carol" } }),
        end: invalid("The token is not accepted."),
      },
      { name: "missing", send: () => ({}), end: unauthenticated(none, 'Bearer realm="it", scope="read"') },
      { name: "another scheme", send: () => basic("carol:token-of-carol"), end: unauthenticated(none, "Bearer") },
    ],
  },
  JWT: {
    scheme: ({ jwks, url }) => jwtScheme({ jwks, issuer: url, audience: "agents" }),
    scopes: ["read"],
    rows: [
      { name: "right", send: async (issuer) => bearer(await issuer.token()), end: right("alice") },
      {
        name: "for several audiences",
        send: async (issuer) => bearer(await issuer.token({ aud: ["others", "agents"] })),
        end: right("alice"),
      },
      {
        name: "expired",
        send: async (issuer) => bearer(await issuer.token({ exp: now() - 60 })),
        end: invalid("The token has expired."),
      },
      {
        name: "expired within the tolerance",
        send: async (issuer) => bearer(await issuer.token({ exp: now() - 1 })),
        end: right("alice"),
      },
      {
        name: "without an end",
        send: async (issuer) => bearer(await issuer.token({ exp: undefined })),
        end: invalid("The token lacks exp."),
      },
      {
        name: "not yet valid",
        send: async (issuer) => bearer(await issuer.token({ nbf: now() + 60 })),
        end: invalid("The token is not valid yet."),
      },
      { name: "missing", send: () => ({}), end: unauthenticated(none, 'Bearer realm="it", scope="read"') },
      {
        name: "of another audience",
        send: async (issuer) => bearer(await issuer.token({ aud: "others" })),
        end: invalid("The token is for another audience."),
      },
      {
        name: "without an audience",
        send: async (issuer) => bearer(await issuer.token({ aud: undefined })),
        end: invalid("The token lacks aud."),
      },
      {
        name: "of another issuer",
        send: async (issuer) => bearer(await issuer.token({ iss: "https://evil.example" })),
        end: invalid("The token is of another issuer."),
      },
      {
        name: "without a subject",
        send: async (issuer) => bearer(await issuer.token({ sub: undefined })),
        end: invalid("The token does not name a subject."),
      },
      {
        name: "without the scope",
        send: async (issuer) => bearer(await issuer.token({ scope: "write readonly" })),
        end: {
          reason: "PERMISSION_DENIED",
          message: "The caller lacks the scope read.",
          challenge: 'Bearer realm="it", error="insufficient_scope", scope="read"',
        },
      },
      {
        name: "with its scopes as a list",
        send: async (issuer) => bearer(await issuer.token({ scope: undefined, scp: ["write", "read"] })),
        end: right("alice"),
      },
      {
        name: "HS256 with the public key as the secret",
        send: async (issuer) => bearer(await hs256(issuer)),
        end: invalid("The token's algorithm is not allowed."),
      },
      {
        name: "the algorithm none",
        send: (issuer) => bearer(unsigned(issuer)),
        end: invalid("The token's algorithm is not allowed."),
      },
      {
        name: "signed with the key that it brings (jwk)",
        send: async (issuer) => bearer(await issuer.forged({}, { kid: issuer.keyId(), jwk: true })),
        end: invalid("The token's signature is wrong."),
      },
      {
        name: "signed with a key at an address that it brings (jku)",
        send: async (issuer) => bearer(await issuer.forged({}, { kid: "theirs", jku: "http://127.0.0.1:9/jwks" })),
        end: invalid("The token is signed with an unknown key."),
      },
      {
        name: "forged under the id of the key",
        send: async (issuer) => bearer(await issuer.forged({}, { kid: issuer.keyId() })),
        end: invalid("The token's signature is wrong."),
      },
      {
        name: "changed afterwards",
        send: async (issuer) => bearer(changed(await issuer.token())),
        end: invalid("The token's signature is wrong."),
      },
      {
        name: "with an extension that has to be understood (crit)",
        send: async (issuer) => {
          const [, ...rest] = (await issuer.token()).split(".");
          return bearer([part({ alg: "ES256", kid: issuer.keyId(), crit: ["x"], x: 1 }), ...rest].join("."));
        },
        end: invalid("The token is malformed."),
      },
      { name: "no token", send: () => bearer("a.b.c"), end: invalid("The token is malformed.") },
      { name: "too long", send: () => bearer("a".repeat(9_000)), end: invalid("The token is malformed.") },
      { name: "another scheme", send: () => basic("alice:x"), end: unauthenticated(none, "Bearer") },
    ],
  },
  "one of the author's own": {
    scheme: () =>
      customScheme({
        card: { httpAuthSecurityScheme: { scheme: "Hawk" } },
        authenticate: (call) => {
          const header = call.header("authorization");
          if (header?.startsWith("Hawk ") !== true) return undefined;
          return header === "Hawk hawk-secret" ? { owner: "dora" } : new Refusal("Not this hawk.");
        },
      }),
    rows: [
      { name: "right", send: () => ({ headers: { Authorization: "Hawk hawk-secret" } }), end: right("dora") },
      {
        name: "wrong",
        send: () => ({ headers: { Authorization: "Hawk x" } }),
        end: unauthenticated("Not this hawk.", 'Hawk realm="it"'),
      },
      { name: "missing", send: () => ({}), end: unauthenticated(none, 'Hawk realm="it"') },
    ],
  },
};

const flows = { clientCredentials: { tokenUrl: "https://issuer.example/token", scopes: { read: "Read." } } };
const ofJwt = (tables.JWT as Table).rows;
tables["OAuth 2.0, JWT"] = {
  scheme: ({ url }) => oauth2Scheme({ issuer: url, audience: "agents", flows }),
  scopes: ["read"],
  rows: [
    ...ofJwt,
    {
      name: "a JWT that is no access token",
      send: async (issuer) => bearer(await issuer.token({}, { typ: "JWT" })),
      end: invalid("The token is of another type."),
    },
  ],
};
tables["OpenID Connect"] = {
  scheme: ({ url }) => openIdConnectScheme({ issuer: url, audience: "agents" }),
  scopes: ["read"],
  rows: ofJwt,
};

/** An opaque token about which the issuer answers this. */
const opaque = (says: (issuer: TestIssuer) => object): Row["send"] => {
  return (issuer) => {
    const token = `opaque-${Math.random()}`;
    issuer.made.push(token);
    issuer.opaque.set(token, { active: true, sub: "alice", scope: "read", aud: "agents", ...says(issuer) });
    return bearer(token);
  };
};
tables["OAuth 2.0, introspection"] = {
  scheme: ({ url }) =>
    oauth2Scheme({
      issuer: url,
      audience: "agents",
      flows,
      introspection: { url: `${url}/introspect`, clientId: "parley", clientSecret: "client secret" },
    }),
  scopes: ["read"],
  rows: [
    { name: "right", send: opaque(() => ({ exp: now() + 60 })), end: right("alice") },
    { name: "without an end", send: opaque(() => ({})), end: right("alice") },
    { name: "unknown", send: () => bearer("a-wrong-key-0815"), end: invalid("The token is not active.") },
    { name: "revoked", send: opaque(() => ({ active: false })), end: invalid("The token is not active.") },
    { name: "expired", send: opaque(() => ({ exp: now() - 60 })), end: invalid("The token has expired.") },
    { name: "not yet valid", send: opaque(() => ({ nbf: now() + 60 })), end: invalid("The token is not valid yet.") },
    {
      name: "of another issuer",
      send: opaque(() => ({ iss: "https://evil.example" })),
      end: invalid("The token is of another issuer."),
    },
    {
      name: "of another audience",
      send: opaque(() => ({ aud: ["others"] })),
      end: invalid("The token is for another audience."),
    },
    {
      name: "without an audience",
      send: opaque(() => ({ aud: undefined })),
      end: invalid("The token is for another audience."),
    },
    {
      name: "without a subject",
      send: opaque(() => ({ sub: undefined })),
      end: invalid("The token does not name a subject."),
    },
    {
      name: "without the scope",
      send: opaque(() => ({ scope: "write" })),
      end: {
        reason: "PERMISSION_DENIED",
        message: "The caller lacks the scope read.",
        challenge: 'error="insufficient_scope", scope="read"',
      },
    },
    { name: "missing", send: () => ({}), end: unauthenticated(none, 'Bearer realm="it", scope="read"') },
  ],
};

const part = (json: object): string => Buffer.from(JSON.stringify(json)).toString("base64url");

function unsigned({ url }: TestIssuer): string {
  const claims = { iss: url, aud: "agents", sub: "alice", exp: now() + 600, scope: "read" };
  return `${part({ alg: "none" })}.${part(claims)}.`;
}

async function hs256(issuer: TestIssuer): Promise<string> {
  const { createHmac } = await import("node:crypto");
  const claims = { iss: issuer.url, aud: "agents", sub: "alice", exp: now() + 600, scope: "read" };
  const signed = `${part({ alg: "HS256", kid: issuer.keyId() })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", await issuer.publicPem())
    .update(signed)
    .digest("base64url")}`;
}

/** The same token with another subject. */
function changed(token: string): string {
  const [header, payload = "", signature] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  return `${header}.${part({ ...claims, sub: "bob" })}.${signature}`;
}

/** The kind of a result, with all words in which bindings may differ. */
const kindOf = ({ end }: Row): string => ("owner" in end ? "accepted" : `${end.reason}: ${end.message}`);

// Each row once, each kind of result over each binding, and each scheme over each binding.
const covered = cover(
  Object.entries(tables).flatMap(([scheme, { rows }]) =>
    rows.flatMap((row) => everyBinding.map((binding) => ({ scheme, row, binding: titleOf(binding) }))),
  ),
  ({ scheme, row, binding }) =>
    [
      [scheme, row.name],
      [kindOf(row), binding],
      [scheme, binding],
    ].map((trait) => JSON.stringify(trait)),
);

describe.each(Object.entries(tables))("%s", (table, { scheme, scopes = [] }) => {
  let issuer: TestIssuer;
  let world: SecuredWorld;
  let refusals = 0;
  beforeAll(async () => {
    issuer = await TestIssuer.start();
    world = await securedAgent({ schemes: { it: scheme(issuer) }, require: [{ it: scopes }] });
  });
  afterAll(async () => {
    await world.close();
    await issuer.close();
  });

  const ofScheme = covered.filter((each) => each.scheme === table);
  const asked = everyBinding.filter((binding) => ofScheme.some((each) => each.binding === titleOf(binding)));
  describe.each(asked.map((binding) => [titleOf(binding), binding] as const))("over %s", (title, { name }) => {
    const rows = ofScheme.filter((each) => each.binding === title).map(({ row }) => row);
    it.each(rows.map((row) => [row.name, row] as const))("%s", async (_row, { send, end, needsUrl = false }) => {
      const driver = world.drivers.get(title) as Driver;
      // Clients of these bindings do not write the URL, so they cannot send a key in the query.
      if (needsUrl && !["jsonrpc", "rest"].includes(name)) return;
      const options = await send(issuer);
      // The second call checks that the cached result of the first one changes nothing.
      for (let i = 0; i < 2; i++) {
        const reply = await driver.call("SendMessage", say("turn"), options);
        if ("owner" in end) expect(JSON.stringify(reply.message)).toContain(`"owner":"${end.owner}"`);
        else refused(reply.error, reply.headers, end);
      }
      const stream = await driver.stream("SendStreamingMessage", say("turn"), options).rest();
      if ("owner" in end) expect(stream.error).toBeUndefined();
      else refused(stream.error, stream.headers, end);
      if (!("owner" in end)) refusals += 3;
    });
  });

  it("leaves a record of each refusal in the audit log, and no secret there or in the log", () => {
    const records = world.log.lines.filter((line) => line.includes("channel: 'audit'"));
    const denied = records.filter((line) => /^info (authentication\.failed|access\.denied) /.test(line));
    expect(denied).toHaveLength(refusals);
    for (const secret of [...secrets, ...issuer.made]) expect(world.log.text).not.toContain(secret);
  });
});

function refused(
  error: { readonly reason: string | undefined; readonly message: string } | undefined,
  headers: Readonly<Record<string, string>>,
  { reason, message, challenge }: Exclude<End, { owner: string }>,
): void {
  expect(error).toMatchObject({ reason, message });
  expect(headers["www-authenticate"]).toContain(challenge);
  const sent = JSON.stringify([error, headers]);
  for (const secret of secrets) expect(sent).not.toContain(secret);
}
