import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type AgentSecurity,
  apiKeyScheme,
  customScheme,
  httpBasicScheme,
  httpBearerScheme,
  jwtScheme,
} from "../../src/auth/index.js";
import { createA2A, type ServiceInterceptor } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent } from "../../src/testing/index.js";
import { WELL_KNOWN_PATH } from "../../src/wire/card-names.js";
import { obedient } from "../conformance/agents.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { type SecuredWorld, say, secured, securedAgent } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

const worlds: SecuredWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const opened = async (making: Promise<SecuredWorld>): Promise<SecuredWorld> => {
  const world = await making;
  worlds.push(world);
  return world;
};

const key = apiKeyScheme({
  in: "header",
  name: "x-key",
  keys: [{ owner: "machine", key: "k1", scopes: ["write"], claims: { site: "north" } }],
});
const bearer = httpBearerScheme({
  tokens: [
    { owner: "alice", token: "t1", scopes: ["read"], claims: { site: "south", age: 7 } },
    { owner: "alice", token: "t3" },
    { owner: "bob", token: "t2" },
  ],
});
const basic = httpBasicScheme({ users: [{ name: "carol", password: "p" }] });
const schemes = { key, bearer, basic };

const withKey = { "x-key": "k1" };
const withToken = { Authorization: "Bearer t1" };
const withName = { Authorization: `Basic ${Buffer.from("carol:p").toString("base64")}` };

async function ask(security: AgentSecurity, headers: CallOptions["headers"] = {}, text = "turn") {
  const world = await opened(securedAgent(security));
  const driver = world.drivers.get("jsonrpc") as Driver;
  const reply = await driver.call("SendMessage", say(text), { headers });
  const owner = /"owner":"([^"]*)"/.exec(JSON.stringify(reply.message ?? {}))?.[1];
  return { ...reply, owner, challenge: reply.headers["www-authenticate"] };
}

describe("requirements of an agent", () => {
  it("are any one of the schemes where none is given", async () => {
    expect((await ask({ schemes }, withKey)).owner).toBe("machine");
    expect((await ask({ schemes }, withToken)).owner).toBe("alice");
    expect((await ask({ schemes }, withName)).owner).toBe("carol");
  });

  it("name every scheme that would do in WWW-Authenticate [SRV-AUTH-03]", async () => {
    const { challenge, error } = await ask({ schemes, require: [{ bearer: ["read", "list"] }, "key"] });
    expect(error?.reason).toBe("UNAUTHENTICATED");
    expect(challenge).toBe('Bearer realm="bearer", scope="read list", ApiKey realm="key", in="header", name="x-key"');
  });

  it("do not take a scheme that none of them names", async () => {
    expect((await ask({ schemes, require: ["bearer"] }, withKey)).error?.reason).toBe("UNAUTHENTICATED");
  });

  it("need all schemes of one, and give the caller of the first with the scopes and claims of all", async () => {
    const both = { schemes, require: [{ bearer: ["read"], key: ["write"] }] };
    expect((await ask(both, withKey)).error?.reason).toBe("UNAUTHENTICATED");
    expect((await ask(both, withToken)).error?.reason).toBe("UNAUTHENTICATED");
    expect((await ask(both, { ...withKey, ...withToken })).owner).toBe("alice");
    const seen: unknown[] = [];
    const watch: ServiceInterceptor = (next) => (invocation) => {
      seen.push(invocation.call.caller);
      return next(invocation);
    };
    const { drivers } = await opened(securedAgent(both, { interceptors: [watch] }));
    await drivers.get("grpc")?.call("ListTasks", {}, { headers: { ...withKey, ...withToken } });
    expect(seen).toEqual([
      { owner: "alice", authenticated: true, scopes: ["read", "write"], claims: { site: "south", age: 7 } },
    ]);
  });

  it("let no claim of a token be where others are looked for", async () => {
    const claims = JSON.parse('{"__proto__":{"admin":true},"site":"north"}') as Record<string, unknown>;
    const odd = customScheme({
      card: { httpAuthSecurityScheme: { scheme: "X" } },
      authenticate: () => ({ owner: "x", claims }),
    });
    const seen: Readonly<Record<string, unknown>>[] = [];
    const watch: ServiceInterceptor = (next) => (invocation) => {
      seen.push(invocation.call.caller.claims);
      return next(invocation);
    };
    const both = { schemes: { bearer, odd }, require: [{ bearer: [], odd: [] }] };
    const { drivers } = await opened(securedAgent(both, { interceptors: [watch] }));
    await drivers.get("rest")?.call("ListTasks", {}, { headers: withToken });
    expect(seen).toHaveLength(1);
    expect([seen[0]?.admin, seen[0]?.site]).toEqual([undefined, "south"]);
  });

  it("name the scope that is missing, and only to known callers [SRV-AUTH-05 SRV-AUTH-06]", async () => {
    const { error, challenge } = await ask({ schemes, require: [{ bearer: ["read", "admin"] }] }, withToken);
    expect(error).toMatchObject({ reason: "PERMISSION_DENIED", message: "The caller lacks the scope admin." });
    expect(challenge).toBe('Bearer realm="bearer", error="insufficient_scope", scope="read admin"');
    const unknown = await ask({ schemes, require: [{ bearer: ["admin"] }] }, { Authorization: "Bearer no" });
    expect(unknown.error?.reason).toBe("UNAUTHENTICATED");
  });

  it("let those in without credentials where they say so, and nobody with wrong ones", async () => {
    const open = { schemes, require: ["bearer", {}] };
    expect((await ask(open)).message).toBeDefined();
    expect((await ask(open, withToken)).owner).toBe("alice");
    expect((await ask(open, { Authorization: "Bearer no" })).error?.reason).toBe("UNAUTHENTICATED");
  });

  it("take a caller without a name, or what is no caller, for none", async () => {
    for (const found of [{ owner: "" }, {}, true, "me", null, { owner: 7 }]) {
      const own = customScheme({
        card: { httpAuthSecurityScheme: { scheme: "Own" } },
        authenticate: () => found as never,
      });
      expect((await ask({ schemes: { own } })).error?.reason).toBe("UNAUTHENTICATED");
    }
  });

  it("take what a scheme throws for an internal error, and say nothing of it", async () => {
    const own = customScheme({
      card: { httpAuthSecurityScheme: { scheme: "Own" } },
      authenticate: () => Promise.reject(new Error("the password is hunter2")),
    });
    const { error } = await ask({ schemes: { own } });
    expect(error).toMatchObject({ reason: "INTERNAL", message: "Internal error." });
  });

  it("take a known key until it expires", async () => {
    const keys = [
      { owner: "old", key: "k1", expiresAt: Date.now() },
      { owner: "new", key: "k2", expiresAt: Date.now() + 600_000 },
    ];
    const security = { schemes: { key: apiKeyScheme({ in: "header", name: "x-key", keys }) } };
    expect((await ask(security, { "x-key": "k1" })).error?.reason).toBe("UNAUTHENTICATED");
    expect((await ask(security, { "x-key": "k2" })).owner).toBe("new");
  });

  it("leave the choice of callers to a test", async () => {
    const t = testAgent({ ...obedient("x"), security: { schemes } });
    expect((await t.send("echo hello", { caller: { owner: "me" } })).$typeName).toBe("lf.a2a.v1.Task");
    await t.close();
  });
});

describe("requirements of a skill", () => {
  const skills = [{ id: "pay", name: "Pay", description: "Pays.", tags: ["money"] }];
  const security: AgentSecurity = {
    schemes,
    skills: { pay: { require: [{ bearer: ["read"] }] } },
    skillOf: (message) => (message.metadata?.skill as string | undefined) ?? undefined,
  };
  const agent = { ...obedient("skilled", { skills }), security };

  it("are checked for messages that are for it, over every binding", async () => {
    const { drivers } = await opened(secured({ agent }));
    for (const driver of drivers.values()) {
      const pay = { message: { ...say("turn").message, metadata: { skill: "pay" } } } as never;
      const asBob = { headers: { Authorization: "Bearer t2" } };
      expect((await driver.call("SendMessage", pay, asBob)).error?.reason).toBe("PERMISSION_DENIED");
      const streamed = await driver.stream("SendStreamingMessage", pay, asBob).rest();
      expect(streamed.error?.reason).toBe("PERMISSION_DENIED");
      expect((await driver.call("SendMessage", say("turn"), asBob)).error).toBeUndefined();
      expect((await driver.call("SendMessage", pay, { headers: withToken })).error).toBeUndefined();
      expect((await driver.call("SendMessage", pay, { headers: withKey })).error).toMatchObject({
        reason: "UNAUTHENTICATED",
        message: 'Valid credentials are required for the skill "pay".',
      });
    }
  });

  it("are those of a task for good: each message that goes on with it has to meet what the ones before it had to", async () => {
    const { drivers } = await opened(secured({ agent }));
    const withLess = { Authorization: "Bearer t3" };
    for (const driver of drivers.values()) {
      const send = (text: string, message: object, headers: Record<string, string>) =>
        driver.call("SendMessage", { message: { ...say(text).message, ...message } } as never, { headers });
      const taskOf = async (sent: ReturnType<typeof send>) =>
        ((await sent).message as { task: { id: string } }).task.id;
      const metadata = { skill: "pay" };
      const begun = await taskOf(send("ask Whom?", { metadata }, withToken));
      const later = await taskOf(send("ask What?", {}, withLess));
      expect((await send("ask More?", { taskId: later, metadata }, withToken)).error).toBeUndefined();
      for (const taskId of [begun, later]) {
        for (const said of [{}, { metadata: { skill: "other" } }, { metadata }]) {
          expect((await send("turn", { taskId, ...said }, withLess)).error?.reason).toBe("PERMISSION_DENIED");
        }
        const kept = await driver.call("GetTask", { id: taskId }, { headers: withLess });
        expect(kept.message).toMatchObject({ status: { state: "TASK_STATE_INPUT_REQUIRED" } });
        const stranger = await send("turn", { taskId }, { Authorization: "Bearer t2" });
        expect(stranger.error?.reason).toBe("TASK_NOT_FOUND");
        expect((await send("turn", { taskId }, withToken)).error).toBeUndefined();
      }
    }
  });

  it("are in the card, beside the agent's, in the specification's JSON", async () => {
    const { address } = await opened(secured({ agent }));
    const response = await fetch(address.url + WELL_KNOWN_PATH);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      securitySchemes: {
        key: { apiKeySecurityScheme: { location: "header", name: "x-key" } },
        bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } },
        basic: { httpAuthSecurityScheme: { scheme: "Basic" } },
      },
      securityRequirements: [{ schemes: { key: {} } }, { schemes: { bearer: {} } }, { schemes: { basic: {} } }],
      skills: [{ id: "pay", securityRequirements: [{ schemes: { bearer: { list: ["read"] } } }] }],
    });
  });
});

describe("several agents", () => {
  const agents = {
    keys: { ...obedient("keys"), security: { schemes: { key } } },
    tokens: { ...obedient("tokens"), security: { schemes: { bearer } } },
  };

  it("are each guarded by their own declaration", async () => {
    const { drivers } = await opened(secured({ agents }));
    for (const driver of drivers.values()) {
      const call = async (tenant: string, headers: CallOptions["headers"]) =>
        (await driver.call("ListTasks", { tenant }, { headers: headers ?? {} })).error?.reason;
      expect(await call("keys", withKey)).toBeUndefined();
      expect(await call("tokens", withToken)).toBeUndefined();
      expect(await call("keys", withToken)).toBe("UNAUTHENTICATED");
      expect(await call("tokens", withKey)).toBe("UNAUTHENTICATED");
      // A caller without credentials does not learn that the tenant does not exist.
      expect(await call("nowhere", {})).toBe("UNAUTHENTICATED");
      expect(await call("nowhere", withToken)).toBe("UNAUTHENTICATED");
      expect(await call("nowhere", withKey)).toBe("INVALID_PARAMS");
      expect(await call("", {})).toBe("UNAUTHENTICATED");
    }
  });

  it("cannot be reached around their declaration by an interceptor that changes the tenant", async () => {
    const move: ServiceInterceptor = (next) => (invocation) =>
      next({ ...invocation, request: { ...invocation.request, tenant: "tokens" } as never });
    const { drivers } = await opened(secured({ agents, interceptors: [move] }));
    const driver = drivers.get("jsonrpc") as Driver;
    const asKey = await driver.call("ListTasks", { tenant: "keys" }, { headers: withKey });
    expect(asKey.error?.reason).toBe("UNAUTHENTICATED");
    const both = await driver.call("ListTasks", { tenant: "keys" }, { headers: { ...withKey, ...withToken } });
    expect(both.error).toBeUndefined();
  });

  it("do not tell callers without credentials which tenants there are", async () => {
    const agent = { ...obedient("one"), security: { schemes } };
    const { drivers } = await opened(secured({ agent, tenants: ["north"] }));
    for (const driver of drivers.values()) {
      const [known, unknown] = await Promise.all(
        ["north", "nowhere"].map(async (tenant) => {
          const { error, headers } = await driver.call("ListTasks", { tenant });
          const { "x-request-id": _id, date: _date, ...others } = headers;
          return { error, others: JSON.stringify(others).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id") };
        }),
      );
      expect(known?.error?.reason).toBe("UNAUTHENTICATED");
      expect(known).toEqual(unknown);
    }
  });
});

describe("a declaration", () => {
  const faultsOf = (security: unknown, card: object = {}): string => {
    try {
      createA2A({ agent: { ...obedient("x", card), security: security as AgentSecurity }, store: memoryStore() });
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const token = { jwks: "https://issuer.example/jwks", issuer: "https://issuer.example", audience: "agents" };

  it.each<readonly [string, unknown, string]>([
    ["no schemes", {}, "security.schemes is missing"],
    ["what is no scheme", { schemes: { a: {} } }, "security.schemes.a is not a scheme"],
    ["a misspelt name", { schemes, requires: ["key"] }, "security.requires is not known: did you mean require?"],
    [
      "a misspelt name of a skill",
      { schemes, skills: { a: { requires: ["key"], require: ["key"] } }, skillOf: () => "a" },
      "security.skills.a.requires is not known: did you mean require?",
    ],
    [
      "a misspelt name of a known key",
      { schemes: { a: apiKeyScheme({ in: "header", name: "a", keys: [{ owner: "a", kee: "b" } as never] }) } },
      "keys[0].kee is not known: did you mean key?",
    ],
    ["an empty list", { schemes, require: [] }, "security.require is empty"],
    ["an unknown scheme", { schemes, require: ["other"] }, 'names the scheme "other"'],
    ["scopes of no form", { schemes, require: [{ key: ["a b"] }] }, "security.require[0].key is not a list of scopes"],
    [
      "an unknown skill",
      { schemes, skills: { a: { require: ["key"] } }, skillOf: () => "a" },
      "skills.a is not a skill",
    ],
    ["skills that nothing tells", { schemes, skills: {}, skillOf: 7 }, "security.skillOf is not a function"],
    [
      "a key and its digest",
      {
        schemes: {
          a: apiKeyScheme({ in: "header", name: "a", keys: [{ owner: "a", key: "b", sha256: "a".repeat(64) }] }),
        },
      },
      "needs either key or its sha256",
    ],
    [
      "a token that no client can send",
      { schemes: { a: httpBearerScheme({ tokens: [{ owner: "a", token: "a b" }] }) } },
      "tokens[0].token is a text, not a token of letters, digits and -._~+/",
    ],
    [
      "an API key without a check",
      { schemes: { a: apiKeyScheme({ in: "header", name: "a" }) } },
      "needs either keys or check",
    ],
    [
      "a name that is none",
      { schemes: { a: apiKeyScheme({ in: "header", name: "a b", keys: [] }) } },
      "name is not a valid name",
    ],
    [
      "JWKS without TLS",
      { schemes: { a: jwtScheme({ ...token, jwks: "http://issuer.example/jwks" }) } },
      "jwks is not https",
    ],
    ["no issuer", { schemes: { a: jwtScheme({ ...token, issuer: "" }) } }, "issuer is missing"],
    ["no audience", { schemes: { a: jwtScheme({ ...token, audience: [] }) } }, "audience is missing"],
    [
      "a shared secret",
      { schemes: { a: jwtScheme({ ...token, algorithms: ["HS256"] }) } },
      "not a signature with a public key",
    ],
    [
      "no signature",
      { schemes: { a: jwtScheme({ ...token, algorithms: ["none"] }) } },
      "not a signature with a public key",
    ],
    [
      "two issuers who share names",
      { schemes: { a: jwtScheme(token), b: jwtScheme({ ...token, issuer: "https://other.example" }) } },
      "names of several issuers",
    ],
  ])("is refused with %s", (_name, security, fault) => {
    expect(faultsOf(security)).toContain(fault);
  });

  it("is refused beside a card that says the same", () => {
    const card = { securitySchemes: { a: { httpAuthSecurityScheme: { scheme: "Bearer" } } } };
    expect(faultsOf({ schemes }, card)).toContain("come from security: leave them out");
  });

  it("tells no secret in its faults", () => {
    const keys = [{ owner: "", key: "sesame" }];
    expect(faultsOf({ schemes: { a: apiKeyScheme({ in: "header", name: "a", keys }) } })).not.toContain("sesame");
  });
});
