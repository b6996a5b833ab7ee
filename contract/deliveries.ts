import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { ClaimedDelivery, DeliveryOutcome, TaskStore } from "../src/store/task-store.js";
import { claim, claimOne, complete, createDue, keysOf, NOW } from "./delivery-setup.js";
import {
  bytesOf,
  configOf,
  create,
  follow,
  followRequest,
  headOf,
  numbered,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

/** Due push configurations and the outcomes of their deliveries. */
export function deliveryContract(contract: StoreContract): void {
  contract.suite.describe("push notifications", () => {
    becomingDue(contract);
    removing(contract);
    comingWithMessages(contract);
  });
  contract.suite.describe("savePushPosition() and completeDelivery()", () => {
    completing(contract);
    retrying(contract);
    fencing(contract);
  });
}

function becomingDue(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are due with the append that they are about, and not before", async (store) => {
    const head = await create(store, { taskId: "a" }, 3);
    expect(await store.nextDelivery()).toBeUndefined();
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    expect(await store.nextDelivery()).toBeUndefined();
    expect(await store.claimDeliveries(claim)).toEqual([]);
    expect(await store.append({ ...followRequest(head), time: 7_000 })).toEqual({ pushed: true });
    expect(await store.nextDelivery()).toBe(7_000);
    expect(await store.claimDeliveries({ ...claim, now: 6_999 })).toEqual([]);
    const { claim: number, ...claimed } = await claimOne(store, { now: 7_000 });
    expect(claimed).toEqual({
      ...{ taskId: "a", configId: "x", ...OWNER, target: "target" },
      ...{ bytes: bytesOf("config"), position: 3, headPosition: 4, attempts: 0, failingSince: undefined },
    });
    expect(number).toEqual(expect.any(Number));
  });

  scenario(contract, "are due at the time of the status when an append says no other", async (store) => {
    const head = await create(store, { taskId: "a" });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await follow(store, head, { statusTime: 2_345 });
    expect(await store.nextDelivery()).toBe(2_345);
  });

  scenario(contract, "are due once, from the first append that was not delivered on", async (store) => {
    await createDue(store, "a", { now: 5_000 });
    const head = headOf({ taskId: "a", position: 2, generation: 2 });
    expect(await store.append({ ...followRequest(head), time: 6_000 })).toEqual({ pushed: true });
    expect(await store.nextDelivery()).toBe(5_000);
    expect((await store.claimDeliveries(claim)).map(({ position }) => position)).toEqual([1]);
  });

  scenario(contract, "are due when the task ends, and concern tasks with configurations alone", async (store) => {
    const ends = await create(store, { taskId: "ends" });
    const other = await create(store, { taskId: "other" });
    await store.putPushConfig(configOf({ taskId: "ends", configId: "x" }));
    expect(await store.append(followRequest(other))).toBeUndefined();
    expect(await store.append(followRequest(ends, { state: TaskState.COMPLETED }))).toEqual({ pushed: true });
    expect(keysOf(await store.claimDeliveries(claim))).toEqual(["ends x"]);
  });
}

function removing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "say nothing of a task any more whose configurations are gone", async (store) => {
    const head = await create(store, { taskId: "a" });
    for (const configId of ["x", "y"]) await store.putPushConfig(configOf({ taskId: "a", configId }));
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    expect(await store.append(followRequest(head))).toEqual({ pushed: true });
    await store.deletePushConfig({ taskId: "a", configId: "y" });
    expect(await store.nextDelivery()).toBeUndefined();
    expect(await store.append(followRequest({ ...head, position: 2 }))).toBeUndefined();
  });

  scenario(contract, "keep their task while they are due, and not when they are given up", async (store) => {
    for (const taskId of ["due", "delivered", "dead", "idle"]) {
      const head = await create(store, { taskId });
      await store.putPushConfig(configOf({ taskId, configId: "x" }));
      await follow(store, head, { state: TaskState.COMPLETED });
    }
    for (const one of await store.claimDeliveries(claim)) {
      if (one.taskId === "dead") await complete(store, one, { kind: "dead", at: NOW, failure: "" });
      else if (one.taskId !== "due") await complete(store, one, { kind: "done" }, { position: 2 });
    }
    // With a limit of two, the kept task must not block those after it.
    expect(await store.removeFinished({ before: 9_999, limit: 2 })).toBe(2);
    expect(await store.removeFinished({ before: 9_999, limit: 2 })).toBe(1);
    expect(await store.removeFinished({ before: 9_999, limit: 2 })).toBe(0);
    expect(await store.head({ taskId: "due" })).toBeDefined();
    expect(await store.listDeadDeliveries({ limit: 10 })).toEqual([]);
    await store.deletePushConfig({ taskId: "due", configId: "x" });
    expect(await store.removeFinished({ before: 9_999, limit: 2 })).toBe(1);
  });
}

function comingWithMessages(contract: StoreContract): void {
  const { expect } = contract.suite;
  const pushConfig = configOf({ taskId: "a", configId: "x" });

  scenario(contract, "come with the append that creates a task, and have all of it", async (store) => {
    const head = headOf({ taskId: "a", position: 3 });
    const request = { head, expected: 0, creates: true, entries: numbered(0, 3), pushConfig, time: NOW };
    expect(await store.append(request)).toEqual({ pushed: true });
    expect(await claimOne(store)).toMatchObject({ taskId: "a", configId: "x", position: 0 });
  });

  scenario(contract, "come with a later append, and have what comes with it", async (store) => {
    const head = await create(store, { taskId: "a" }, 2);
    expect(await store.append({ ...followRequest(head), pushConfig })).toEqual({ pushed: true });
    expect(await claimOne(store)).toMatchObject({ position: 2 });
  });

  scenario(contract, "replace the configuration of the same id, at its place", async (store) => {
    const head = await create(store, { taskId: "a" });
    await store.putPushConfig(pushConfig);
    await follow(store, head);
    const again = { ...pushConfig, bytes: bytesOf("new") };
    await store.append({ ...followRequest({ ...head, position: 2 }), pushConfig: again });
    expect(await store.claimDeliveries(claim)).toMatchObject([{ position: 1, bytes: bytesOf("new") }]);
  });

  scenario(contract, "are stored with their append or not at all", async (store) => {
    const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 1 };
    const request = { head: headOf({ taskId: "a" }), expected: 0, creates: true, entries: numbered(0, 1) };
    await store.append({ ...request, send });
    const retry = { ...request, send, pushConfig };
    await expect(store.append(retry)).rejects.toMatchObject({ kind: "duplicate" });
    await expect(store.append({ ...request, pushConfig })).rejects.toMatchObject({ kind: "conflict" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
    expect(await store.nextDelivery()).toBeUndefined();
  });

  scenario(contract, "are refused together with their append when they are one too many", async (store) => {
    const few = { ...pushConfig, maxPerTask: 1, maxPerOwner: 2 };
    const refused = (tooManyOf: string) => ({ name: "StoreError", kind: "too-many-push-configs", tooManyOf });
    const head = await create(store, { taskId: "a" });
    await store.append({ ...followRequest(head), pushConfig: few });
    const next = followRequest({ ...head, position: 2 });
    await expect(store.append({ ...next, pushConfig: { ...few, configId: "y" } })).rejects.toMatchObject(
      refused("task"),
    );
    expect(await readAll(store, "a")).toHaveLength(2);
    const creation = (taskId: string) => ({
      ...{ head: headOf({ taskId }), expected: 0, creates: true, entries: numbered(0, 1), pushConfig: few },
      send: { ...OWNER, key: taskId, fingerprint: "f", taskId, position: 1 },
    });
    await store.append(creation("b"));
    await expect(store.append(creation("c"))).rejects.toMatchObject(refused("owner"));
    expect(await store.head({ taskId: "c" })).toBeUndefined();
    expect(await store.findSend({ ...OWNER, key: "c" })).toBeUndefined();
    // A replacement never exceeds a limit.
    await store.append({ ...next, pushConfig: { ...few, maxPerTask: 0, maxPerOwner: 0 } });
  });
}

function completing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const position = async (store: TaskStore): Promise<unknown> =>
    (await store.getPushConfig({ taskId: "a", configId: "x" }))?.position;

  scenario(contract, "remember how far deliveries are, and never go back", async (store) => {
    await createDue(store, "a");
    const { claim: number } = await claimOne(store);
    const key = { taskId: "a", configId: "x" };
    for (const [save, kept] of [
      [2, 2],
      [1, 2],
      [0, 2],
    ] as const) {
      expect(await store.savePushPosition({ key, holder: "me", claim: number, position: save })).toBe("saved");
      expect(await position(store)).toBe(kept);
    }
  });

  scenario(contract, "end what is delivered, and go on when the log did", async (store) => {
    await createDue(store, "a");
    const claimed = await claimOne(store);
    const head = headOf({ taskId: "a", position: 2, generation: 2 });
    await follow(store, head);
    expect(await complete(store, claimed, { kind: "done" }, { position: 2 })).toBe("more");
    expect(await position(store)).toBe(2);
    expect(await store.nextDelivery()).toBeUndefined();
    expect(await complete(store, claimed, { kind: "done" }, { position: 3 })).toBe("completed");
    expect(await store.claimDeliveries(claim)).toEqual([]);
    await store.append({ ...followRequest({ ...head, position: 3 }), time: 4_000 });
    expect(await store.nextDelivery()).toBe(4_000);
    expect(await claimOne(store)).toMatchObject({ position: 3 });
  });

  scenario(contract, "keep the configurations of a task apart", async (store) => {
    const head = await create(store, { taskId: "a" });
    for (const configId of ["x", "y", "z"]) await store.putPushConfig(configOf({ taskId: "a", configId }));
    await follow(store, head);
    const outcomes: Record<string, DeliveryOutcome> = {
      x: { kind: "done" },
      y: { kind: "retry", at: 1, failure: "no", failingSince: 1 },
      z: { kind: "dead", at: 1, failure: "no" },
    };
    for (const one of await store.claimDeliveries(claim)) {
      const { configId } = one;
      const outcome = outcomes[configId] ?? { kind: "done" };
      expect(await complete(store, one, outcome, { position: configId === "x" ? 2 : 1 })).toBe("completed");
    }
    const configs = await store.listPushConfigs({ taskId: "a", after: "", limit: 10 });
    expect(configs.map(({ configId, config }) => [configId, config.position])).toEqual([
      ["x", 2],
      ["y", 1],
      ["z", 1],
    ]);
    expect(keysOf(await store.claimDeliveries(claim))).toEqual(["a y"]);
  });
}

function retrying(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "count failures until there is progress", async (store) => {
    await createDue(store, "a");
    const retry = (at: number): DeliveryOutcome => ({ kind: "retry", at, failure: "no", failingSince: 1_000 });
    expect(await complete(store, await claimOne(store), retry(NOW + 10))).toBe("completed");
    expect(await store.claimDeliveries(claim)).toEqual([]);
    expect(await store.nextDelivery()).toBe(NOW + 10);
    const second = await claimOne(store, { now: NOW + 10 });
    expect(second).toMatchObject({ attempts: 1, failingSince: 1_000 });
    await complete(store, second, retry(NOW));
    const third = await claimOne(store);
    expect(third).toMatchObject({ attempts: 2, failingSince: 1_000 });
    await complete(store, third, { kind: "later", at: NOW });
    const fourth = await claimOne(store);
    expect(fourth).toMatchObject({ attempts: 2, failingSince: 1_000, position: 1 });
    await complete(store, fourth, { kind: "retry", at: NOW, failure: "no", failingSince: 2_000 }, { position: 2 });
    const fifth = await claimOne(store);
    expect(fifth).toMatchObject({ attempts: 1, failingSince: 2_000, position: 2 });
    await complete(store, fifth, { kind: "later", at: NOW, failure: "host", failingSince: 1_500 });
    const sixth = await claimOne(store);
    expect(sixth).toMatchObject({ attempts: 1, failingSince: 1_500 });
    const { taskId, configId, claim: number } = sixth;
    await store.savePushPosition({ key: { taskId, configId }, holder: "me", claim: number, position: 3 });
    await complete(store, sixth, { kind: "later", at: NOW });
    expect(await claimOne(store)).toMatchObject({ attempts: 0, failingSince: undefined, position: 3 });
  });
}

function fencing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const outcomes: readonly DeliveryOutcome[] = [
    { kind: "done" },
    { kind: "retry", at: 1, failure: "no", failingSince: 1 },
    { kind: "later", at: 1 },
    { kind: "dead", at: 1, failure: "no" },
  ];

  async function expectLost(store: TaskStore, { taskId, configId, claim: number }: ClaimedDelivery): Promise<void> {
    const key = { taskId, configId };
    for (const holder of ["me", "other"]) {
      const progress = { key, holder, claim: number, position: 2 };
      expect(await store.savePushPosition(progress)).toBe("lost");
      for (const outcome of outcomes) expect(await store.completeDelivery({ ...progress, outcome })).toBe("lost");
    }
  }

  scenario(contract, "change nothing for a holder that has it no more", async (store) => {
    await createDue(store, "a");
    const first = await claimOne(store);
    await complete(store, first, { kind: "later", at: NOW });
    await expectLost(store, first);
    const second = await claimOne(store);
    await expectLost(store, first);
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toMatchObject({ position: 1 });
    expect(await complete(store, second, { kind: "done" }, { holder: "other", position: 2 })).toBe("lost");
    expect(await complete(store, second, { kind: "done" }, { position: 2 })).toBe("completed");
  });

  scenario(contract, "change nothing of one that was replaced or removed", async (store) => {
    await createDue(store, "a");
    const first = await claimOne(store);
    await store.putPushConfig(configOf({ taskId: "a", configId: "x", now: 5_000 }, "new"));
    await expectLost(store, first);
    expect(await store.nextDelivery()).toBe(5_000);
    const second = await claimOne(store);
    expect(second).toMatchObject({ position: 1, bytes: bytesOf("new") });
    await expectLost(store, first);
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await expectLost(store, second);
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await follow(store, headOf({ taskId: "a", position: 2, generation: 2 }));
    await claimOne(store);
    await expectLost(store, second);
  });
}
