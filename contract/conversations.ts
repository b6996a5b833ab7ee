import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { AppendRequest, ConversationKey, StoreErrorKind, TaskHead, TaskStore } from "../src/store/task-store.js";
import {
  bytesOf,
  configOf,
  create,
  decodeUtf8,
  follow,
  followRequest,
  headOf,
  leaseOf,
  numbered,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

const key: ConversationKey = { ...OWNER, contextId: "context" };
const moved = { name: "StoreError", kind: "conversation-moved" };

/** The state of a conversation: written with appends, read by itself, removed with the conversation's last task. */
export function conversationContract(contract: StoreContract): void {
  contract.suite.describe("append() with the state of a conversation", () => {
    keeping(contract);
    bytes(contract);
    moving(contract);
    refusing(contract);
    racing(contract);
  });
  contract.suite.describe("removeFinished() and the state of a conversation", () => removing(contract));
}

/** The text of a state and its version. */
async function stateOf(store: TaskStore, of: Partial<ConversationKey> = {}): Promise<[number, string] | undefined> {
  const stored = await store.conversation({ ...key, ...of });
  return stored && [stored.version, decodeUtf8(stored.bytes)];
}

function withState<T extends AppendRequest>(request: T, expected: number, version: number, text: string): T {
  return { ...request, conversation: { expected, version, bytes: bytesOf(text) } };
}

/** Creates a task together with a state of its conversation. */
function creation(named: Partial<TaskHead> & Pick<TaskHead, "taskId">): AppendRequest {
  return { head: headOf(named), expected: 0, creates: true, entries: numbered(0, 1) };
}

function keeping(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "has no state until an append names one", async (store) => {
    await create(store, { taskId: "a" });
    expect(await stateOf(store)).toBeUndefined();
    await store.append(withState(creation({ taskId: "b" }), 0, 7, "first"));
    expect(await stateOf(store)).toEqual([7, "first"]);
  });

  scenario(
    contract,
    "replaces it by appends of any task of the conversation, and leaves it with others",
    async (store) => {
      const a = await create(store, { taskId: "a" });
      const b = await create(store, { taskId: "b" });
      await store.append(withState(followRequest(a), 0, 1, "of a"));
      await store.append(withState(followRequest(b, { state: TaskState.COMPLETED }), 1, 2, "of b"));
      await store.append(followRequest({ ...a, position: 2 }));
      expect(await stateOf(store)).toEqual([2, "of b"]);
      expect(await readAll(store, "b")).toEqual(["1", "2"]);
    },
  );

  scenario(contract, "keeps states apart by tenant, owner and context", async (store) => {
    const places = [
      { tenant: "a", owner: "bc", contextId: "d" },
      { tenant: "ab", owner: "c", contextId: "d" },
      { tenant: "a", owner: "b", contextId: "cd" },
      { tenant: "", owner: "", contextId: "abcd" },
      { tenant: "abcd", owner: "", contextId: "" },
    ];
    for (const [index, place] of places.entries()) {
      await store.append(withState(creation({ taskId: `${index}`, ...place }), 0, index + 1, `${index}`));
    }
    for (const [index, place] of places.entries()) expect(await stateOf(store, place)).toEqual([index + 1, `${index}`]);
    expect(await stateOf(store, { tenant: "a", owner: "bcd", contextId: "" })).toBeUndefined();
    expect(await stateOf(store, { tenant: "a", owner: "bc", contextId: "other" })).toBeUndefined();
  });
}

function bytes(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "keeps any bytes up to 256 KiB, and copies them", async (store) => {
    let head = await create(store, { taskId: "a" });
    for (const [index, size] of [256 * 1024, 0, 900, 901, 5_000].entries()) {
      const state = new Uint8Array(size).map((_, at) => at * 7 + index);
      const kept = state.slice();
      const request = followRequest(head);
      const stored = store.append({ ...request, conversation: { expected: index, version: index + 1, bytes: state } });
      state.fill(0);
      await stored;
      head = { ...head, position: request.head.position };
      const read = await store.conversation(key);
      expect(read?.version).toBe(index + 1);
      expect(Buffer.compare(read?.bytes ?? state, kept)).toBe(0);
      read?.bytes.fill(1);
      expect(Buffer.compare((await store.conversation(key))?.bytes ?? state, kept)).toBe(0);
    }
  });

  scenario(contract, "keeps it together with a large append, in the order of the appends", async (store) => {
    const head = await create(store, { taskId: "a" });
    const large = { ...followRequest(head), entries: [new Uint8Array(512 * 1024)] };
    const next = followRequest({ ...head, position: 2 });
    await Promise.all([
      store.append(withState(large, 0, 1, "large")),
      store.append(withState(next, 1, Number.MAX_SAFE_INTEGER, "small")),
    ]);
    expect(await stateOf(store)).toEqual([Number.MAX_SAFE_INTEGER, "small"]);
  });
}

function moving(contract: StoreContract): void {
  const { expect } = contract.suite;

  for (const expected of [0, 4, 6]) {
    scenario(contract, `stores nothing of an append that expects version ${expected} instead of 5`, async (store) => {
      const head = await create(store, { taskId: "a", lease: leaseOf() });
      await store.append(withState(creation({ taskId: "b" }), 0, 5, "kept"));
      const { taskId: _, now: __, ...pushConfig } = configOf({ taskId: "a", configId: "x" });
      const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 2 };
      const request = { ...followRequest(head, { state: TaskState.COMPLETED }), send, pushConfig };
      await expect(store.append(withState(request, expected, 9, "new"))).rejects.toMatchObject(moved);
      expect(await stateOf(store)).toEqual([5, "kept"]);
      expect(await store.head({ taskId: "a" })).toEqual(head);
      expect(await readAll(store, "a")).toEqual(["1"]);
      expect(await store.findSend({ ...OWNER, key: "key" })).toBeUndefined();
      expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
      await store.append(withState(request, 5, 9, "new"));
      expect(await stateOf(store)).toEqual([9, "new"]);
    });
  }

  scenario(contract, "creates no task whose state was expected at another version", async (store) => {
    await expect(store.append(withState(creation({ taskId: "a" }), 3, 4, "new"))).rejects.toMatchObject(moved);
    expect(await store.head({ taskId: "a" })).toBeUndefined();
    expect(await stateOf(store)).toBeUndefined();
    expect((await store.list({ ...OWNER, limit: 10 })).total).toBe(0);
  });
}

function refusing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "keeps no state of an append that it refuses for another reason", async (store) => {
    const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 1 };
    const a = creation({ taskId: "a", lease: leaseOf() });
    await store.append({ ...a, send, lease: leaseOf() });
    const over = await create(store, { taskId: "over", state: TaskState.FAILED });
    const { taskId: _, now: __, ...config } = configOf({ taskId: "a", configId: "x" });
    const next = followRequest({ ...a.head, lease: null });
    const refused: [StoreErrorKind, AppendRequest][] = [
      ["duplicate", { ...next, send }],
      ["finished", followRequest(over)],
      ["fenced", { ...next, fence: leaseOf({ attempt: 2 }) }],
      ["conflict", followRequest({ ...a.head, position: 5, lease: null })],
      ["failed", followRequest({ ...a.head, lease: null }, { owner: "other" })],
      ["too-many-push-configs", { ...next, pushConfig: { ...config, maxPerTask: 0 } }],
    ];
    for (const [kind, request] of refused) {
      await expect(store.append(withState(request, 0, 1, "new"))).rejects.toMatchObject({ kind });
      expect(await stateOf(store)).toBeUndefined();
      expect(await stateOf(store, { owner: "other" })).toBeUndefined();
    }
    // These reasons have priority over a wrong version.
    for (const [kind, request] of refused.slice(0, 5)) {
      await expect(store.append(withState(request, 8, 9, "new"))).rejects.toMatchObject({ kind });
    }
    await store.append(withState({ ...next, fence: leaseOf() }, 0, 1, "new"));
    expect(await stateOf(store)).toEqual([1, "new"]);
  });

  scenario(contract, "refuses a version that is not a positive whole number, or is the expected one", async (store) => {
    const head = await create(store, { taskId: "a" });
    for (const [expected, version] of [
      [0, 0],
      [0, -1],
      [0, 0.5],
      [0, Number.NaN],
      [0, 2 ** 53],
      [-1, 1],
      [0.5, 1],
      [3, 3],
    ] as const) {
      const request = withState(followRequest(head), expected, version, "new");
      await expect(store.append(request)).rejects.toMatchObject({ name: "StoreError", kind: "failed" });
    }
    expect(await stateOf(store)).toBeUndefined();
    expect(await readAll(store, "a")).toEqual(["1"]);
  });
}

function racing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "lets exactly one of several tasks win that expect the same version", async (store) => {
    const heads = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(store, { taskId: `${index}`, lease: leaseOf() })),
    );
    const attempts = await Promise.allSettled(
      heads.map((head, index) =>
        store.append(withState({ ...followRequest(head), fence: leaseOf() }, 0, index + 1, head.taskId)),
      ),
    );
    const lost = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason] : []));
    expect(lost).toHaveLength(19);
    for (const reason of lost) expect(reason).toMatchObject(moved);
    const winner = attempts.findIndex((attempt) => attempt.status === "fulfilled");
    expect(await stateOf(store)).toEqual([winner + 1, `${winner}`]);
    for (const [index, { taskId }] of heads.entries()) {
      expect((await readAll(store, taskId)).length).toBe(index === winner ? 2 : 1);
    }
  });
}

function removing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const remove = (store: TaskStore): Promise<number> => store.removeFinished({ before: 9_999, limit: 100 });

  scenario(contract, "removes it with the last task, not before, and no other", async (store) => {
    const open = await create(store, { taskId: "open" });
    await store.append(withState(creation({ taskId: "over", state: TaskState.COMPLETED }), 0, 5, "kept"));
    const others = [{ contextId: "other" }, { owner: "other" }, { tenant: "other" }];
    for (const [index, other] of others.entries()) {
      await store.append(withState(creation({ taskId: `other-${index}`, ...other }), 0, 1, "other"));
    }
    expect(await remove(store)).toBe(1);
    expect(await stateOf(store)).toEqual([5, "kept"]);
    await store.append(withState(followRequest(open, { state: TaskState.CANCELED }), 5, 6, "last"));
    expect(await stateOf(store)).toEqual([6, "last"]);
    expect(await remove(store)).toBe(1);
    expect(await stateOf(store)).toBeUndefined();
    for (const other of others) expect(await stateOf(store, other)).toEqual([1, "other"]);
  });

  scenario(contract, "begins anew afterwards, and does not mistake the new state for the old one", async (store) => {
    const named = { taskId: "a", state: TaskState.COMPLETED };
    await store.append(withState(creation(named), 0, 5, "old"));
    await remove(store);
    const next = creation({ taskId: "b" });
    await expect(store.append(withState(next, 5, 6, "new"))).rejects.toMatchObject(moved);
    await store.append(withState(next, 0, 77, "new"));
    expect(await stateOf(store)).toEqual([77, "new"]);
  });

  scenario(contract, "keeps it while tasks come and go", async (store) => {
    for (let turn = 0; turn < 5; turn++) {
      // The previous turn's task is removed while this one exists.
      const head = await create(store, { taskId: `${turn}` });
      expect(await remove(store)).toBe(turn === 0 ? 0 : 1);
      await store.append(withState(followRequest(head), turn, turn + 1, `${turn}`));
      await follow(store, { ...head, position: 2 }, { state: TaskState.COMPLETED });
      expect(await stateOf(store)).toEqual([turn + 1, `${turn}`]);
    }
  });
}
