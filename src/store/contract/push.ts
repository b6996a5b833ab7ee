import type { PutPushOutcome, StoredPushConfig, TaskStore } from "../task-store.js";
import { bytesOf, configOf, create, type StoreContract, scenario, textOf } from "./setup.js";

/** Push configurations and their delivery positions. */
export function pushContract(contract: StoreContract): void {
  contract.suite.describe("push configurations", () => {
    keeping(contract);
    listing(contract);
  });
}

const config = (text: string, position = 1): StoredPushConfig => ({ bytes: bytesOf(text), position });

const put = (store: TaskStore, taskId: string, configId: string, text: string): Promise<PutPushOutcome> =>
  store.putPushConfig(configOf({ taskId, configId }, text));

function keeping(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are kept by task and id", async (store) => {
    for (const taskId of ["a", "b"]) {
      await create(store, { taskId });
      for (const configId of ["x", "y"]) {
        expect(await put(store, taskId, configId, `${taskId} ${configId}`)).toBe("put");
      }
    }
    expect(await store.getPushConfig({ taskId: "a", configId: "y" })).toEqual(config("a y"));
    expect(await store.getPushConfig({ taskId: "b", configId: "x" })).toEqual(config("b x"));
    expect(await store.getPushConfig({ taskId: "a", configId: "z" })).toBeUndefined();
    expect(await store.getPushConfig({ taskId: "c", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are replaced", async (store) => {
    await create(store, { taskId: "a" });
    await put(store, "a", "x", "old");
    await put(store, "a", "x", "new");
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("new"));
    expect(await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).toHaveLength(1);
  });

  scenario(contract, "are removed, once or twice", async (store) => {
    await create(store, { taskId: "a" });
    await put(store, "a", "x", "x");
    await put(store, "a", "y", "y");
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "unknown", configId: "x" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
    expect((await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).map((it) => it.configId)).toEqual([
      "y",
    ]);
    await put(store, "a", "x", "again");
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("again"));
  });

  scenario(contract, "are not kept for a task that is not there", async (store) => {
    expect(await put(store, "a", "x", "early")).toBe("no-task");
    await create(store, { taskId: "a" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are copied on their way in and out", async (store) => {
    await create(store, { taskId: "a" });
    const bytes = bytesOf("mine");
    const putting = store.putPushConfig(configOf({ taskId: "a", configId: "x", bytes }));
    bytes.fill(0);
    await putting;
    (await store.getPushConfig({ taskId: "a", configId: "x" }))?.bytes.fill(0);
    for (const { config } of await store.listPushConfigs({ taskId: "a", after: "", limit: 1 })) config.bytes.fill(0);
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("mine"));
  });
}

function listing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are listed in the order of their ids, page by page", async (store) => {
    const ids = ["", "-", "1", "10", "2", "A", "a", "b", "é", "🚀"];
    await create(store, { taskId: "a" });
    await create(store, { taskId: "b" });
    for (const configId of [...ids].reverse()) {
      await put(store, "a", configId, `<${configId}>`);
    }
    await put(store, "b", "0", "other");
    for (const limit of [1, 3, 100]) {
      const seen: string[] = [];
      let page = await store.listPushConfigs({ taskId: "a", after: "", limit });
      while (page.length > 0) {
        expect(page.length).toBeLessThanOrEqual(limit);
        for (const { configId, config } of page) expect(textOf(config.bytes)).toBe(`<${configId}>`);
        seen.push(...page.map((it) => it.configId));
        page = await store.listPushConfigs({ taskId: "a", after: seen.at(-1) ?? "", limit });
      }
      // What comes after the empty id is not the empty id.
      expect(seen).toEqual(ids.slice(1));
    }
    expect(await store.listPushConfigs({ taskId: "c", after: "", limit: 10 })).toEqual([]);
  });
}
