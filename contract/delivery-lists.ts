import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type {
  AttemptFacts,
  DeliveryOutcome,
  ListDeliveries,
  PushConfigKey,
  StoredDelivery,
  TaskStore,
} from "../src/store/task-store.js";
import { claim, claimOne, complete, createDue, keysOf, NOW } from "./delivery-setup.js";
import {
  configOf,
  create,
  follow,
  followRequest,
  forEachOf,
  headOf,
  OWNER,
  type StoreContract,
  scenario,
} from "./setup.js";

/** Lists of deliveries, their failed attempts, and the redrive of some of them. */
export function deliveryListsContract(contract: StoreContract): void {
  contract.suite.describe("listDeliveries()", () => {
    showing(contract);
    filtering(contract);
    paging(contract);
  });
  contract.suite.describe("listAttempts()", () => {
    keepingAttempts(contract);
    forgettingAttempts(contract);
    survivingRestarts(contract);
  });
  contract.suite.describe("redriveDeliveries() by filter", () => redriving(contract));
}

/** An attempt with a number that tells it from others. */
const attempt = (number: number): AttemptFacts => ({
  ...{ time: 1_000 + number, durationMs: number, generation: 2, status: 500 },
  answer: `answer ${number} ü`,
});

const retry = (number: number): DeliveryOutcome => ({
  ...{ kind: "retry", at: NOW, failure: `failure ${number}`, failingSince: 1_000 },
  attempt: attempt(number),
});

const dead: DeliveryOutcome = { kind: "dead", at: 9_000, failure: "gone", attempt: attempt(99) };

const key = { taskId: "a", configId: "x" };

/** Fails the due configuration `key` a number of times. */
async function fail(store: TaskStore, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number++) await complete(store, await claimOne(store), retry(number));
}

/** Every page with these filters, as one list. */
async function pages(store: TaskStore, request: Omit<ListDeliveries, "after">): Promise<StoredDelivery[]> {
  const all: StoredDelivery[] = [];
  for (let after: PushConfigKey | undefined; ; ) {
    const { deliveries, next } = await store.listDeliveries({ ...request, after });
    if (deliveries.length > request.limit) throw new Error("a page is too long");
    all.push(...deliveries);
    if (next === undefined) return all;
    after = next;
  }
}

function showing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const at = async (store: TaskStore): Promise<StoredDelivery[]> => pages(store, { limit: 10 });
  const common = { ...key, ...OWNER, target: "target" };

  scenario(contract, "shows each state of a delivery", async (store) => {
    expect(await store.listDeliveries({ limit: 10 })).toEqual({ deliveries: [], next: undefined });
    const head = await create(store, { taskId: "a" });
    await store.putPushConfig(configOf(key));
    const idle = { failure: "", failingSince: undefined, at: undefined, holder: undefined, attempts: 0 };
    expect(await at(store)).toEqual([{ ...common, ...idle, state: "idle", position: 1, headPosition: 1 }]);
    await store.append({ ...followRequest(head), time: 7_000 });
    const due = { ...common, ...idle, state: "due", position: 1, headPosition: 2 };
    expect(await at(store)).toEqual([{ ...due, at: 7_000 }]);
    const claimed = await claimOne(store);
    expect(await at(store)).toEqual([{ ...due, at: 7_000, holder: "me" }]);
    await complete(store, claimed, retry(1));
    const failing = { attempts: 1, failure: "failure 1", failingSince: 1_000 };
    expect(await at(store)).toEqual([{ ...due, ...failing, at: NOW }]);
    await complete(store, await claimOne(store), dead);
    expect(await at(store)).toEqual([{ ...due, ...failing, failure: "gone", state: "dead", at: 9_000 }]);
  });
}

function filtering(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "restricts to states, tenant, owner, task and target", async (store) => {
    await fill(store);
    const found = async (filter: Partial<ListDeliveries>): Promise<string[]> =>
      keysOf(await pages(store, { ...filter, limit: 2 }));
    expect(await found({})).toEqual(["a x", "a y", "b x", "b y", "c x", "c y"]);
    expect(await found({ states: [] })).toHaveLength(6);
    expect(await found({ states: ["dead"] })).toEqual(["a x", "b x"]);
    expect(await found({ states: ["idle"] })).toEqual(["c x", "c y"]);
    expect(await found({ states: ["due", "dead"] })).toEqual(["a x", "a y", "b x", "b y"]);
    expect(await found({ tenant: "" })).toEqual(["b x", "b y"]);
    expect(await found({ tenant: "t" })).toEqual(["a x", "a y", "c x", "c y"]);
    expect(await found({ owner: "" })).toEqual(["c x", "c y"]);
    expect(await found({ owner: "me" })).toEqual(["a x", "a y", "b x", "b y"]);
    expect(await found({ taskId: "b" })).toEqual(["b x", "b y"]);
    expect(await found({ target: "target y" })).toEqual(["a y", "b y", "c y"]);
    expect(await found({ target: "target y", owner: "me", tenant: "t", taskId: "a", states: ["due"] })).toEqual([
      "a y",
    ]);
    expect(await found({ states: ["dead"], target: "target y" })).toEqual([]);
    expect(await found({ states: ["dead"], tenant: "", owner: "me" })).toEqual(["b x"]);
    for (const none of [{ tenant: "no" }, { owner: "no" }, { taskId: "no" }, { target: "no" }]) {
      expect(await found(none)).toEqual([]);
    }
  });

  scenario(contract, "finds a configuration by the target that replaced another", async (store) => {
    await createDue(store, "a");
    await store.putPushConfig(configOf({ ...key, target: "new" }));
    expect(keysOf(await pages(store, { target: "new", limit: 1 }))).toEqual(["a x"]);
    expect(await pages(store, { target: "target", limit: 1 })).toEqual([]);
  });
}

/** Three tasks with two configurations: `x` of the first two is dead, `y` due; those of the third are idle. */
async function fill(store: TaskStore): Promise<void> {
  const tasks = [
    { taskId: "a", tenant: "t", owner: "me" },
    { taskId: "b", tenant: "", owner: "me" },
    { taskId: "c", tenant: "t", owner: "" },
  ];
  for (const task of tasks) {
    const head = await create(store, task);
    for (const configId of ["x", "y"]) {
      await store.putPushConfig(configOf({ taskId: task.taskId, configId, target: `target ${configId}` }));
    }
    if (task.taskId !== "c") await follow(store, head);
  }
  for (const one of await store.claimDeliveries(claim)) {
    await complete(store, one, one.configId === "x" ? dead : retry(1));
  }
}

function paging(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "continues after a key, whether or not it still exists", async (store) => {
    await fill(store);
    const first = await store.listDeliveries({ limit: 3 });
    expect(keysOf(first.deliveries)).toEqual(["a x", "a y", "b x"]);
    await store.deletePushConfig({ taskId: "b", configId: "x" });
    const second = await store.listDeliveries({ limit: 3, after: first.next });
    expect(keysOf(second.deliveries)).toEqual(["b y", "c x", "c y"]);
    expect(second.next).toBeUndefined();
    const after = { taskId: "a", configId: "zz" };
    expect(keysOf((await store.listDeliveries({ limit: 1, after, taskId: "a" })).deliveries)).toEqual([]);
    expect(keysOf((await store.listDeliveries({ limit: 1, after, taskId: "c" })).deliveries)).toEqual(["c x"]);
  });

  scenario(contract, "reaches what is rare behind many that do not match", async (store) => {
    const head = await create(store, { taskId: "a" });
    const ids = Array.from({ length: 1_200 }, (_, number) => `${number}`);
    const most = { maxPerTask: 9_999, maxPerOwner: 9_999 };
    await forEachOf(ids, (configId) => store.putPushConfig(configOf({ taskId: "a", configId, ...most })));
    await create(store, { taskId: "b", owner: "rare" });
    await store.putPushConfig(configOf({ taskId: "b", configId: "x" }));
    await follow(store, headOf({ taskId: "b", owner: "rare" }));
    await complete(store, await claimOne(store), dead);
    for (const rare of [{ owner: "rare" }, { states: ["dead"] as const }, { taskId: "b" }, { tenant: OWNER.tenant }]) {
      const all = await pages(store, { ...rare, limit: 500 });
      expect(keysOf(all).at(-1)).toBe("b x");
    }
    const none = await pages(store, { taskId: head.taskId, states: ["due"], limit: 10 });
    expect(none).toEqual([]);
  });
}

function keepingAttempts(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "has the failed attempts with their outcomes, newest first", async (store) => {
    expect(await store.listAttempts(key)).toEqual([]);
    await createDue(store, "a");
    await createDue(store, "b");
    await store.claimDeliveries({ ...claim, limit: 2 }).then(async (claimed) => {
      for (const one of claimed) if (one.taskId === "a") await complete(store, one, retry(1));
    });
    await complete(store, await claimOne(store), dead);
    expect(await store.listAttempts(key)).toEqual([
      { ...attempt(99), failure: "gone", holder: "me" },
      { ...attempt(1), failure: "failure 1", holder: "me" },
    ]);
    expect(await store.listAttempts({ taskId: "b", configId: "x" })).toEqual([]);
  });

  scenario(contract, "has the last 20", async (store) => {
    await createDue(store, "a");
    await fail(store, 1, 23);
    const failures = (await store.listAttempts(key)).map(({ failure }) => failure);
    expect(failures).toEqual(Array.from({ length: 20 }, (_, index) => `failure ${23 - index}`));
  });

  scenario(contract, "has none of an outcome without an attempt, or of a claim that was lost", async (store) => {
    await createDue(store, "a");
    const first = await claimOne(store);
    await complete(store, first, { kind: "later", at: NOW, failure: "busy", failingSince: 1 });
    expect(await complete(store, first, retry(1))).toBe("lost");
    await complete(store, await claimOne(store), { kind: "retry", at: NOW, failure: "unreadable", failingSince: 1 });
    await complete(store, await claimOne(store), { kind: "dead", at: NOW, failure: "unreadable" });
    expect(await store.listAttempts(key)).toEqual([]);
  });
}

function forgettingAttempts(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "keeps them over a redrive and a success", async (store) => {
    await createDue(store, "a");
    await complete(store, await claimOne(store), dead);
    await store.redriveDeliveries({ now: NOW });
    await complete(store, await claimOne(store), { kind: "done" }, { position: 2 });
    expect(await store.listAttempts(key)).toHaveLength(1);
    await follow(store, headOf({ taskId: "a", position: 2, generation: 2 }));
    await fail(store, 2, 2);
    expect((await store.listAttempts(key)).map(({ failure }) => failure)).toEqual(["failure 2", "gone"]);
  });

  scenario(contract, "forgets them with the configuration, also a replaced one, and with the task", async (store) => {
    await createDue(store, "a");
    await createDue(store, "b");
    for (const one of await store.claimDeliveries(claim)) await complete(store, one, retry(1));
    const other = { taskId: "b", configId: "x" };
    await store.putPushConfig(configOf({ ...key, now: NOW }));
    expect(await store.listAttempts(key)).toEqual([]);
    expect(await store.listAttempts(other)).toHaveLength(1);
    await store.deletePushConfig(other);
    await store.putPushConfig(configOf({ ...other, now: NOW }));
    expect(await store.listAttempts(other)).toEqual([]);
    await complete(store, await claimOne(store), dead);
    expect(await store.listAttempts(key)).toHaveLength(1);
    await follow(store, headOf({ taskId: "a", position: 2, generation: 2 }), { state: TaskState.COMPLETED });
    expect(await store.removeFinished({ before: 9_999, limit: 9 })).toBe(1);
    await createDue(store, "a");
    expect(await store.listAttempts(key)).toEqual([]);
  });
}

function survivingRestarts(contract: StoreContract): void {
  const { suite, durable } = contract;
  if (durable === undefined) return;
  suite.it("has them after a restart", async () => {
    const store = await contract.open();
    await createDue(store, "a");
    await fail(store, 1, 3);
    await store.close();
    const again = await durable.reopen(store);
    suite
      .expect((await again.listAttempts(key)).map(({ failure }) => failure))
      .toEqual([3, 2, 1].map((number) => `failure ${number}`));
    suite.expect((await again.listDeliveries({ limit: 1 })).deliveries).toMatchObject([{ ...key, attempts: 3 }]);
    await again.close();
  });
}

function redriving(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "resumes those that match all filters, and no other", async (store) => {
    await fill(store);
    const states = async (): Promise<string[]> => (await pages(store, { limit: 9 })).map(({ state }) => state);
    const before = await states();
    for (const none of [{ owner: "" }, { tenant: "no" }, { target: "target y" }, { owner: "me", target: "no" }]) {
      expect(await store.redriveDeliveries({ now: 8_000, ...none })).toBe(0);
      expect(await states()).toEqual(before);
    }
    expect(await store.redriveDeliveries({ now: 8_000, tenant: "", owner: "me", target: "target x" })).toBe(1);
    expect(await states()).toEqual(["dead", "due", "due", "due", "idle", "idle"]);
    const [redriven] = await pages(store, { taskId: "b", limit: 1 });
    expect(redriven).toMatchObject({ state: "due", at: 8_000, attempts: 0, failure: "", position: 1 });
    expect(await store.redriveDeliveries({ now: 8_000, owner: "me" })).toBe(1);
    expect(await states()).toEqual(["due", "due", "due", "due", "idle", "idle"]);
  });

  scenario(contract, "resumes more than one step's worth", async (store) => {
    await create(store, { taskId: "a" });
    const targets = Array.from({ length: 620 }, (_, number) => (number % 3 === 0 ? "one" : "other"));
    await forEachOf(targets, (target, number) =>
      store.putPushConfig(configOf({ taskId: "a", configId: `${number}`, target, maxPerTask: 9_999 })),
    );
    await follow(store, headOf({ taskId: "a" }));
    const claimed = await store.claimDeliveries({ ...claim, limit: 9_999 });
    await forEachOf(claimed, (one) => complete(store, one, dead));
    expect(await store.redriveDeliveries({ now: NOW, target: "other" })).toBe(413);
    expect(await pages(store, { states: ["dead"], limit: 100 })).toHaveLength(207);
  });
}
