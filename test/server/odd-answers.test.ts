import { afterEach, describe, expect, it } from "vitest";
import { authentication } from "../../src/auth/checks-under-way.js";
import { customScheme, jwtScheme, mutualTlsScheme } from "../../src/auth/index.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { acceptance } from "../../src/engine/send/send.js";
import { type A2AOptions, type Agent, type Call, completed, createServer, type Server } from "../../src/index.js";
import { extendedCard } from "../../src/service/operations/extended-card.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { TestIssuer } from "../auth/issuer.js";
import { setConstants } from "../support/constants.js";

/**
 * Odd answers of an author's functions in plain JavaScript. None of them admits a caller, ends the server or blocks for
 * ever.
 */

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
const hostile = new Proxy(
  {},
  {
    get() {
      throw revoked();
    },
  },
);
// biome-ignore lint/suspicious/noThenProperty: promises of other libraries have one
const never = { then: () => {} };
const thrown = (what: unknown) => (): never => {
  throw what;
};

/** Returns nothing, whatever is asked. */
const nonsense: Record<string, () => unknown> = {
  null: () => null,
  "a number": () => 7,
  "a symbol": () => Symbol("odd"),
  "an empty text": () => "",
  "a function": () => () => {},
  "an empty object": () => ({}),
  "a revoked proxy": revoked,
  "a proxy that throws": () => hostile,
  "a promise of a revoked proxy": () => Promise.reject(revoked()),
  "a throw of nothing": thrown(undefined),
  "a throw of a revoked proxy": thrown(revoked()),
  "a promise of another library that is never kept": () => never,
  "a promise that is never kept": () => new Promise(() => {}),
};

/** Values that resemble a caller. */
const callers: Record<string, () => unknown> = {
  undefined: () => undefined,
  "a caller without a name": () => ({ owner: "" }),
  "a caller whose name is a number": () => ({ owner: 7 }),
  "a caller whose name is no Unicode": () => ({ owner: "a\ud800" }),
  "a caller with a name of 10 MB": () => ({ owner: "x".repeat(10_000_000) }),
  "a caller whose name is one character too long": () => ({ owner: "x".repeat(1_025), scopes: ["read"] }),
  "a caller whose name throws": () => ({
    get owner() {
      throw revoked();
    },
  }),
  "a caller whose scopes are a text": () => ({ owner: "alice", scopes: "read and write" }),
  "a caller whose scopes are none": () => ({ owner: "alice", scopes: null }),
  "a caller with a scope that is no text": () => ({ owner: "alice", scopes: ["read", 7] }),
  "a caller whose end is no time": () => ({ owner: "alice", scopes: ["read"], expiresAt: Number.NaN }),
  "a caller whose end is a text": () => ({ owner: "alice", scopes: ["read"], expiresAt: "2999-01-01" }),
  "a caller whose scopes throw": () => ({ owner: "alice", scopes: hostile }),
};

/** Names that the server's `ownerOf` may give. */
const names: Record<string, () => unknown> = {
  undefined: () => undefined,
  "no Unicode": () => "a\ud800",
  "10 MB": () => "x".repeat(10_000_000),
};

const base: Agent = {
  card: {
    ...{ name: "Odd", description: "Has odd functions.", version: "1.0.0" },
    capabilities: { extendedAgentCard: true },
    skills: [{ id: "pay", name: "Pay", description: "Pays.", tags: ["x"] }],
  },
  async *execute() {
    yield completed("done");
  },
};

let server: Server;
let answer: () => unknown = () => undefined;
afterEach(async () => {
  unhandled.splice(0);
  await server.close({ graceMs: 0 });
});

async function serve(options: Partial<A2AOptions>, timeoutMs = 100): Promise<void> {
  setConstants(authentication, { timeoutMs });
  for (const constants of [extendedCard, acceptance]) setConstants(constants, { timeoutMs: 100 });
  const given = { agent: base, ...options } as A2AOptions;
  server = await createServer({ ...given, store: memoryStore(), port: 0, grpcPort: 0, limits: { maxCalls: 1 } });
}

const headers = (user: string) => ({ "a2a-version": "1.0", "content-type": "application/json", "x-user": user });
const get = async (path: string, user: string): Promise<number> =>
  (await fetch(`${server.url}${path}`, { headers: headers(user) })).status;

async function send(user: string): Promise<number> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
  const body = JSON.stringify({ message });
  return (await fetch(`${server.url}/message:send`, { method: "POST", headers: headers(user), body })).status;
}

/** Bob is an ordinary caller; of others the odd function decides. */
const found = (user: string | undefined): never =>
  (user === "bob" ? { owner: "bob", scopes: ["read"] } : answer()) as never;

const odd = customScheme({
  card: { httpAuthSecurityScheme: { scheme: "Odd" } },
  authenticate: (call) => found(call.header("x-user")),
});
const other = customScheme({
  card: { httpAuthSecurityScheme: { scheme: "Other" } },
  authenticate: () => ({ owner: "other" }),
});
const plain = customScheme({
  card: { httpAuthSecurityScheme: { scheme: "Plain" } },
  authenticate: (call) => ({ owner: call.header("x-user") ?? "nobody" }),
});

const schemeParts = { limits: defaultLimits, logger: silentLogger };

const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

const whoCalls: Record<string, Partial<A2AOptions>> = {
  "an authenticator": { authenticator: { authenticate: (call) => found(call.header("x-user")) } },
  "a scheme": { agent: { ...base, security: { schemes: { odd }, require: [{ odd: [] }] } } },
  "a scheme with scopes": { agent: { ...base, security: { schemes: { odd }, require: [{ odd: ["read"] }] } } },
  "one of two schemes": {
    agent: { ...base, security: { schemes: { odd, other }, require: [{ odd: ["read"], other: [] }] } },
  },
};

describe.each(Object.entries(whoCalls))("%s that answers with", (_place, options) => {
  it.each(Object.entries({ ...nonsense, ...callers }))("%s lets nobody in", async (_name, answers) => {
    await serve(options);
    answer = answers;
    expect([401, 403, 500, 503]).toContain(await get("/tasks", "eve"));
    expect(await get("/tasks", "bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });
});

describe("ownerOf that answers with", () => {
  it.each(Object.entries({ ...nonsense, ...names }))("%s lets nobody in", async (_name, answers) => {
    await serve({
      agent: { ...base, security: { schemes: { plain } } },
      ownerOf: ({ owner }) => (owner === "bob" ? "bob" : (answers() as string)),
    });
    expect([403, 500]).toContain(await get("/tasks", "eve"));
    expect(await get("/tasks", "bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });
});

describe.each(["owner", "scopes"])("%s of jwt that answers with", (name) => {
  const odds = { ...nonsense, "a text": () => "read", ...(name === "owner" ? names : {}) };
  const { "a text": text, ...others } = odds;
  it.each(Object.entries(name === "owner" ? others : { ...others, "a text": text }))(
    "%s lets nobody in",
    async (_name, answers) => {
      const issuer = await TestIssuer.start();
      const asked = ({ sub }: Readonly<Record<string, unknown>>): never =>
        (sub === "bob" ? (name === "owner" ? "bob" : ["read"]) : answers()) as never;
      const scheme = jwtScheme({ jwks: issuer.jwks, issuer: issuer.url, audience: "agents", [name]: asked });
      await serve({ agent: { ...base, security: { schemes: { scheme }, require: [{ scheme: ["read"] }] } } }, 60_000);
      const as = async (sub: string): Promise<number> => {
        const authorization = `Bearer ${await issuer.token({ sub })}`;
        return (await fetch(`${server.url}/tasks`, { headers: { "a2a-version": "1.0", authorization } })).status;
      };
      expect([401, 403, 500]).toContain(await as("eve"));
      expect(await as("bob")).toBe(200);
      expect(unhandled).toEqual([]);
      await issuer.close();
    },
  );
});

describe.each(["owner", "scopes"])("%s of mutualTls that answers with", (name) => {
  it.each(Object.entries({ ...nonsense, "a text": () => "read" }))("%s lets nobody in", async (_name, answers) => {
    const certificate = { subject: "CN=eve", names: [], fingerprint: "AB" };
    const scheme = mutualTlsScheme({ [name]: answers });
    const authenticate = (call: Call): never =>
      (call.header("x-user") === "bob"
        ? { owner: "bob", scopes: ["read"] }
        : scheme.open(schemeParts).check({ ...call, peer: { certificate } } as unknown as Call)) as never;
    const asked = customScheme({ card: { httpAuthSecurityScheme: { scheme: "Odd" } }, authenticate });
    await serve({ agent: { ...base, security: { schemes: { asked }, require: [{ asked: ["read"] }] } } });
    expect([401, 403, 500]).toContain(await get("/tasks", "eve"));
    expect(await get("/tasks", "bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });
});

describe("skillOf that answers with", () => {
  const { null: nothing, ...odds } = nonsense;
  const cases = { ...odds, "a promise of a skill": async () => "pay", "a skill in a list": () => ["pay"] };
  it.each(Object.entries(cases))("%s opens no skill", async (_name, answers) => {
    const skills = { pay: { require: [{ plain: ["pay"] }] } };
    const skillOf = (): never => answers() as never;
    await serve({ agent: { ...base, security: { schemes: { plain }, require: ["plain"], skills, skillOf } } });
    // No skill has the empty text as its name.
    expect(await send("eve")).toBe(answers === nonsense["an empty text"] ? 200 : 500);
    expect(await get("/tasks", "bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });

  it("null names none, as undefined does", async () => {
    const skills = { pay: { require: [{ plain: ["pay"] }] } };
    const skillOf = (): string => nothing?.() as string;
    await serve({ agent: { ...base, security: { schemes: { plain }, require: ["plain"], skills, skillOf } } });
    expect(await send("eve")).toBe(200);
  });
});

describe("an extended card that is", () => {
  // An empty object changes nothing of the public card.
  const { "an empty object": _same, ...cases } = nonsense;
  it.each(Object.entries(cases))("%s is none", async (_name, answers) => {
    const extendedCard = (): never => answers() as never;
    await serve({ agent: { ...base, extendedCard, security: { schemes: { plain } } } });
    expect([403, 500, 503]).toContain(await get("/extendedAgentCard", "eve"));
    expect(await get("/tasks", "bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });
});

describe("accept() that ends with", () => {
  /** Answers without a meaning: only a thrown error refuses a message. */
  const harmless = ["null", "a number", "a symbol", "an empty text", "a function", "an empty object"];
  it.each(Object.entries(nonsense))("%s holds nobody up", async (name, answers) => {
    const accept = (_request: unknown, { owner }: { owner: string }): void =>
      owner === "bob" ? undefined : (answers() as never);
    await serve({ agent: { ...base, accept, security: { schemes: { plain } } } });
    const status = await send("eve");
    expect([status, name]).toEqual([harmless.includes(name) ? 200 : status === 503 ? 503 : 500, name]);
    expect(await send("bob")).toBe(200);
    expect(unhandled).toEqual([]);
  });
});
