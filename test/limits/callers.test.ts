import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Limits } from "../../src/core/limits.js";
import { taskSubscriptions } from "../../src/service/caller-shares.js";
import { requestRates } from "../../src/service/interceptors/caller-limits.js";
import { everyBinding, titleOf } from "../auth/world.js";
import { setConstants } from "../support/constants.js";
import { as, begun, expectLimit, gates, type LimitedWorld, leave, limited, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Stops the clock of the rate limits until the test ends, so that no time passes during slow calls. */
function stopClock(): void {
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
}

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s", (title) => {
  let world: LimitedWorld | undefined;
  const start = async (limits: Partial<Limits>) => {
    world = await limited(title, limits);
    return world.driver;
  };
  afterEach(() => world?.close());

  it("a caller has so many calls in progress, and nobody else waits for it [SRV-SEC-04]", async () => {
    const driver = await start({ maxCallsPerCaller: 2 });
    const gate = newGate();
    const open = [1, 2].map(() => driver.call("SendMessage", say(`wait ${gate}`), as("alice")));
    await gates.reached(gate);
    await expect
      .poll(async () => (await driver.call("ListTasks", {}, as("alice"))).error?.reason)
      .toBe("TOO_MANY_REQUESTS");
    expectLimit(driver, await driver.call("ListTasks", {}, as("alice")), "maxCallsPerCaller");
    expect((await driver.call("ListTasks", {}, as("bob"))).error).toBeUndefined();
    expect((await driver.call("ListTasks", {})).error).toBeUndefined();
    gates.open(gate);
    for (const reply of await Promise.all(open)) expect(reply.error).toBeUndefined();
    expect((await driver.call("ListTasks", {}, as("alice"))).error).toBeUndefined();
  });

  it("a caller has so many streams open [SRV-SEC-04]", async () => {
    const driver = await start({ maxStreamsPerCaller: 1 });
    const gate = newGate();
    const { stream, error } = await begun(driver, "SendStreamingMessage", say(`wait ${gate}`), as("alice"));
    expect(error).toBeUndefined();
    const second = await begun(driver, "SendStreamingMessage", say("echo"), as("alice"));
    expectLimit(driver, second, "maxStreamsPerCaller");
    const other = await begun(driver, "SendStreamingMessage", say("echo"), as("bob"));
    expect(other.error).toBeUndefined();
    await other.stream.rest();
    gates.open(gate);
    await stream.rest();
    const third = await begun(driver, "SendStreamingMessage", say("echo"), as("alice"));
    expect(third.error).toBeUndefined();
    await third.stream.rest();
  });

  it("a stream whose client hangs up counts no more [SRV-SEC-04]", async () => {
    const driver = await start({ maxStreamsPerCaller: 1 });
    const gate = newGate();
    const { stream } = await begun(driver, "SendStreamingMessage", say(`wait ${gate}`), as("alice"));
    stream.hangUp();
    await expect
      .poll(
        async () => {
          const next = await begun(driver, "SendStreamingMessage", say("echo"), as("alice"));
          next.stream.hangUp();
          return next.error;
        },
        { timeout: 20_000 },
      )
      .toBeUndefined();
    gates.open(gate);
  });

  it.each([
    ["maxSubscriptionsPerTaskPerCaller", { maxSubscriptionsPerTaskPerCaller: 2 }],
    ["maxSubscriptionsPerTask", {}],
  ] as const)("a task has so many subscriptions by %s, another one its own [SRV-SEC-04]", async (limit, limits) => {
    if (limit === "maxSubscriptionsPerTask") setConstants(taskSubscriptions, { max: 2 });
    const driver = await start(limits);
    const gate = newGate();
    const ids = [];
    for (let i = 0; i < 2; i++) {
      const { message } = await driver.call("SendMessage", leave(`wait ${gate}`), as("alice"));
      ids.push((message as { task: { id: string } }).task.id);
    }
    const [first = "", second = ""] = ids;
    const subscribe = (id: string, owner = "alice") => begun(driver, "SubscribeToTask", { id }, as(owner));
    const open = [await subscribe(first), await subscribe(first)];
    expect(open.map(({ error }) => error)).toEqual([undefined, undefined]);
    expectLimit(driver, await subscribe(first), limit);
    // A caller without access to the task does not learn how many clients follow it.
    expect((await subscribe(first, "bob")).error?.reason).toBe("TASK_NOT_FOUND");
    const other = await subscribe(second);
    expect(other.error).toBeUndefined();
    other.stream.hangUp();
    open[0]?.stream.hangUp();
    await expect
      .poll(
        async () => {
          const next = await subscribe(first);
          next.stream.hangUp();
          return next.error;
        },
        { timeout: 20_000 },
      )
      .toBeUndefined();
    open[1]?.stream.hangUp();
    gates.open(gate);
  });

  it.each([
    ["maxRequestsPerSecondPerCaller", "bob"],
    ["maxRequestsPerSecondPerAddress", "carol"],
  ] as const)("%s [SRV-SEC-04]", async (limit, owner) => {
    setConstants(requestRates, { burstMs: 5_000 });
    const driver = await start({ [limit]: 1 });
    stopClock();
    const all = await Promise.all(Array.from({ length: 40 }, () => driver.call("ListTasks", {}, as("alice"))));
    const refused = all.filter(({ error }) => error !== undefined);
    // The burst allows five calls at once.
    expect(refused).toHaveLength(35);
    for (const reply of refused) expectLimit(driver, reply, limit);
    const { error } = await driver.call("ListTasks", {}, as(owner));
    if (limit === "maxRequestsPerSecondPerCaller") expect(error).toBeUndefined();
    else expect(error?.reason).toBe("TOO_MANY_REQUESTS");
  });
});

describe("a rate", () => {
  it("counts the members of a JSON-RPC batch one by one [SRV-SEC-04]", async () => {
    setConstants(requestRates, { burstMs: 5_000 });
    const world = await limited("jsonrpc", { maxRequestsPerSecondPerCaller: 1 });
    stopClock();
    const batch = Array.from({ length: 40 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ListTasks", params: {} }));
    const answer = await fetch(world.url, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify(batch),
    });
    const members = (await answer.json()) as { error?: { data: object[] } }[];
    const refused = members.filter(({ error }) => error !== undefined);
    expect(members).toHaveLength(40);
    expect(refused).toHaveLength(35);
    await world.close();
  });
});
