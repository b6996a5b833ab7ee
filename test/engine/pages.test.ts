import { setImmediate as round } from "node:timers/promises";
import { expect, it } from "vitest";
import { completed } from "../../src/agent/event.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Bench, scope, settle } from "./support.js";

/** The store's methods that read the tasks of a page. */
const READS = new Set<string | symbol>(["list", "loadMany"]);

it("makes few pages at the same time, however many are asked for: each has its tasks in memory [SRV-SEC-04]", async () => {
  const reading = { now: 0, most: 0 };
  const store = new Proxy(memoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...given: unknown[]) => unknown;
      if (!READS.has(name)) return method;
      return async (...given: unknown[]) => {
        reading.now++;
        reading.most = Math.max(reading.most, reading.now);
        try {
          for (let i = 0; i < 5; i++) await round();
          return await method(...given);
        } finally {
          reading.now--;
        }
      };
    },
  });
  const agent = {
    async *execute() {
      yield completed("x".repeat(8_000));
    },
  };
  const bench = new Bench(agent, {}, store);
  await bench.engine.start();
  for (let i = 0; i < 20; i++) {
    const sent = await bench.send("begin");
    expect(await settle(sent)).toBe("COMPLETED");
    sent.release();
  }
  const request = { ...scope, limit: 100 };
  const pages = await Promise.all(Array.from({ length: 200 }, () => bench.engine.list(request, {})));
  expect(pages.map(({ views }) => views.length)).toEqual(pages.map(() => 20));
  expect(reading.most).toBeLessThanOrEqual(16);
  await bench.engine.drain(0);
});
