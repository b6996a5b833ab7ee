import { describe, expect, it } from "vitest";
import { createdDraft } from "../../src/engine/log/draft.js";
import { TaskLogCache } from "../../src/engine/log/task-log-cache.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { AppendRequest } from "../../src/store/task-store.js";
import { gate, firstTurn as turn } from "./support.js";

describe("TaskLogCache", () => {
  it("keeps a log that is not in use until what it accepted is stored", async () => {
    const letGo = gate();
    const store = new Proxy(memoryStore(), {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "append") return value.bind(target);
        return async (request: AppendRequest) => {
          await letGo.opened;
          return target.append(request);
        };
      },
    });
    const cache = new TaskLogCache(store);
    const place = { tenant: "", owner: "", contextId: "c", state: 0, statusTime: 0, position: 0, generation: 0 };
    const log = cache.create({ taskId: "t", ...place, lease: null });
    const stored = log.append(createdDraft(turn, 1));
    cache.release(log);
    expect(await cache.acquire("t")).toBe(log);
    cache.release(log);
    letGo.open();
    await stored;
    await expect.poll(() => cache.get("t")).toBeUndefined();
    expect((await cache.acquire("t"))?.fold.position).toBe(1);
  });
});
