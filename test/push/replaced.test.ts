import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { within } from "../../src/core/async.js";
import { ConfigVault } from "../../src/push/secrets.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { slowStore } from "../support/slow-store.js";
import { type Receiver, receive } from "./receiver.js";
import { chunk, Log, Rig, vault } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

/** Replaces the configuration of a task by one for another webhook. */
async function replace(
  store: TaskStore,
  { head: { taskId } }: Log,
  configId: string,
  url: string,
  sealing: ConfigVault = vault,
): Promise<void> {
  const config = create(TaskPushNotificationConfigSchema, { taskId, id: configId, url, token: "new" });
  const bytes = sealing.seal({ taskId, configId }, config);
  const target = new URL(url).origin;
  await store.putPushConfig({ taskId, configId, bytes, target, maxPerTask: 16, maxPerOwner: 16, now: Date.now() });
}

/** A webhook that answers only when the test tells it to. */
async function slow(): Promise<{ webhook: Receiver; answer: () => void }> {
  const open: (() => void)[] = [];
  const webhook = await receive((_, response) => void open.push(() => response.writeHead(204).end()));
  const answer = (): void => {
    for (const one of open.splice(0)) one();
  };
  return { webhook, answer };
}

/** Puts the configuration, and waits until the dispatcher has seen it. */
async function seen(store: TaskStore, one: Rig, { head: { taskId } }: Log, configId: string): Promise<void> {
  one.news();
  const isClaimed = async (): Promise<boolean> => (await store.nextDelivery()) === undefined;
  await expect.poll(isClaimed, patience).toBe(true);
  expect(await store.getPushConfig({ taskId, configId })).toBeDefined();
  // The answer to the claim is here as well.
  await new Promise((resolve) => setImmediate(resolve));
}

const three = [chunk("1"), chunk("2"), chunk("3")];

/** A task whose delivery waits for a host that is busy with another one. */
async function waitingBehindFirst(store: TaskStore, rig: Rig, host: Receiver): Promise<Log> {
  await Log.create(store, [host.url("/first")]);
  rig.news();
  await expect.poll(() => host.hits.length, patience).toBe(1);
  const log = await Log.create(store, [host.url("/a")], three);
  rig.news();
  await expect.poll(() => rig.dispatcher.status.waiting, patience).toBe(1);
  return log;
}

describe("a configuration that is replaced", () => {
  it("while it is delivered sends all that follows to the new webhook alone", async () => {
    const store = memoryStore();
    const { webhook: old, answer } = await slow();
    const fresh = await receive();
    const one = await new Rig(store, { receivers: [old, fresh] }).start();
    const log = await Log.create(store, [old.url("/a")], three);
    one.news();
    await expect.poll(() => old.hits.length, patience).toBe(1);
    await replace(store, log, "/a", fresh.url("/b"));
    await seen(store, one, log, "/a");
    answer();
    await expect.poll(() => fresh.generationsOf("/b").at(-1), patience).toBe(4);
    expect(old.generationsOf("/a")).toEqual([1]);
    expect(fresh.hits.map(({ headers }) => headers["x-a2a-notification-token"])).not.toContain("token of /a");
  });

  it("while it waits for its host does not wait for that one any more", async () => {
    const store = memoryStore();
    const { webhook: old } = await slow();
    const fresh = await receive();
    const one = await new Rig(store, { receivers: [old, fresh], limits: { pushTimeoutMs: 600_000 } }).start();
    const log = await waitingBehindFirst(store, one, old);
    await replace(store, log, "/a", fresh.url("/b"));
    one.news();
    await expect.poll(() => fresh.generationsOf("/b"), patience).toEqual(log.generations);
    expect(old.of("/a")).toEqual([]);
  });

  it("while it waits for its host, by one that cannot be read, takes no slot any more", async () => {
    const store = memoryStore();
    const { webhook: old, answer } = await slow();
    const one = await new Rig(store, { receivers: [old], limits: { pushTimeoutMs: 600_000 } }).start();
    const log = await waitingBehindFirst(store, one, old);
    await replace(store, log, "/a", old.url("/b"), new ConfigVault([new Uint8Array(32).fill(1)]));
    one.news();
    await expect.poll(() => one.dispatcher.status.waiting, patience).toBe(0);
    answer();
    await expect.poll(() => one.dispatcher.status.working, patience).toBe(0);
    expect(await within(10_000, one.dispatcher.drain(60_000))).toBe(true);
    expect(old.of("/a")).toEqual([]);
  });

  it("after it was deleted, while it was delivered, is delivered to its end", async () => {
    const store = memoryStore();
    const { webhook: old, answer } = await slow();
    const fresh = await receive();
    const one = await new Rig(store, { receivers: [old, fresh] }).start();
    const log = await Log.create(store, [old.url("/a")], three);
    one.news();
    await expect.poll(() => old.hits.length, patience).toBe(1);
    await store.deletePushConfig({ taskId: log.head.taskId, configId: "/a" });
    await replace(store, log, "/a", fresh.url("/b"));
    await log.complete();
    await seen(store, one, log, "/a");
    answer();
    await expect.poll(() => fresh.generationsOf("/b"), patience).toEqual([5]);
    await expect.poll(() => one.dispatcher.status.working, patience).toBe(0);
    expect(old.generationsOf("/a")).toEqual([1]);
  });
});

describe("a configuration that is deleted", () => {
  it("while its receiver takes its time gets nothing more", async () => {
    // Each answer comes later than the next notification could be sent.
    const store = slowStore(memoryStore(), { random: () => 0.99, maxMs: 50 });
    const { webhook, answer } = await slow();
    const one = await new Rig(store, { receivers: [webhook] }).start();
    const log = await Log.create(store, [webhook.url("/a")], three);
    one.news();
    await expect.poll(() => webhook.hits.length, patience).toBe(1);
    await store.deletePushConfig({ taskId: log.head.taskId, configId: "/a" });
    // The dispatcher trusts a confirmed configuration for a second, so the test waits longer.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    answer();
    await expect.poll(() => one.dispatcher.status.working, patience).toBe(0);
    expect(webhook.generationsOf("/a")).toEqual([1]);
  });
});
