import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { credentialsCheck } from "../../src/admin/access.js";
import { failedAttempts } from "../../src/auth/throttle.js";
import { sessionIdle } from "../../src/console/sessions.js";
import type { Call } from "../../src/core/call.js";
import { createServer } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import {
  ask,
  type ConsoleWorld,
  cookieIn,
  follow,
  isOpen,
  logIn,
  openConsole,
  own,
  sessionOf,
  tokenIn,
  useTestFiles,
} from "./world.js";

let world: ConsoleWorld;
let base: string;
beforeAll(async () => {
  world = await openConsole({ admin: { listen: "127.0.0.1:0", tokens: operators } });
  base = world.base;
});
afterAll(() => world.server.close());

const link = (): { readonly token: string } => ({ token: tokenIn(world.server.consoleUrl) });

describe("a session of the console", () => {
  it("begins by a one-time link, once, and the next link is logged", async () => {
    const { token } = link();
    const { status, headers } = await logIn(base, { token });
    expect(status).toBe(204);
    const port = new URL(base).port;
    const form = new RegExp(`^parley-console-${port}=[\\w-]{43}; Path=/console; HttpOnly; SameSite=Strict$`);
    expect(headers["set-cookie"]).toEqual([expect.stringMatching(form)]);
    expect((await logIn(base, { token })).status).toBe(401);
    const next = world.lines.find(({ facts }) => facts.url === world.server.consoleUrl);
    expect(next?.message).toMatch(/opens it once more/);
    expect(tokenIn(world.server.consoleUrl)).not.toBe(token);
    expect((await logIn(base, link())).status).toBe(204);
  });

  it("tells who the operator is, and what there is", async () => {
    const session = await sessionOf(base, link());
    const { status, headers, text } = await ask(`${base}/api/session`, { headers: session });
    expect(status).toBe(200);
    expect(headers["cache-control"]).toBe("no-store");
    expect(JSON.parse(text)).toEqual({
      operator: { name: "console", role: "write" },
      admin: true,
      agents: [{ name: "shown", url: "/", own: true }],
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });

  it("has the metrics of the server, also where operators are not served them elsewhere", async () => {
    const { status, headers, text } = await ask(`${base}/api/admin/metrics`, {
      headers: await sessionOf(base, bearer(tokens.read)),
    });
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([
      200,
      expect.stringContaining("text/plain"),
      "no-store",
    ]);
    expect(text).toMatch(/^parley_ready\{state="ready"\} 1$/m);
    expect((await ask(`${base}/api/admin/metrics`, { headers: own })).status).toBe(401);
  });

  it.each([
    ["rita", "read", tokens.read],
    ["wendy", "write", tokens.write],
  ])("begins by the token of %s with the role %s", async (name, role, token) => {
    const session = await sessionOf(base, bearer(token));
    const { text } = await ask(`${base}/api/session`, { headers: session });
    expect(JSON.parse(text).operator).toEqual({ name, role });
  });

  it("is audited with the name of its operator", async () => {
    world.records.length = 0;
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-request-id": "r-1" };
    await sessionOf(base, { ...bearer(tokens.read), ...traced });
    await logIn(base, { token: "not-the-token" });
    await logIn(base, bearer(tokens.wrong));
    expect(world.records).toMatchObject([
      {
        event: "admin.login",
        operator: "rita",
        traceId,
        requestId: "r-1",
        binding: "console",
        address: "127.0.0.1",
        service: "admin",
      },
      { event: "authentication.failed", reason: "refused", scheme: "link", service: "admin", address: "127.0.0.1" },
      { event: "authentication.failed", reason: "refused", scheme: "admin", service: "admin", address: "127.0.0.1" },
    ]);
    expect(JSON.stringify([world.records, world.lines])).not.toMatch(/not-the-token|wrong-token|read-token/);
  });

  it.each([
    ["no session", {}],
    ["a cookie of another process", { cookie: "parley-console-8080=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }],
    ["a cookie without a value", { cookie: "parley-console-8080=" }],
  ])("is asked for with %s", async (_what, headers) => {
    const { status, headers: answered, text } = await ask(`${base}/api/session`, { headers: { ...own, ...headers } });
    // Browsers report 401 as an error, and a challenge makes them ask for a password.
    expect([status, JSON.parse(text)]).toEqual([200, { login: ["token", "admin"] }]);
    expect(answered["www-authenticate"]).toBe(undefined);
    for (const path of ["relay", "admin/parley.admin.v1.AdminService/GetServer", "other"]) {
      const other = await ask(`${base}/api/${path}`, { method: "POST", headers: { ...own, ...headers } });
      expect(other.status).toBe(401);
    }
  });

  it("ends when the browser logs out", async () => {
    const session = await sessionOf(base, link());
    const { status, headers } = await ask(`${base}/api/session`, { method: "DELETE", headers: session });
    expect(status).toBe(204);
    expect(headers["set-cookie"]?.[0]).toMatch(/^parley-console-\d+=; .*; Max-Age=0$/);
    expect(await isOpen(base, session)).toBe(false);
  });

  it("ends after 12 hours without a request", async () => {
    expect(sessionIdle.timeoutMs).toBe(12 * 60 * 60 * 1_000);
    const session = await sessionOf(base, link());
    expect(await isOpen(base, session)).toBe(true);
    setConstants(sessionIdle, { timeoutMs: -1 });
    expect(await isOpen(base, session)).toBe(false);
  });

  it("ends first if it is the longest unused of 65", async () => {
    const [oldest, used] = [await sessionOf(base, bearer(tokens.read)), await sessionOf(base, bearer(tokens.read))];
    for (let i = 0; i < 62; i++) await sessionOf(base, bearer(tokens.read));
    await ask(`${base}/api/session`, { headers: oldest });
    await ask(`${base}/api/session`, { headers: used });
    await ask(`${base}/api/session`, { headers: oldest });
    await sessionOf(base, bearer(tokens.read));
    expect(await Promise.all([isOpen(base, oldest), isOpen(base, used)])).toEqual([true, true]);
    for (let i = 0; i < 63; i++) await sessionOf(base, bearer(tokens.read));
    expect(await Promise.all([isOpen(base, oldest), isOpen(base, used)])).toEqual([false, true]);
  });

  it("keeps its cookie from other consoles of the host, by port and path", async () => {
    const other = await openConsole({ basePath: "/agents" });
    try {
      const session = await logIn(other.base, { token: tokenIn(other.server.consoleUrl) });
      const [cookie = ""] = session.headers["set-cookie"] ?? [];
      expect(cookie).toContain(`parley-console-${new URL(other.base).port}=`);
      expect(cookie).toContain("; Path=/agents/console;");
      // A browser sends both cookies to both consoles.
      const both = `${cookieIn(session.headers)}; ${(await sessionOf(base, link())).cookie}`;
      for (const url of [base, other.base]) {
        expect(await isOpen(url, { ...own, cookie: both })).toBe(true);
      }
      expect(
        JSON.parse((await ask(`${other.base}/api/session`, { headers: { ...own, cookie: both } })).text),
      ).toMatchObject({
        agents: [{ url: "/agents" }],
      });
    } finally {
      await other.server.close();
    }
  });

  it.each([
    ["a body that is not JSON", "token", 400],
    ["a body without a token", "{}", 400],
    ["a token that is not a text", '{"token":1}', 400],
    ["a body that is too large", JSON.stringify({ token: "x".repeat(5_000) }), 413],
  ])("does not begin by %s", async (_what, body, expected) => {
    const { status } = await ask(`${base}/api/session`, { method: "POST", headers: own, body });
    expect(status).toBe(expected);
  });
});

describe("guessing", () => {
  it("is slowed down for tokens of both kinds", async () => {
    const other = await openConsole({
      limits: { maxFailedAttempts: 3, shutdownGraceMs: 50 },
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
    try {
      for (const wrong of [{ token: "wrong" }, bearer(tokens.wrong)]) {
        const statuses: number[] = [];
        for (let i = 0; i < 4; i++) statuses.push((await logIn(other.base, wrong)).status);
        expect(statuses).toEqual([401, 401, 401, 429]);
      }
      // Even the valid token is not tried.
      const right = await logIn(other.base, { token: tokenIn(other.server.consoleUrl) });
      expect([right.status, right.headers["retry-after"]]).toEqual([429, "1"]);
    } finally {
      await other.server.close();
    }
  });
});

describe("a console that others reach", () => {
  const options = { agent: obedient("open"), store: memoryStore(), port: 0, grpcPort: false, audit: false } as const;

  it.each([
    ["on every address", { host: "0.0.0.0" }],
    ["behind a proxy", { trustProxy: "loopback" }],
    ["with a name of its own", { allowedHosts: ["agents.example.com"] }],
    ["with a public URL", { publicUrl: "https://agents.example.com" }],
    ["without being asked to be local", { console: { local: false } }],
  ])("needs the credentials of operators %s", async (_where, more) => {
    useTestFiles();
    const all = { ...options, console: true, ...more };
    await expect(createServer(all)).rejects.toThrow(/console needs the credentials of operators .*--admin-tokens/);
    const socket = { ...all, admin: { listen: "unix:/tmp/parley-no-credentials.sock" } };
    await expect(createServer(socket)).rejects.toThrow(/console needs the credentials of operators/);
  });

  it("opens by them and has no link", async () => {
    const other = await openConsole({
      trustProxy: "loopback",
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
    try {
      expect(other.server.consoleUrl).toBe(`${other.base}/`);
      expect(JSON.parse((await ask(`${other.base}/api/session`)).text)).toEqual({ login: ["admin"] });
      expect((await logIn(other.base, { token: "x" })).status).toBe(401);
      const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "ops.example.com" };
      const { headers } = await logIn(other.base, { ...bearer(tokens.write), ...forwarded });
      const prefixed = await logIn(other.base, { ...bearer(tokens.write), ...forwarded, "x-forwarded-prefix": "/in" });
      expect(headers["set-cookie"]?.[0]).toMatch(/^parley-console-443=.*; Path=\/console; .*; Secure$/);
      expect(prefixed.headers["set-cookie"]?.[0]).toContain("; Path=/in/console;");
      const page = await ask(`${other.base}/`, { headers: { ...forwarded, "x-forwarded-prefix": "/in" } });
      expect(page.text).toContain('<base href="/in/console/">');
    } finally {
      await other.server.close();
    }
  });

  it("cannot be declared local", async () => {
    const all = { ...options, console: { local: true }, host: "0.0.0.0" };
    await expect(createServer(all)).rejects.toThrow(/console.local is true, but others can reach the server/);
  });

  it.each([
    ["", 100_000],
    [", also while its address may not log in", 1],
  ])("ends a session when its token is withdrawn%s", async (_when, maxFailedAttempts) => {
    setConstants(failedAttempts, { intervalMs: 3_600_000 });
    const list = [...operators];
    const addresses = new Set<string>();
    const check = async (token: string, { peer }: Call) => {
      addresses.add(peer.address);
      const found = list.find((each) => each.token === token);
      return found && { owner: found.name, scopes: [found.role] };
    };
    const { httpBearerScheme } = await import("../../src/auth/index.js");
    const other = await openConsole({
      console: { local: false },
      limits: { shutdownGraceMs: 50, maxFailedAttempts },
      admin: {
        listen: "127.0.0.1:0",
        security: { schemes: { sso: httpBearerScheme({ check }) } },
        roles: { read: "read", write: "write" },
      },
    });
    try {
      const session = await sessionOf(other.base, bearer(tokens.write));
      expect((await logIn(other.base, bearer(tokens.wrong))).status).toBe(401);
      const { status } = await logIn(other.base, bearer(tokens.write));
      expect(status).toBe(maxFailedAttempts === 1 ? 429 : 204);
      expect(await isOpen(other.base, session)).toBe(true);
      setConstants(credentialsCheck, { everyMs: 20 });
      const stream = await follow(other, session);
      const ended = new Promise((resolve) => stream.resume().once("close", resolve));
      list.length = 0;
      // The stream ends without a further request.
      await ended;
      expect(await isOpen(other.base, session)).toBe(false);
      list.push(...operators);
      expect(await isOpen(other.base, session)).toBe(false);
      // An author's function may check the address too.
      expect([...addresses]).toEqual(["127.0.0.1"]);
    } finally {
      await other.server.close();
    }
  });
});
