import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Guards } from "../../src/auth/guard.js";
import { httpBasicScheme } from "../../src/auth/http-basic.js";
import { rememberedTokens, TokenMemory } from "../../src/auth/jwt.js";
import { mutualTlsScheme } from "../../src/auth/mutual-tls.js";
import { failedAttempts, Throttle } from "../../src/auth/throttle.js";
import { Call } from "../../src/core/call.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { setConstants } from "../support/constants.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const inSeconds = (seconds: number): number => Date.now() / 1000 + seconds;

describe("TokenMemory", () => {
  const limits = { ...defaultLimits, credentialMemoryMs: 10_000 };
  beforeEach(() => setConstants(rememberedTokens, { max: 2 }));

  it("forgets after a time, and earlier where the token ends", () => {
    const memory = new TokenMemory(limits);
    memory.set("long", { owner: "a" }, inSeconds(600));
    memory.set("short", { owner: "b" }, inSeconds(4));
    expect([memory.get("long")?.owner, memory.get("short")?.owner]).toEqual(["a", "b"]);
    vi.advanceTimersByTime(5_000);
    expect([memory.get("long")?.owner, memory.get("short")]).toEqual(["a", undefined]);
    vi.advanceTimersByTime(5_000);
    expect(memory.get("long")).toBeUndefined();
  });

  it("does not remember longer when the clock is set back", () => {
    const memory = new TokenMemory(limits);
    memory.set("t", { owner: "a" }, inSeconds(5));
    vi.advanceTimersByTime(10_000);
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(memory.get("t")).toBeUndefined();
  });

  it("tells texts with the same end apart, and shows none to who prints it", () => {
    const memory = new TokenMemory(limits);
    const end = "x".repeat(1_000);
    memory.set(`a${end}`, { owner: "a" }, inSeconds(600));
    expect([memory.get(`a${end}`)?.owner, memory.get(`b${end}`), memory.get(end)]).toEqual(["a", undefined, undefined]);
    memory.set(`b${end}`, { owner: "b" }, inSeconds(600));
    expect([memory.get(`a${end}`), memory.get(`b${end}`)?.owner]).toEqual([undefined, "b"]);
    expect(inspect(memory, { depth: 20, showHidden: true })).not.toContain("xxx");
  });

  it("keeps a bounded number, the newest", () => {
    const memory = new TokenMemory(limits);
    for (const token of ["1", "2", "3"]) memory.set(token, { owner: token }, inSeconds(600));
    expect(["1", "2", "3"].map((token) => memory.get(token)?.owner)).toEqual([undefined, "2", "3"]);
  });
});

describe("Throttle", () => {
  const limits = { ...defaultLimits, maxFailedAttempts: 2 };
  beforeEach(() => setConstants(failedAttempts, { maxAddresses: 2 }));
  const failed = (throttle: Throttle, address: string, times: number): void => {
    for (let i = 0; i < times; i++) throttle.fail(address);
  };

  it("gives an address one more attempt after each while, and all of them in the end", () => {
    const throttle = new Throttle(limits);
    failed(throttle, "192.0.2.1", 2);
    expect(throttle.retryAfterMs("192.0.2.1")).toBe(1_000);
    vi.advanceTimersByTime(400);
    expect(throttle.retryAfterMs("192.0.2.1")).toBe(600);
    vi.advanceTimersByTime(600);
    expect(throttle.retryAfterMs("192.0.2.1")).toBeUndefined();
    throttle.fail("192.0.2.1");
    expect(throttle.retryAfterMs("192.0.2.1")).toBe(1_000);
    vi.advanceTimersByTime(2_000);
    throttle.fail("192.0.2.1");
    expect(throttle.retryAfterMs("192.0.2.1")).toBeUndefined();
  });

  it("counts networks of IPv6, and others by themselves", () => {
    const throttle = new Throttle(limits);
    throttle.fail("2001:db8::1");
    throttle.fail("2001:db8::2");
    expect(throttle.retryAfterMs("2001:db8::3")).toBeDefined();
    expect(throttle.retryAfterMs("2001:db8:0:1::3")).toBeUndefined();
  });

  it("does not let a site of IPv6 guess from each of its networks, nor make it forget others", () => {
    setConstants(failedAttempts, { maxAddresses: 1_000 });
    const few = new Throttle(limits);
    failed(few, "192.0.2.1", 2);
    let guesses = 0;
    for (let network = 0; network < 0xffff; network++) {
      const address = `2001:db8:1:${network.toString(16)}::1`;
      if (few.retryAfterMs(address) !== undefined) continue;
      few.fail(address);
      guesses++;
    }
    expect(guesses).toBe(16 * limits.maxFailedAttempts);
    expect(few.retryAfterMs("192.0.2.1")).toBeDefined();
    expect(few.retryAfterMs("2001:db8:2::1")).toBeUndefined();
  });

  it("keeps a bounded number of addresses, the newest", () => {
    const throttle = new Throttle(limits);
    for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) failed(throttle, address, 2);
    expect(throttle.retryAfterMs("192.0.2.1")).toBeUndefined();
    expect(throttle.retryAfterMs("192.0.2.2")).toBeDefined();
    expect(throttle.retryAfterMs("192.0.2.3")).toBeDefined();
  });
});

describe("an address that has failed too often", () => {
  const certificate = { subject: "CN=nightly", names: [], fingerprint: "AB" };
  const call = (headers: Record<string, string>, more: object = {}): Call =>
    new Call({
      binding: "test",
      header: (name) => headers[name],
      peer: { address: "192.0.2.1", encrypted: true, ...more },
      signal: new AbortController().signal,
    });

  it("is let in by its certificate, which nobody can guess, and not by a password", async () => {
    const limits = { ...defaultLimits, maxFailedAttempts: 1 };
    const basic = httpBasicScheme({ users: [{ name: "a", password: "b" }] });
    const guards = new Guards({ limits, logger: silentLogger });
    const guard = guards.ofAgent({ schemes: { basic, tls: mutualTlsScheme() } }, () => "");
    const named = (password: string) => ({ authorization: `Basic ${Buffer.from(`a:${password}`).toString("base64")}` });
    const admit = async (asked: Call): Promise<unknown> => guard.admit(asked);
    await expect(admit(call(named("x")))).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    await expect(admit(call(named("b")))).rejects.toMatchObject({ reason: "TOO_MANY_REQUESTS" });
    await expect(admit(call({}, { certificate }))).resolves.toMatchObject({ owner: "CN=nightly" });
  });
});
