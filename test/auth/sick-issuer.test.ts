import { createServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { unverified } from "../../src/auth/checks-under-way.js";
import { type AgentSecurity, oauth2Scheme } from "../../src/auth/index.js";
import type { Limits } from "../../src/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { setConstants } from "../support/constants.js";
import type { Driver } from "../support/driver.js";
import { TestIssuer } from "./issuer.js";
import { type SecuredWorld, securedAgent } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

/** Failed questions to an authorization server: the callers that they keep out, and how many more questions follow. */

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const flows = { clientCredentials: { tokenUrl: "https://issuer.example/token", scopes: { read: "Read." } } };

const schemes = (url: string): AgentSecurity["schemes"] => ({
  it: oauth2Scheme({
    ...{ issuer: url, audience: "agents", flows },
    introspection: { url: `${url}/introspect`, clientId: "parley", clientSecret: "client secret" },
  }),
});

async function start(
  cooldownMs = 600_000,
  limits: Partial<Limits> = {},
): Promise<{ issuer: TestIssuer; world: SecuredWorld }> {
  const issuer = await TestIssuer.start();
  setConstants(issuerBounds, { cooldownMs });
  const options = { limits, trustProxy: true };
  const world = await securedAgent({ schemes: schemes(issuer.url) }, options);
  open.push(issuer, world);
  for (let i = 0; i < 30; i++) {
    issuer.opaque.set(`bad-${i}`, 500);
    issuer.opaque.set(`good-${i}`, { active: true, sub: "alice", aud: "agents" });
  }
  return { issuer, world };
}

/** Makes a call with a token from an address. Returns the reason of its error, or undefined. */
async function call(world: SecuredWorld, token: string, address = "192.0.2.1"): Promise<string | undefined> {
  const headers = { Authorization: `Bearer ${token}`, "X-Forwarded-For": address };
  const { error } = await (world.drivers.get("rest") as Driver).call("ListTasks", {}, { headers });
  return error?.reason;
}

const addressOf = (index: number): string => `198.51.100.${index}`;

describe("a token that the issuer fails at", () => {
  it("keeps out nobody but itself, and is asked about once", async () => {
    const { issuer, world } = await start();
    for (let i = 0; i < 4; i++) expect(await call(world, "bad-0")).toBe("UNAVAILABLE");
    expect(issuer.introspected).toBe(1);
    expect(await call(world, "good-0")).toBeUndefined();
    expect(await call(world, "good-1", "192.0.2.2")).toBeUndefined();
    expect(await call(world, "bad-0", "192.0.2.2")).toBe("UNAVAILABLE");
    expect(issuer.introspected).toBe(3);
  });

  it("keeps out its address where there are several, and no other one", async () => {
    const { issuer, world } = await start();
    for (let i = 0; i < 10; i++) expect(await call(world, `bad-${i}`)).toBe("UNAVAILABLE");
    expect(issuer.introspected).toBe(3);
    expect(await call(world, "good-0")).toBe("UNAVAILABLE");
    expect(await call(world, "good-0", "192.0.2.2")).toBeUndefined();
    // The verified token is cached for all addresses.
    expect(await call(world, "good-0")).toBeUndefined();
  });

  it("sent from many addresses, keeps out none that had an active token", async () => {
    const { issuer, world } = await start();
    expect(await call(world, "good-0", "192.0.2.9")).toBeUndefined();
    for (let i = 0; i < 20; i++) expect(await call(world, `bad-${i}`, addressOf(i))).toBe("UNAVAILABLE");
    expect(await call(world, "good-1", addressOf(99))).toBe("UNAVAILABLE");
    expect(issuer.introspected).toBe(1 + 4 + 1);
    expect(await call(world, "good-2", "192.0.2.9")).toBeUndefined();
    // The issuer has answered since, so it is taken to work again.
    expect(await call(world, "good-1", addressOf(99))).toBeUndefined();
  });
});

describe("an issuer that takes its time", () => {
  async function slow(): Promise<{ issuer: TestIssuer; world: SecuredWorld; answer: () => void }> {
    setConstants(unverified, { maxPerAddress: 2 });
    const { issuer, world } = await start(600_000);
    let answer = (): void => {};
    issuer.whenOpened = new Promise((resolve) => {
      answer = resolve;
    });
    return { issuer, world, answer };
  }

  it("is asked few questions of one address at once, and all of them in the end", async () => {
    const { issuer, world, answer } = await slow();
    const calls = Array.from({ length: 8 }, (_, i) => call(world, `good-${i}`));
    const other = call(world, "good-9", "192.0.2.2");
    await expect.poll(() => issuer.open, { timeout: 20_000 }).toBe(3);
    answer();
    expect(await Promise.all([...calls, other])).toEqual(Array(9).fill(undefined));
    expect([issuer.mostOpen, issuer.introspected]).toEqual([3, 9]);
  });

  it("is asked once for a token, however many calls bring it, also where its address has others", async () => {
    const { issuer, world, answer } = await slow();
    const others = ["good-1", "good-2"].map((token) => call(world, token));
    await expect.poll(() => issuer.open, { timeout: 20_000 }).toBe(2);
    // More calls than may wait, each for the same token. They should arrive before the issuer answers.
    const calls = Array.from({ length: 150 }, () => call(world, "good-0"));
    await new Promise((resolve) => setTimeout(resolve, 500));
    answer();
    expect(new Set(await Promise.all([...calls, ...others]))).toEqual(new Set([undefined]));
    expect(issuer.introspected).toBe(3);
  });
});

describe("an issuer that is out of order", () => {
  it("is asked a bounded number of questions, whoever asks, until it answers again", async () => {
    const { issuer, world } = await start(2_000);
    issuer.mood = "fails";
    const begun = performance.now();
    for (let i = 0; i < 25; i++) expect(await call(world, `good-${i}`, addressOf(i))).toBe("UNAVAILABLE");
    const tries = Math.ceil((performance.now() - begun) / 200);
    expect(issuer.introspected).toBeGreaterThanOrEqual(4);
    expect(issuer.introspected).toBeLessThanOrEqual(4 + tries);
    issuer.mood = "well";
    await expect.poll(() => call(world, "good-26", "192.0.2.3"), { timeout: 20_000, interval: 20 }).toBeUndefined();
    for (let i = 0; i < 3; i++) expect(await call(world, `good-${27 + i}`, `203.0.113.${i}`)).toBeUndefined();
  });

  it("is not asked where there is no connection, until the cool-down is over", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    setConstants(issuerBounds, { cooldownMs: 600_000 });
    const world = await securedAgent({ schemes: schemes(`http://127.0.0.1:${port}`) }, { trustProxy: true });
    open.push(world);
    expect(await call(world, "t")).toBe("UNAVAILABLE");
    let asked = 0;
    const listens = createServer((socket) => {
      asked++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listens.listen(port, "127.0.0.1", resolve));
    for (let i = 0; i < 5; i++) expect(await call(world, `t-${i}`, addressOf(i))).toBe("UNAVAILABLE");
    expect(asked).toBe(0);
    await new Promise((resolve) => listens.close(resolve));
  });
});
