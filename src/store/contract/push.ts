import type { StoredPushConfig } from "../task-store.js";
import { bytesOf, create, type StoreContract, scenario, textOf } from "./setup.js";

/** Push configurations and their delivery positions. */
export function pushContract(contract: StoreContract): void {
  contract.suite.describe("push configurations", () => {
    keeping(contract);
    listing(contract);
    delivering(contract);
  });
}

const config = (text: string, position = 0): StoredPushConfig => ({ bytes: bytesOf(text), position });

function keeping(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are kept by task and id", async (store) => {
    for (const taskId of ["a", "b"]) {
      await create(store, { taskId });
      for (const configId of ["x", "y"]) {
        await store.putPushConfig({ taskId, configId, config: config(`${taskId} ${configId}`, 1) });
      }
    }
    expect(await store.getPushConfig({ taskId: "a", configId: "y" })).toEqual(config("a y", 1));
    expect(await store.getPushConfig({ taskId: "b", configId: "x" })).toEqual(config("b x", 1));
    expect(await store.getPushConfig({ taskId: "a", configId: "z" })).toBeUndefined();
    expect(await store.getPushConfig({ taskId: "c", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are replaced with their position", async (store) => {
    await create(store, { taskId: "a" });
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("old", 7) });
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("new", 3) });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("new", 3));
    expect(await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).toHaveLength(1);
  });

  scenario(contract, "are removed, once or twice", async (store) => {
    await create(store, { taskId: "a" });
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("x", 5) });
    await store.putPushConfig({ taskId: "a", configId: "y", config: config("y") });
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "unknown", configId: "x" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
    expect((await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).map((it) => it.configId)).toEqual([
      "y",
    ]);
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("again") });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("again", 0));
  });

  scenario(contract, "are not kept for a task that is not there", async (store) => {
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("early") });
    await create(store, { taskId: "a" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are copied on their way in and out", async (store) => {
    await create(store, { taskId: "a" });
    const bytes = bytesOf("mine");
    const put = store.putPushConfig({ taskId: "a", configId: "x", config: { bytes, position: 0 } });
    bytes.fill(0);
    await put;
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
      await store.putPushConfig({ taskId: "a", configId, config: config(`<${configId}>`) });
    }
    await store.putPushConfig({ taskId: "b", configId: "0", config: config("other") });
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

function delivering(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "remember how far they were delivered, and never go back", async (store) => {
    await create(store, { taskId: "a" }, 9);
    await store.putPushConfig({ taskId: "a", configId: "x", config: config("x", 2) });
    const steps = [
      { save: 5, kept: 5 },
      { save: 3, kept: 5 },
      { save: 5, kept: 5 },
      { save: 9, kept: 9 },
      { save: 0, kept: 9 },
    ];
    for (const { save, kept } of steps) {
      await store.savePushPosition({ taskId: "a", configId: "x", position: save });
      expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("x", kept));
    }
  });

  scenario(contract, "keep their positions apart", async (store) => {
    await create(store, { taskId: "a" }, 9);
    for (const configId of ["x", "y"]) await store.putPushConfig({ taskId: "a", configId, config: config(configId) });
    await Promise.all([7, 4, 8, 6].map((position) => store.savePushPosition({ taskId: "a", configId: "x", position })));
    await store.savePushPosition({ taskId: "a", configId: "z", position: 3 });
    await store.savePushPosition({ taskId: "b", configId: "x", position: 3 });
    const configs = await store.listPushConfigs({ taskId: "a", after: "", limit: 10 });
    expect(configs.map(({ configId, config }) => [configId, config.position])).toEqual([
      ["x", 8],
      ["y", 0],
    ]);
  });
}
