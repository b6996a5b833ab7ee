import {
  bytesOf,
  countTo,
  create,
  decodeUtf8,
  follow,
  headOf,
  leaseOf,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

/** `read`, `load` and `saveSnapshot`. */
export function readContract(contract: StoreContract): void {
  contract.suite.describe("read()", () => reading(contract));
  contract.suite.describe("heads()", () => heads(contract));
  contract.suite.describe("load()", () => loading(contract));
  contract.suite.describe("saveSnapshot()", () => snapshots(contract));
}

function heads(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives those that exist, as they are now", async (store) => {
    const a = await create(store, { taskId: "a", lease: leaseOf() });
    const b = await follow(store, await create(store, { taskId: "b", owner: "another" }), {}, 2);
    const found = await store.heads({ taskIds: ["b", "unknown", "a"] });
    expect([...found].sort((one, other) => (one.taskId < other.taskId ? -1 : 1))).toEqual([a, b]);
    expect(await store.heads({ taskIds: [] })).toEqual([]);
  });
}

function reading(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives what comes after a position, at most as many as asked for", async (store) => {
    let head = await create(store, { taskId: "a" }, 3);
    for (const count of [1, 4, 2]) head = await follow(store, head, {}, count);
    for (let after = 0; after <= 12; after++) {
      for (let limit = 1; limit <= 12; limit++) {
        const entries = (await store.read({ taskId: "a", after, limit })).map(decodeUtf8);
        expect(entries).toEqual(countTo(10).slice(after, after + entries.length));
        expect(entries.length).toBeLessThanOrEqual(limit);
        if (after < 10) expect(entries.length).toBeGreaterThan(0);
      }
    }
  });

  scenario(contract, "walks a log without a gap, whatever the step and however it was appended", async (store) => {
    let head = await create(store, { taskId: "a" });
    for (let turn = 0; turn < 40; turn++) head = await follow(store, head, {}, 1 + ((turn * 7) % 11));
    for (const limit of [1, 2, 3, 7, 50, 1_000]) {
      expect(await readAll(store, "a", limit)).toEqual(countTo(head.position));
    }
  });

  scenario(contract, "comes to the end of large entries", async (store) => {
    const entries = Array.from({ length: 12 }, (_, index) => new Uint8Array(1024 * 1024).fill(index));
    await store.append({ head: headOf({ taskId: "a", position: 12 }), expected: 0, creates: true, entries });
    const first: (number | undefined)[] = [];
    while (first.length < 12) {
      const page = await store.read({ taskId: "a", after: first.length, limit: 100 });
      expect(page.length).toBeGreaterThan(0);
      first.push(...page.map((entry) => entry[0]));
    }
    expect(first).toEqual(entries.map((entry) => entry[0]));
  });

  scenario(contract, "gives bytes that may be changed without harm", async (store) => {
    await create(store, { taskId: "a" }, 3);
    for (const entry of await store.read({ taskId: "a", after: 0, limit: 10 })) entry.fill(0);
    for (const entry of (await store.load({ taskId: "a" }))?.entries ?? []) entry.fill(0);
    expect(await readAll(store, "a")).toEqual(countTo(3));
  });

  scenario(contract, "gives one entry that may be changed without harm to its neighbours", async (store) => {
    await create(store, { taskId: "a" }, 3);
    const [first, ...others] = await store.read({ taskId: "a", after: 0, limit: 10 });
    first?.fill(0);
    expect(others.map(decodeUtf8)).toEqual(["2", "3"]);
  });
}

function loading(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "knows a task of another owner or tenant as little as one that is not there", async (store) => {
    await create(store, { taskId: "a" }, 3);
    const whole = await store.load({ taskId: "a" });
    expect(whole?.entries).toHaveLength(3);
    expect(await store.load({ taskId: "a", of: OWNER })).toEqual(whole);
    for (const of of [
      { ...OWNER, owner: "other" },
      { ...OWNER, owner: "" },
      { ...OWNER, tenant: "other" },
      { tenant: OWNER.owner, owner: OWNER.tenant },
    ]) {
      expect(await store.load({ taskId: "a", of })).toBeUndefined();
    }
    expect(await store.load({ taskId: "b", of: OWNER })).toBeUndefined();
  });

  scenario(contract, "gives the whole log when there is no snapshot", async (store) => {
    const head = await follow(store, await create(store, { taskId: "a" }, 2), {}, 3);
    const loaded = await store.load({ taskId: "a" });
    expect(loaded?.head).toEqual(head);
    expect(loaded?.snapshot).toBeUndefined();
    expect(loaded?.entries.map(decodeUtf8)).toEqual(countTo(5));
  });

  scenario(contract, "gives a snapshot and what follows it", async (store) => {
    await follow(store, await create(store, { taskId: "a" }, 2), {}, 3);
    for (const position of [1, 2, 3, 5]) {
      await store.saveSnapshot({ taskId: "a", snapshot: { position, bytes: bytesOf(`up to ${position}`) } });
      const loaded = await store.load({ taskId: "a" });
      expect(loaded?.snapshot).toEqual({ position, bytes: bytesOf(`up to ${position}`) });
      expect(loaded?.entries.map(decodeUtf8)).toEqual(countTo(5).slice(position));
    }
  });

  scenario(contract, "sees one moment while the task grows and is folded", async (store) => {
    let head = await create(store, { taskId: "a" });
    const writing = (async () => {
      for (let turn = 0; turn < 60; turn++) {
        head = await follow(store, head, {}, 1 + (turn % 3));
        const { position } = head;
        if (turn % 5 === 0) await store.saveSnapshot({ taskId: "a", snapshot: { position, bytes: bytesOf("fold") } });
      }
    })();
    for (let look = 0; look < 200; look++) {
      const loaded = await store.load({ taskId: "a" });
      const folded = loaded?.snapshot?.position ?? 0;
      expect(loaded?.entries.map(decodeUtf8)).toEqual(countTo(loaded?.head.position ?? 0).slice(folded));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    expect((await store.load({ taskId: "a" }))?.head).toEqual(head);
  });
}

function snapshots(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "replaces an older snapshot and ignores one that is not newer", async (store) => {
    await create(store, { taskId: "a" }, 9);
    const save = (position: number, text: string): Promise<void> =>
      store.saveSnapshot({ taskId: "a", snapshot: { position, bytes: bytesOf(text) } });
    const kept = async (): Promise<string> =>
      decodeUtf8((await store.load({ taskId: "a" }))?.snapshot?.bytes ?? bytesOf(""));
    await save(4, "four");
    expect(await kept()).toBe("four");
    await save(7, "seven");
    expect(await kept()).toBe("seven");
    await save(5, "five");
    await save(7, "seven again");
    expect(await kept()).toBe("seven");
  });

  scenario(contract, "keeps the newest of several that arrive together", async (store) => {
    await create(store, { taskId: "a" }, 9);
    await Promise.all(
      [3, 9, 1, 6].map((position) =>
        store.saveSnapshot({ taskId: "a", snapshot: { position, bytes: bytesOf(`${position}`) } }),
      ),
    );
    expect((await store.load({ taskId: "a" }))?.snapshot).toEqual({ position: 9, bytes: bytesOf("9") });
  });

  scenario(contract, "keeps none for a task that is not there", async (store) => {
    await store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("early") } });
    await create(store, { taskId: "a" });
    expect((await store.load({ taskId: "a" }))?.snapshot).toBeUndefined();
  });

  scenario(contract, "changes nothing about the log", async (store) => {
    const head = await create(store, { taskId: "a" }, 3);
    await store.saveSnapshot({ taskId: "a", snapshot: { position: 3, bytes: bytesOf("all") } });
    expect(await store.head({ taskId: "a" })).toEqual(head);
    expect(await readAll(store, "a")).toEqual(countTo(3));
  });

  scenario(contract, "copies bytes on their way in and out, also 1 MB of them", async (store) => {
    await create(store, { taskId: "a" });
    const bytes = new Uint8Array(1024 * 1024).fill(5);
    const saved = store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes } });
    bytes.fill(0);
    await saved;
    const load = async (): Promise<Uint8Array | undefined> => (await store.load({ taskId: "a" }))?.snapshot?.bytes;
    const loaded = await load();
    expect(loaded?.length).toBe(bytes.length);
    expect(loaded?.every((byte) => byte === 5)).toBe(true);
    loaded?.fill(1);
    expect((await load())?.every((byte) => byte === 5)).toBe(true);
  });
}
