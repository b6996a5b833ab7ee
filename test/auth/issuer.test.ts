import { generateKeyPairSync } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { jwtScheme } from "../../src/auth/index.js";
import { failedAttempts } from "../../src/auth/throttle.js";
import type { Limits } from "../../src/core/limits.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { setConstants } from "../support/constants.js";
import type { Driver, Reply } from "../support/driver.js";
import { claims, crafted, issuer, keySet, rs256 } from "./crafted.js";
import { type Mood, TestIssuer } from "./issuer.js";
import { type SecuredWorld, say, securedAgent } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function start(
  bounds: Partial<Record<keyof typeof issuerBounds, number>> = {},
  limits: Partial<Limits> = {},
): Promise<{ issuer: TestIssuer; world: SecuredWorld }> {
  setConstants(issuerBounds, bounds);
  const issuer = await TestIssuer.start();
  const bearer = jwtScheme({ jwks: issuer.jwks, issuer: issuer.url, audience: "agents" });
  const world = await securedAgent({ schemes: { bearer } }, { limits });
  open.push(issuer, world);
  return { issuer, world };
}

function call(world: SecuredWorld, token: string): Promise<Reply> {
  return (world.drivers.get("rest") as Driver).call("ListTasks", {}, { headers: { Authorization: `Bearer ${token}` } });
}

describe("the keys of an issuer", () => {
  it("rotate while requests run, and none is refused", async () => {
    const { issuer, world } = await start({ cooldownMs: 1 }, { credentialMemoryMs: 1 });
    let going = true;
    const failures: unknown[] = [];
    const runners = [...world.drivers.values()].map(async (driver) => {
      while (going) {
        const headers = { Authorization: `Bearer ${await issuer.token()}` };
        const { error } = await driver.call("SendMessage", say("turn"), { headers });
        if (error !== undefined) failures.push(error);
      }
    });
    for (let i = 0; i < 8; i++) {
      const asked = issuer.asked;
      await issuer.rotate();
      await expect.poll(() => issuer.asked, { timeout: 20_000 }).toBeGreaterThan(asked);
    }
    going = false;
    await Promise.all(runners);
    expect(failures).toEqual([]);
  });

  it("that are withdrawn are accepted no more, when they are fetched again", async () => {
    const { issuer, world } = await start({ documentMs: 50, cooldownMs: 1 }, { credentialMemoryMs: 1 });
    const old = await issuer.token();
    expect((await call(world, old)).error).toBeUndefined();
    await issuer.rotate({ keepOld: false });
    await expect
      .poll(async () => (await call(world, old)).error?.message, { timeout: 20_000 })
      .toBe("The token is signed with an unknown key.");
  });

  it("are asked for once, however many tokens name unknown ones", async () => {
    const { issuer, world } = await start();
    await call(world, await issuer.token());
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, i) => issuer.forged({}, { kid: `no ${i}` })));
    for (const token of tokens) expect((await call(world, token)).error?.reason).toBe("UNAUTHENTICATED");
    expect(issuer.asked).toBe(1);
  });

  it.each<Mood>(["fails", "stalls", "floods", "lies", "redirects"])(
    "cannot be had where it %s: calls are answered with UNAVAILABLE, and it is not asked for each",
    async (mood) => {
      const { issuer, world } = await start({ timeoutMs: 200, cooldownMs: 600_000 });
      issuer.mood = mood;
      const token = await issuer.token();
      const replies = await Promise.all(Array.from({ length: 20 }, () => call(world, token)));
      for (const { error } of replies) {
        expect(error).toMatchObject({
          reason: "UNAVAILABLE",
          message: "The credentials cannot be checked at the moment.",
        });
        expect(JSON.stringify(error)).not.toContain(issuer.url);
      }
      expect(issuer.asked).toBe(1);
      expect(world.log.text).toContain("an issuer of tokens does not answer correctly");
      for (const made of issuer.made) expect(world.log.text).not.toContain(made);
    },
  );

  it("are read up to a size, and no further", async () => {
    for (const [bytes, reason] of [
      [100, "UNAVAILABLE"],
      [1_000, undefined],
    ] as const) {
      const { issuer, world } = await start({ bytes, cooldownMs: 600_000 });
      expect((await call(world, await issuer.token())).error?.reason).toBe(reason);
      expect(issuer.asked).toBe(1);
    }
  });

  it("are asked for again when the issuer may be well", async () => {
    const { issuer, world } = await start({ timeoutMs: 200, cooldownMs: 20 });
    const token = await issuer.token();
    for (const mood of ["fails", "stalls", "floods"] as const) {
      issuer.mood = mood;
      expect((await call(world, token)).error?.reason).toBe("UNAVAILABLE");
    }
    issuer.mood = "well";
    await expect.poll(async () => (await call(world, token)).error, { timeout: 20_000 }).toBeUndefined();
  });

  it("do for a while where the issuer is down, and no longer", async () => {
    const { issuer, world } = await start({ documentMs: 1_000, cooldownMs: 1 }, { credentialMemoryMs: 1 });
    expect((await call(world, await issuer.token())).error).toBeUndefined();
    issuer.mood = "fails";
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await call(world, await issuer.token())).error).toBeUndefined();
    await expect
      .poll(async () => (await call(world, await issuer.token())).error?.reason, { timeout: 20_000 })
      .toBe("UNAVAILABLE");
  });
});

describe("a key that cannot be used", () => {
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const weakJwk = { ...weak.publicKey.export({ format: "jwk" }), kid: "rsa" };
  const unusable = {
    "an RSA key of 1,024 bits": weakJwk,
    "an RSA key without a modulus": { kty: "RSA", kid: "rsa", e: "AQAB" },
    "an RSA key whose modulus is no text": { ...weakJwk, n: 5 },
  };
  const ofKey = (header: object): string => crafted({ alg: "RS256", ...header }, claims(), rs256);

  it.each(Object.entries(unusable))("is the fault of its tokens only: %s", async (_name, jwk) => {
    for (const [keys, message] of [
      [[jwk], "The token is signed with a key that cannot be used."],
      [[jwk, ...keySet.keys.map((key) => ({ ...key, kid: "rsa" }))], undefined],
    ] as const) {
      const bearer = jwtScheme({ jwks: { keys }, issuer, audience: "agents" });
      const world = await securedAgent({ schemes: { bearer } });
      open.push(world);
      for (const header of [{ kid: "rsa" }, {}]) {
        const { error } = await call(world, ofKey(header));
        expect([error?.reason, error?.message]).toEqual([message && "UNAUTHENTICATED", message]);
      }
    }
  });
});

describe("a verified token", () => {
  it("is remembered, and not beyond its end", async () => {
    const { issuer, world } = await start();
    const end = Math.floor(Date.now() / 1000) + 2;
    const bearer = await issuer.token({ exp: end });
    expect((await call(world, bearer)).error).toBeUndefined();
    expect((await call(world, bearer)).error).toBeUndefined();
    // The server tolerates a clock difference of five seconds.
    await expect
      .poll(async () => (await call(world, bearer)).error?.message, { timeout: 30_000, interval: 250 })
      .toBe("The token has expired.");
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(end);
  });

  it("gives each call claims that nobody can change for the next", async () => {
    const { issuer, world } = await start();
    const token = await issuer.token({ roles: ["a"] });
    const { message } = await (world.drivers.get("rest") as Driver).call("SendMessage", say("turn"), {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(JSON.stringify(message)).toContain('"owner":"alice"');
  });
});

describe("failed attempts", () => {
  it("are slowed down by their address, over every binding together; a token that was verified goes on", async () => {
    setConstants(failedAttempts, { intervalMs: 600_000 });
    const { issuer, world } = await start({}, { maxFailedAttempts: 5 });
    const good = await issuer.token();
    expect((await call(world, good)).error).toBeUndefined();
    const reasons: (string | undefined)[] = [];
    const wrong = { headers: { Authorization: "Bearer nonsense" } };
    for (const title of ["grpc", "connect", "jsonrpc", "rest", "grpc-web", "grpc", "rest"]) {
      reasons.push((await (world.drivers.get(title) as Driver).call("ListTasks", {}, wrong)).error?.reason);
    }
    expect(reasons).toEqual([...Array(5).fill("UNAUTHENTICATED"), "TOO_MANY_REQUESTS", "TOO_MANY_REQUESTS"]);
    // Even a valid token is refused unchecked, because it could be a guess.
    const { error, headers } = await call(world, await issuer.token({ sub: "bob" }));
    expect(error?.reason).toBe("TOO_MANY_REQUESTS");
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect((await call(world, good)).error).toBeUndefined();
    // The limit does not apply to another address.
    const elsewhere = world.drivers.get("fetch, rest") as Driver;
    expect((await elsewhere.call("ListTasks", {}, wrong)).error?.reason).toBe("UNAUTHENTICATED");
  });

  it("are none where no credentials are sent", async () => {
    setConstants(failedAttempts, { intervalMs: 600_000 });
    const { issuer, world } = await start({}, { maxFailedAttempts: 1 });
    for (let i = 0; i < 5; i++) {
      expect((await (world.drivers.get("rest") as Driver).call("ListTasks", {})).error?.reason).toBe("UNAUTHENTICATED");
    }
    expect((await call(world, await issuer.token())).error).toBeUndefined();
  });
});
