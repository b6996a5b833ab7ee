import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { authentication, unverified } from "../../src/auth/checks-under-way.js";
import { Guards } from "../../src/auth/guard.js";
import { customScheme, Refusal } from "../../src/auth/index.js";
import { mutualTlsScheme } from "../../src/auth/mutual-tls.js";
import { Call, type ClientCertificate } from "../../src/core/call.js";
import type { Limits } from "../../src/core/limits.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { setConstants } from "../support/constants.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A guard with one scheme, whose checks end when the test answers for their user. */
function world(limits: Partial<Limits>) {
  const begun: string[] = [];
  const answers = new Map<string, (found: { owner: string } | Refusal) => void>();
  const slow = customScheme({
    card: { httpAuthSecurityScheme: { scheme: "X" } },
    authenticate: (call) => {
      const user = call.header("x-user") ?? "";
      begun.push(user);
      return new Promise((resolve) => answers.set(user, resolve));
    },
  });
  const guards = new Guards({ limits: { ...defaultLimits, ...limits }, logger: silentLogger });
  const guard = guards.ofAgent({ schemes: { slow } }, () => "");
  const admit = async (user: string, address = "192.0.2.1", signal = new AbortController().signal) => {
    const header = (name: string): string | undefined => (name === "x-user" ? user : undefined);
    return guard.admit(new Call({ binding: "test", header, peer: { address, encrypted: true }, signal }));
  };
  const answer = async (user: string, found: { owner: string } | Refusal = { owner: user }): Promise<void> => {
    answers.get(user)?.(found);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { begun, admit, answer };
}

const quietly = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe("credentials of one address that are being checked", () => {
  it("are so many at once; others wait for their turn, and other addresses do not", async () => {
    setConstants(unverified, { maxPerAddress: 2 });
    const { begun, admit, answer } = world({});
    const all = ["a", "b", "c", "d"].map((user) => admit(user));
    const other = admit("e", "192.0.2.2");
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(["a", "b", "e"]);
    await answer("b");
    expect(begun).toEqual(["a", "b", "e", "c"]);
    for (const user of ["a", "c", "d", "e"]) await answer(user);
    expect((await Promise.all([...all, other])).map(({ owner }) => owner)).toEqual(["a", "b", "c", "d", "e"]);
    // The finished checks occupy no place.
    const again = ["f", "g"].map((user) => admit(user));
    expect(begun.slice(-2)).toEqual(["f", "g"]);
    for (const user of ["f", "g"]) await answer(user);
    await Promise.all(again);
  });

  it("count networks of IPv6 as one", async () => {
    setConstants(unverified, { maxPerAddress: 1 });
    const { begun, admit } = world({});
    for (const host of [1, 2, 3]) void admit(`${host}`, `2001:db8::${host}`);
    void admit("elsewhere", "2001:db8:0:1::1");
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(["1", "elsewhere"]);
  });

  it("are refused where too many wait", async () => {
    setConstants(unverified, { maxPerAddress: 1 });
    const { begun, admit } = world({});
    for (let i = 0; i < 33; i++) void admit(`${i}`);
    const error = await quietly(admit("one too many"));
    expect(error).toMatchObject({ reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxUnverifiedPerAddress" } });
    expect(begun).toEqual(["0"]);
  });

  it("are not looked at once the address has failed too often", async () => {
    setConstants(unverified, { maxPerAddress: 2 });
    const { begun, admit, answer } = world({ maxFailedAttempts: 1 });
    const all = ["a", "b", "c", "d"].map((user) => quietly(admit(user)));
    for (const user of ["a", "b"]) await answer(user, new Refusal("No."));
    expect(await Promise.all(all)).toMatchObject([
      { reason: "UNAUTHENTICATED" },
      { reason: "UNAUTHENTICATED" },
      { reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxFailedAttempts" } },
      { reason: "TOO_MANY_REQUESTS", metadata: { limit: "maxFailedAttempts" } },
    ]);
    expect(begun).toEqual(["a", "b"]);
  });

  it("lose their turn when the client leaves", async () => {
    setConstants(unverified, { maxPerAddress: 1 });
    const { begun, admit, answer } = world({});
    void admit("a");
    const client = new AbortController();
    const left = quietly(admit("b", "192.0.2.1", client.signal));
    void admit("c");
    await vi.advanceTimersByTimeAsync(0);
    client.abort();
    expect(await left).toMatchObject({ reason: "CANCELLED" });
    await answer("a");
    expect(begun).toEqual(["a", "c"]);
  });

  it("count no longer than a check may take, whatever a function does", async () => {
    setConstants(authentication, { timeoutMs: 1_000 });
    setConstants(unverified, { maxPerAddress: 1 });
    const { begun, admit } = world({});
    void admit("never");
    await vi.advanceTimersByTimeAsync(1_000);
    void admit("next");
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(["never", "next"]);
    const late = quietly(admit("late"));
    await vi.advanceTimersByTimeAsync(1_000);
    // The check before it timed out and freed its place at the same moment.
    expect([begun.length, await Promise.race([late, "waits"])]).toEqual([3, "waits"]);
  });

  it("keep out no caller who is known without a check", async () => {
    const hangs = customScheme({
      card: { httpAuthSecurityScheme: { scheme: "X" } },
      authenticate: (call) => (call.header("x-user") === undefined ? undefined : new Promise(() => {})),
    });
    setConstants(unverified, { maxPerAddress: 1 });
    const guard = new Guards({ limits: defaultLimits, logger: silentLogger }).ofAgent(
      { schemes: { hangs, tls: mutualTlsScheme() } },
      () => "",
    );
    const admit = async (headers: Record<string, string>, certificate?: ClientCertificate) =>
      guard.admit(
        new Call({
          ...{ binding: "test", header: (name: string) => headers[name], signal: new AbortController().signal },
          peer: { address: "192.0.2.1", encrypted: true, ...(certificate && { certificate }) },
        }),
      );
    void admit({ "x-user": "x" });
    const certificate = { subject: "CN=nightly", names: [], fingerprint: "AB" };
    expect(await admit({}, certificate)).toMatchObject({ owner: "CN=nightly" });
    const waits = admit({});
    await vi.advanceTimersByTimeAsync(0);
    expect(await Promise.race([waits.catch(() => "over"), Promise.resolve("waits")])).toBe("waits");
    await vi.advanceTimersByTimeAsync(authentication.timeoutMs);
    await expect(waits).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
  });
});
