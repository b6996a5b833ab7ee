import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { hangingStore, slowStore } from "../support/slow-store.js";
import { accept, type Receiver, receive, refuse } from "./receiver.js";
import { chunk, Log, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await receive();
});

const rig = (options: Partial<RigOptions> = {}, on = store): Rig => new Rig(on, { receivers: [receiver], ...options });
const delivered = (): Promise<void> => expect.poll(() => store.nextDelivery(), patience).toBeUndefined();
const has = (path: string, log: Log, at = receiver): Promise<void> =>
  expect.poll(() => at.generationsOf(path), patience).toEqual(log.generations);

describe("a configuration that fails", () => {
  it("is given up after its age, can be looked at, and goes on where it stopped when it is redriven", async () => {
    receiver.answer = (hit, response, request) => (hit.generation > 2 ? refuse(500) : accept)(hit, response, request);
    const one = await rig({ limits: { maxPushAgeMs: 300 } }).start();
    const log = await Log.create(store, [receiver.url("/a")], [status(TaskState.WORKING), chunk("1"), chunk("2")]);
    one.news();
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(1);
    const [dead] = await one.control.deadLetters({ owner: "me" });
    expect(dead).toEqual({
      taskId: log.head.taskId,
      configId: "/a",
      tenant: "",
      owner: "me",
      host: `http://127.0.0.1:${receiver.port}`,
      undelivered: 2,
      failure: "the receiver answered 500",
      failingSince: expect.any(Number),
      givenUpAt: expect.any(Number),
    });
    const { taskId, configId, host, failure } = dead as NonNullable<typeof dead>;
    const [facts, message] = [{ taskId, configId, host, failure }, "a push notification was not accepted"];
    expect(one.debugged[0]).toEqual({ facts, message });
    expect((dead?.givenUpAt ?? 0) - (dead?.failingSince ?? 0)).toBeGreaterThanOrEqual(300);
    expect(await one.control.deadLetters({ owner: "somebody else" })).toEqual([]);
    expect(await one.control.deadLetters({ after: dead as never })).toEqual([]);
    expect(one.control.status()).toMatchObject({ sent: 2, givenUp: 1 });
    // A delivery that was given up is not retried, whatever happens.
    const tries = receiver.hits.length;
    await log.append([chunk("3")]);
    one.news();
    await sleep(100);
    expect(receiver.hits).toHaveLength(tries);
    receiver.answer = accept;
    expect(await one.control.redrive([{ taskId: log.head.taskId, configId: "other" }])).toBe(0);
    expect(await one.control.redrive([{ taskId: log.head.taskId, configId: "/a" }])).toBe(1);
    await has("/a", log);
    expect(await one.control.deadLetters()).toEqual([]);
    await delivered();
  });

  it("is given up at once when its webhook is gone", async () => {
    receiver.answer = refuse(410);
    const one = await rig().start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect
      .poll(() => one.control.deadLetters(), patience)
      .toMatchObject([{ failure: "the receiver answered 410" }]);
    expect(receiver.hits).toHaveLength(1);
    expect(one.logged.map(({ message }) => message)).toEqual(["push notifications were given up"]);
  });

  it("is not given up while ages cannot be relied on", async () => {
    receiver.answer = refuse(500);
    let isSteady = false;
    const one = await rig({ limits: { maxPushAgeMs: 50 }, isSteady: () => isSteady }).start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(4);
    expect(await one.control.deadLetters()).toEqual([]);
    isSteady = true;
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(1);
  });

  it("is not given up by a clock that was ahead for a moment", async () => {
    receiver.answer = refuse(500);
    let aheadMs = 0;
    const one = await rig({ limits: { maxPushAgeMs: 60_000 }, now: () => Date.now() + aheadMs, pollMs: 20 }).start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(1);
    aheadMs = 30 * 3_600_000;
    await expect.poll(() => one.dispatcher.now() > Date.now() + 60_000, patience).toBe(true);
    aheadMs = 0;
    const before = receiver.hits.length;
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 2);
    expect(await one.control.deadLetters()).toEqual([]);
  });

  it("begins anew after progress: what failed before is over", async () => {
    let fails = true;
    receiver.answer = (hit, response, request) => {
      const answer = fails ? refuse(500) : accept;
      fails = !fails;
      return answer(hit, response, request);
    };
    const one = await rig({ retryMs: 100, limits: { maxPushAgeMs: 2_000 } }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    // Each delivery fails once. Together they take longer than the maximum age.
    for (let i = 0; i < 60; i++) await log.append([chunk(`${i}`)]);
    one.news();
    await has("/a", log);
    expect(one.control.status().givenUp).toBe(0);
  });

  it("whose URL is forbidden by now ages like one that fails", async () => {
    const one = await new Rig(store, { receivers: [], limits: { maxPushAgeMs: 200 } }).start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(1);
    expect(receiver.hits).toEqual([]);
  });
});

describe("a host", () => {
  it("that does not answer is tried by one delivery at a time, and others go on", async () => {
    let down = true;
    let open = 0;
    let peak = 0;
    const bad = await receive((hit, response, request) => {
      if (!down) return accept(hit, response, request);
      // The first ones come before anything is known: eight at once, and four in the places of the first that failed.
      open++;
      if (bad.hits.length > 12) peak = Math.max(peak, open);
      setTimeout(() => {
        open--;
        response.destroy();
      }, 20);
    });
    const one = await rig({
      receivers: [receiver, bad],
      limits: { maxDeliveriesPerHost: 8, maxPushRetryMs: 100 },
    }).start();
    const logs = await Promise.all(Array.from({ length: 100 }, (_, i) => Log.create(store, [bad.url(`/${i}`)])));
    const other = await Log.create(store, [receiver.url("/good")], [status(TaskState.WORKING)]);
    one.news();
    await has("/good", other);
    await expect.poll(() => bad.hits.length, patience).toBeGreaterThan(16);
    expect(peak).toBe(1);
    expect(one.control.status().failingHosts).toMatchObject([{ host: `http://127.0.0.1:${bad.port}` }]);
    // Most of them were never tried.
    expect(new Set(bad.hits.map(({ path }) => path)).size).toBeLessThan(60);
    down = false;
    for (const [i, log] of logs.entries()) await has(`/${i}`, log, bad);
    await delivered();
    expect(one.control.status().failingHosts).toEqual([]);
  });

  it("that answers with errors of its webhooks is not taken for a dead one", async () => {
    receiver.answer = (hit, response, request) => (hit.path === "/good" ? accept : refuse(404))(hit, response, request);
    const one = await rig({ limits: { maxPushRetryMs: 20 } }).start();
    for (let i = 0; i < 20; i++) await Log.create(store, [receiver.url(`/${i}`)]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(40);
    expect(one.control.status().failingHosts).toEqual([]);
    const log = await Log.create(store, [receiver.url("/good")]);
    one.news();
    await has("/good", log);
  });

  it("that does not answer for too long has those given up that were never tried", async () => {
    const bad = await receive((_, response) => response.destroy());
    const one = await rig({
      receivers: [bad],
      limits: { maxPushAgeMs: 500, maxDeliveriesPerHostPerSecond: 1_000 },
    }).start();
    for (let i = 0; i < 50; i++) await Log.create(store, [bad.url(`/${i}`)]);
    one.news();
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(50);
    expect(new Set(bad.hits.map(({ path }) => path)).size).toBeLessThan(50);
  });

  it("gets no more at once than it may, and in the end everything", async () => {
    receiver.answer = (hit, response, request) => void setTimeout(() => accept(hit, response, request), 10);
    const one = await rig({ limits: { maxDeliveriesPerHost: 3, maxDeliveriesPerHostPerSecond: 1_000 } }).start();
    const logs = await Promise.all(
      Array.from({ length: 60 }, (_, i) => Log.create(store, [receiver.url(`/${i}`)], [chunk("1")])),
    );
    one.news();
    for (const [i, log] of logs.entries()) await has(`/${i}`, log);
    expect(receiver.peak).toBe(3);
    await delivered();
  });

  it("gets no more in a second than it may", async () => {
    const one = await rig({ limits: { maxDeliveriesPerHostPerSecond: 50 } }).start();
    const log = await Log.create(store, [receiver.url("/a"), receiver.url("/b")]);
    await log.append(Array.from({ length: 40 }, () => chunk("x")));
    one.news();
    await has("/a", log);
    await expect.poll(() => receiver.generationsOf("/b").length, patience).toBe(40);
    const times = receiver.hits.map(({ at }) => at);
    const [first = 0] = times;
    // 81 notifications, of which a tenth of a second's share comes at once.
    expect((times.at(-1) ?? 0) - first).toBeGreaterThan(((81 - 6) / 50) * 1_000 - 100);
  });
});

describe("an end", () => {
  it("gives what is being sent its grace, and leaves the rest at once to the next start", async () => {
    let answer: () => void = () => {};
    receiver.answer = (hit, response, request) => {
      answer = () => void accept(hit, response, request);
    };
    const one = await rig({ limits: { maxDeliveriesPerHost: 1 } }).start();
    const first = await Log.create(store, [receiver.url("/a")], [chunk("1")]);
    const second = await Log.create(store, [receiver.url("/b")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(1);
    const drained = one.dispatcher.drain(10_000);
    // Deliveries that wait for the host are released before the grace period is over.
    await expect.poll(() => store.nextDelivery(), patience).toBeDefined();
    answer();
    await drained;
    expect(receiver.hits).toHaveLength(1);
    receiver.answer = accept;
    await rig().start();
    await has("/a", first);
    await has("/b", second);
    // The one that was accepted within the grace is not sent again.
    expect(receiver.of("/a")).toHaveLength(2);
  });

  it("cuts off what takes longer, and it is no failure", async () => {
    receiver.answer = () => {};
    const one = await rig().start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(1);
    await one.dispatcher.drain(20);
    expect(one.control.status().failed).toBe(0);
    const [claimed] = await store.claimDeliveries({ holder: "next", leaseMs: 1_000, now: Date.now() + 1, limit: 10 });
    expect(claimed).toMatchObject({ taskId: log.head.taskId, attempts: 0, failingSince: undefined });
  });

  it("lets no timer fire behind it", async () => {
    receiver.answer = refuse(500);
    const calls: string[] = [];
    const watched = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          calls.push(String(name));
          return (value as (...a: unknown[]) => unknown).apply(target, args);
        };
      },
    });
    const one = await rig({ pollMs: 10 }, watched).start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(2);
    await one.end();
    const tries = receiver.hits.length;
    calls.length = 0;
    one.news();
    one.dispatcher.wake();
    one.dispatcher.start();
    await sleep(500);
    expect(calls).toEqual([]);
    expect(receiver.hits).toHaveLength(tries);
  });
});

describe("a store", () => {
  it("that is slow, and changes the order of calls, loses and repeats nothing", async () => {
    let seed = 7;
    const random = (): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const one = await rig({ limits: { maxDeliveries: 8 } }, slowStore(store, { random, maxMs: 10 })).start();
    const logs = await Promise.all(
      Array.from({ length: 20 }, (_, i) => Log.create(store, [receiver.url(`/${i}`)], [chunk("1")])),
    );
    for (let i = 0; i < 10; i++) {
      for (const log of logs) await log.append([chunk("2")]);
      one.news();
      await sleep(5);
    }
    for (const [i, log] of logs.entries()) await has(`/${i}`, log);
    await delivered();
    expect(receiver.overlaps).toBe(0);
    expect(receiver.hits).toHaveLength(logs.length * 11 + logs.length);
  });

  it.each(["completeDelivery", "claimDeliveries", "savePushPosition"] as const)(
    "that hangs in %s holds nothing back when it goes on",
    async (name) => {
      const { store: hanging, hang, go } = hangingStore(store, [name]);
      const one = await rig({ pollMs: 50 }, hanging).start();
      const log = await Log.create(store, [receiver.url("/a")]);
      await has("/a", log);
      hang();
      await log.append([chunk("1")]);
      one.news();
      await sleep(100);
      await log.append([chunk("2")]);
      one.news();
      go();
      await has("/a", log);
      await delivered();
    },
  );

  it("that stores a failure later than its next try is due holds that try back no longer", async () => {
    receiver.answer = refuse(500);
    const { store: hanging, hang, go } = hangingStore(store, ["completeDelivery"]);
    hang();
    const one = await rig({}, hanging).start();
    await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(1);
    // The next retry would be due by now. The store does not have it yet, and the dispatcher polls only every half
    // minute.
    await sleep(200);
    receiver.answer = accept;
    go();
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
  });

  it.each(["completeDelivery", "claimDeliveries", "savePushPosition", "nextDelivery"] as const)(
    "whose %s fails, also when it was done all the same, keeps no configuration from being delivered",
    async (name) => {
      let failures = 0;
      const failing = new Proxy(store, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== "function") return value;
          return async (...args: unknown[]) => {
            const isBad = key === name && failures < 6;
            if (isBad) failures++;
            // Every other failure is one of the answer alone.
            if (isBad && failures % 2 === 0) throw new Error("the disk is on fire");
            const answer = await (value as (...a: unknown[]) => unknown).apply(target, args);
            if (isBad) throw new Error("the answer got lost");
            return answer;
          };
        },
      });
      const one = await rig({ pollMs: 50 }, failing).start();
      const log = await Log.create(store, [receiver.url("/a"), receiver.url("/b")]);
      for (let i = 0; i < 8; i++) {
        await log.append([chunk(`${i}`)]);
        one.news();
        await sleep(60);
      }
      await has("/a", log);
      await expect.poll(() => receiver.generationsOf("/b").length, patience).toBe(8);
      await delivered();
      expect(receiver.overlaps).toBe(0);
    },
    60_000,
  );
});

describe("a clock", () => {
  it.each([5, -5])("that jumps by %i hours holds no retry back", async (hours) => {
    let offset = 0;
    let fails = true;
    receiver.answer = (hit, response, request) => (fails ? refuse(500) : accept)(hit, response, request);
    const one = await rig({ now: () => Date.now() + offset, limits: { maxPushAgeMs: 24 * 3_600_000 } }).start();
    const log = await Log.create(store, [receiver.url("/a")]);
    one.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(1);
    offset = hours * 3_600_000;
    const tries = receiver.hits.length;
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(tries + 1);
    fails = false;
    await has("/a", log);
    expect(await one.control.deadLetters()).toEqual([]);
  });
});
