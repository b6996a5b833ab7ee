import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { AppendRequest, IdempotencyKey, IdempotencyRecord, TaskHead } from "../src/store/task-store.js";
import { create, followRequest, headOf, numbered, OWNER, readAll, type StoreContract, scenario } from "./setup.js";

/** Sends that are stored under an idempotency key. */
export function sendContract(contract: StoreContract): void {
  contract.suite.describe("append() with a send", () => {
    remembering(contract);
    duplicates(contract);
  });
}

function remembering(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "remembers what a key stands for", async (store) => {
    const request = creation("a", "key", { fingerprint: "hash" });
    await store.append(request);
    expect(await store.findSend({ ...OWNER, key: "key" })).toEqual({ fingerprint: "hash", taskId: "a", position: 1 });
    expect(await store.findSend({ ...OWNER, key: "other" })).toBeUndefined();
  });

  scenario(contract, "remembers the position of a later message", async (store) => {
    const head = await create(store, { taskId: "a" }, 4);
    await store.append({ ...followRequest(head), send: sendOf("key", { taskId: "a", position: 5 }) });
    expect(await store.findSend({ ...OWNER, key: "key" })).toMatchObject({ taskId: "a", position: 5 });
  });

  scenario(contract, "keeps keys apart by tenant and owner", async (store) => {
    const places = [
      { tenant: "a", owner: "bc" },
      { tenant: "ab", owner: "c" },
      { tenant: "", owner: "abc" },
      { tenant: "abc", owner: "" },
    ];
    for (const [index, place] of places.entries()) {
      await store.append(creation(`task-${index}`, "key", {}, place));
    }
    for (const [index, place] of places.entries()) {
      expect(await store.findSend({ ...place, key: "key" })).toMatchObject({ taskId: `task-${index}` });
    }
    expect(await store.findSend({ tenant: "a", owner: "b", key: "ckey" })).toBeUndefined();
  });

  scenario(contract, "remembers nothing of an append that it refuses", async (store) => {
    const head = await create(store, { taskId: "a" });
    const request = { ...followRequest({ ...head, position: 9 }), send: sendOf("key", { taskId: "a" }) };
    await expect(store.append(request)).rejects.toMatchObject({ kind: "conflict" });
    expect(await store.findSend({ ...OWNER, key: "key" })).toBeUndefined();
  });
}

function duplicates(contract: StoreContract): void {
  const { expect } = contract.suite;
  const remembered: IdempotencyRecord = { fingerprint: "first", taskId: "a", position: 1 };
  const duplicate = { name: "StoreError", kind: "duplicate", remembered };

  scenario(contract, "refuses a taken key, says what it stands for, and creates nothing", async (store) => {
    await store.append(creation("a", "key", { fingerprint: "first" }));
    await expect(store.append(creation("b", "key", { fingerprint: "second" }))).rejects.toMatchObject(duplicate);
    expect(await store.head({ taskId: "b" })).toBeUndefined();
    expect(await readAll(store, "b")).toEqual([]);
    expect(await store.findSend({ ...OWNER, key: "key" })).toEqual(remembered);
    expect((await store.list({ ...OWNER, limit: 10 })).total).toBe(1);
  });

  scenario(contract, "refuses a taken key and leaves the log as it was", async (store) => {
    await store.append(creation("a", "key", { fingerprint: "first" }));
    const head = await create(store, { taskId: "b" }, 2);
    const request = { ...followRequest(head), send: sendOf("key", { taskId: "b" }) };
    await expect(store.append(request)).rejects.toMatchObject(duplicate);
    expect(await store.head({ taskId: "b" })).toEqual(head);
    expect(await readAll(store, "b")).toEqual(["1", "2"]);
  });

  scenario(contract, "says duplicate rather than conflict or finished", async (store) => {
    const first = creation("a", "key", { fingerprint: "first" });
    await store.append(first);
    await expect(store.append(first)).rejects.toMatchObject(duplicate);
    await store.append(followRequest({ ...first.head, lease: null }, { state: TaskState.COMPLETED }));
    await expect(store.append(first)).rejects.toMatchObject(duplicate);
  });

  scenario(contract, "lets exactly one of several win that send the same key", async (store) => {
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => store.append(creation(`task-${index}`, "key"))),
    );
    const winner = attempts.findIndex((attempt) => attempt.status === "fulfilled");
    const lost = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason] : []));
    expect(lost).toHaveLength(9);
    for (const reason of lost) {
      expect(reason).toMatchObject({ kind: "duplicate", remembered: { taskId: `task-${winner}` } });
    }
    expect((await store.list({ ...OWNER, limit: 100 })).heads.map((head) => head.taskId)).toEqual([`task-${winner}`]);
  });
}

function sendOf(
  key: string,
  named: Partial<IdempotencyRecord>,
  place: Pick<TaskHead, "tenant" | "owner"> = OWNER,
): IdempotencyKey & IdempotencyRecord {
  return { ...place, key, fingerprint: "fingerprint", taskId: "a", position: 1, ...named };
}

function creation(
  taskId: string,
  key: string,
  named: Partial<IdempotencyRecord> = {},
  place: Pick<TaskHead, "tenant" | "owner"> = OWNER,
): AppendRequest & { readonly send: IdempotencyKey & IdempotencyRecord } {
  return {
    head: headOf({ taskId, ...place }),
    expected: 0,
    creates: true,
    entries: numbered(0, 1),
    send: sendOf(key, { taskId, ...named }, place),
  };
}
