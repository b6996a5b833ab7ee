import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Limits } from "../../src/core/limits.js";
import { outgoingPushes } from "../../src/push/dispatcher.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { DeliveryOutcome } from "../../src/store/push-store.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { type Answer, type Receiver, receive, refuse } from "./receiver.js";
import { chunk, Log, Rig, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

/** Longer than any test. */
const limits = { maxDeliveries: 16, pushTimeoutMs: 600_000 };

const never: Answer = () => {};

/** A dispatcher of 16 places, and 20 hosts that take connections and never answer, each with three tasks of one owner. */
async function stalled(good: Receiver, before: (one: Rig, store: TaskStore) => Promise<void> = async () => {}) {
  const store = memoryStore();
  const hosts = await Promise.all(Array.from({ length: 20 }, () => receive(never)));
  const one = await new Rig(store, { receivers: [good, ...hosts], limits }).start();
  await before(one, store);
  for (let round = 0; round < 3; round++) {
    for (const [index, host] of hosts.entries()) {
      await Log.create(store, [host.url(`/${round}/${index}`)], [], "mallory");
    }
  }
  one.news();
  await expect.poll(() => hosts.filter(({ hits }) => hits.length > 0).length, patience).toBeGreaterThan(0);
  return { store, one, hosts };
}

describe("hosts that stall, more of them than there are places,", () => {
  it("keep nothing from a host that answers, nor from one that is new, of another owner", async () => {
    const good = await receive();
    const { store, one, hosts } = await stalled(good);
    const log = await Log.create(store, [good.url("/new")], [status(TaskState.WORKING)]);
    one.news();
    await expect.poll(() => good.generationsOf("/new"), patience).toEqual(log.generations);
    await log.complete();
    one.news();
    await expect.poll(() => good.generationsOf("/new"), patience).toEqual(log.generations);
    // A quarter of half of the places: no other has ended meanwhile.
    await expect.poll(() => one.dispatcher.status, patience).toMatchObject({ working: 2, failed: 0 });
    expect(hosts.every(({ peak }) => peak <= 1)).toBe(true);
  });

  it("keep nothing from a host of the same owner that has answered before", async () => {
    const good = await receive();
    let log: Log | undefined;
    const { one } = await stalled(good, async (rig, store) => {
      log = await Log.create(store, [good.url("/known")], [], "mallory");
      rig.news();
      await expect.poll(() => good.generationsOf("/known"), patience).toEqual([1]);
    });
    await log?.complete();
    one.news();
    await expect.poll(() => good.generationsOf("/known"), patience).toEqual([1, 2]);
    expect(one.dispatcher.status).toMatchObject({ failed: 0 });
  });

  it("are each tried in their turn", async () => {
    const good = await receive();
    const { hosts } = await stalled(good);
    // A host that closes its connection makes room for the next one.
    for (const host of hosts) host.answer = (_, response) => response.writeHead(204).end();
    const waiting = hosts.filter(({ hits }) => hits.length === 0);
    expect(waiting.length).toBeGreaterThan(15);
    for (const host of hosts) host.dropAll();
    await expect.poll(() => hosts.every(({ hits }) => hits.length >= 3), patience).toBe(true);
  });
});

describe("hosts that took what came, and then stall all together,", () => {
  /** A host of alice that has accepted one notification, and hosts of another owner that have accepted some. */
  async function known(events: readonly (readonly ReturnType<typeof chunk>[])[], most: Partial<Limits>) {
    let isStalled = false;
    const answer: Answer = (_, response) => void (isStalled || response.writeHead(204).end());
    const hosts = await Promise.all(Array.from({ length: 8 }, () => receive(answer)));
    const good = await receive();
    const store = memoryStore();
    const one = await new Rig(store, { receivers: [good, ...hosts], limits: { ...limits, ...most } }).start();
    const hers = await Log.create(store, [good.url("/hers")], [], "alice");
    const logs: Log[] = [];
    for (const [index, host] of hosts.entries()) {
      for (const round of events.keys()) {
        logs.push(await Log.create(store, [host.url(`/${round}/${index}`)], [], "mallory"));
      }
    }
    one.news();
    await expect.poll(() => one.dispatcher.status.sent, patience).toBe(logs.length + 1);
    isStalled = true;
    for (const [index, log] of logs.entries()) await log.append(events[index % events.length] ?? []);
    one.news();
    const arrived = (): number => hosts.reduce((sum, { hits }) => sum + hits.length, 0) - logs.length;
    return { one, good, hers, arrived };
  }

  it("keep no places from others", async () => {
    const { one, good, hers, arrived } = await known([[chunk("1")], [chunk("2")]], {});
    await expect.poll(arrived, patience).toBe(16);
    await hers.complete();
    one.news();
    await expect.poll(() => good.generationsOf("/hers"), patience).toEqual([1, 2]);
  });

  it("keep no room for bytes from others", async () => {
    setConstants(outgoingPushes, { maxBytes: 40_000 });
    const { one, good, hers, arrived } = await known([[chunk("x".repeat(20_000))]], {});
    await expect.poll(arrived, patience).toBeGreaterThan(0);
    await hers.complete();
    one.news();
    await expect.poll(() => good.generationsOf("/hers"), patience).toEqual([1, 2]);
  });
});

describe("a host", () => {
  it("that takes what comes gets as much at once as it may", async () => {
    const store = memoryStore();
    const open: (() => void)[] = [];
    let isSlow = false;
    const host = await receive((_, response) => {
      const answer = (): void => void response.writeHead(204).end();
      if (isSlow) open.push(answer);
      else answer();
    });
    const one = await new Rig(store, { receivers: [host], limits: { ...limits, maxDeliveriesPerHost: 4 } }).start();
    const logs: Log[] = [];
    for (let index = 0; index < 12; index++) logs.push(await Log.create(store, [host.url(`/${index}`)]));
    one.news();
    await expect.poll(() => host.hits.length, patience).toBe(12);
    isSlow = true;
    for (const log of logs) await log.complete();
    one.news();
    await expect.poll(() => open.length, patience).toBe(4);
    isSlow = false;
    for (const answer of open) answer();
    await expect.poll(() => host.hits.length, patience).toBe(24);
    expect(host.peak).toBe(4);
  });
});

describe("a delivery that is postponed because its host fails", () => {
  it("is stored with times in whole milliseconds, which is all that PostgreSQL accepts", async () => {
    const host = await receive(refuse(503));
    const store = memoryStore();
    const complete = store.completeDelivery.bind(store);
    const outcomes: DeliveryOutcome[] = [];
    const watched = Object.assign(store, {
      completeDelivery(request: Parameters<typeof complete>[0]) {
        outcomes.push(request.outcome);
        return complete(request);
      },
    });
    const one = await new Rig(watched, { receivers: [host] }).start();
    for (let index = 0; index < 10; index++) await Log.create(store, [host.url(`/${index}`)], []);
    one.news();
    const postponed = () => outcomes.filter((each) => each.kind === "later" && each.failingSince !== undefined);
    await expect.poll(() => postponed().length, patience).toBeGreaterThan(10);
    const times = outcomes.flatMap((each) => Object.values(each)).filter((each) => typeof each === "number");
    expect(times.filter((time) => !Number.isInteger(time))).toEqual([]);
  });
});
