import { afterEach, describe, expect, it, vi } from "vitest";
import type { Limits } from "../../src/core/limits.js";
import { everyBinding, titleOf } from "../auth/world.js";
import { messenger } from "../conformance/agents.js";
import { as, begun, expectLimit, gates, type LimitedWorld, leave, limited, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s", (title) => {
  let world: LimitedWorld | undefined;
  const start = async (limits: Partial<Limits>, agent?: typeof messenger, tenants?: readonly string[]) => {
    world = await limited(title, limits, agent, tenants);
    return world.driver;
  };
  afterEach(() => world?.close());

  it.each([
    ["maxQueuedExecutions", { maxExecutions: 1, maxQueuedExecutions: 1 }],
    ["maxQueuedExecutionsPerOwner", { maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 1 }],
    ["maxOpenTasksPerOwner", { maxOpenTasksPerOwner: 2 }],
  ] as const)(
    "messages beyond %s are refused, however they are sent, and stored are the others [SRV-SEC-04]",
    async (limit, limits) => {
      const driver = await start(limits);
      const gate = newGate();
      const accepted = [];
      for (let i = 0; i < 2; i++) {
        const { message, error } = await driver.call("SendMessage", leave(`wait ${gate}`), as("alice"));
        expect(error).toBeUndefined();
        accepted.push((message as { task: { id: string; status: { state: string } } }).task);
      }
      expectLimit(driver, await driver.call("SendMessage", leave("echo"), as("alice")), limit);
      expectLimit(driver, await driver.call("SendMessage", say("echo"), as("alice")), limit);
      expectLimit(driver, await begun(driver, "SendStreamingMessage", say("echo"), as("alice")), limit);
      const { message: list } = await driver.call("ListTasks", {}, as("alice"));
      expect((list as { totalSize: number }).totalSize).toBe(2);
      if (limit !== "maxQueuedExecutions") {
        expect((await driver.call("SendMessage", say("echo"), as("bob"))).error).toBeUndefined();
      }
      gates.open(gate);
      for (const { id } of accepted) {
        await expect
          .poll(async () => (await driver.call("GetTask", { id }, as("alice"))).message?.status, { timeout: 20_000 })
          .toMatchObject({ state: "TASK_STATE_COMPLETED" });
      }
      // The open tasks of an owner that exceeded the limit are counted again after a moment.
      await expect
        .poll(async () => (await driver.call("SendMessage", say("echo"), as("alice"))).error, { timeout: 20_000 })
        .toBeUndefined();
    },
  );

  it("an owner has its limits once where any tenant may be named, and once under each that is listed [SRV-SEC-04]", async () => {
    for (const tenants of [undefined, ["one", "two"]]) {
      const driver = await start({ maxOpenTasksPerOwner: 1 }, undefined, tenants);
      const gate = newGate();
      const first = await driver.call("SendMessage", leave(`wait ${gate}`, {}, "one"), as("alice"));
      expect(first.error).toBeUndefined();
      const second = await driver.call("SendMessage", leave("echo", {}, "two"), as("alice"));
      if (tenants === undefined) expectLimit(driver, second, "maxOpenTasksPerOwner");
      else expect(second.error).toBeUndefined();
      expect((await driver.call("SendMessage", leave("echo", {}, "two"), as("bob"))).error).toBeUndefined();
      gates.open(gate);
      await world?.close();
    }
  });

  it("what waits is SUBMITTED, streams from its beginning, and can be canceled [SRV-SEC-04]", async () => {
    const driver = await start({ maxExecutions: 1 });
    const gate = newGate();
    await driver.call("SendMessage", leave(`wait ${gate}`), as("alice"));
    const { stream, message } = await begun(driver, "SendStreamingMessage", say("say hello"), as("alice"));
    expect(message).toMatchObject({ task: { status: { state: "TASK_STATE_SUBMITTED" } } });
    const queued = await driver.call("SendMessage", leave("echo"), as("alice"));
    const { id } = (queued.message as { task: { id: string } }).task;
    expect((await driver.call("CancelTask", { id }, as("alice"))).message?.status).toMatchObject({
      state: "TASK_STATE_CANCELED",
    });
    gates.open(gate);
    const { messages, error } = await stream.rest();
    expect(error).toBeUndefined();
    expect(messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("direct answers wait as well, and are refused beyond the queue [SRV-SEC-04]", async () => {
    const gate = newGate();
    const agent = {
      ...messenger,
      async *execute(turn: Parameters<typeof messenger.execute>[0]) {
        await gates.pass(gate, turn.signal);
        yield* messenger.execute(turn);
      },
    } as typeof messenger;
    const driver = await start({ maxExecutions: 1, maxQueuedExecutions: 1 }, agent);
    const open = [driver.call("SendMessage", say("one"), as("alice"))];
    await gates.reached(gate);
    // One of the two calls occupies the only place in the queue.
    const both = ["bob", "carol"].map((owner) => driver.call("SendMessage", say("two"), as(owner)));
    expectLimit(driver, await Promise.race(both), "maxQueuedExecutions");
    gates.open(gate);
    const answered = await Promise.all([...open, ...both]);
    expect(answered.filter(({ error }) => error === undefined)).toHaveLength(2);
  });
});
