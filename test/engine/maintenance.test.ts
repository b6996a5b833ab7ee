import { expect, it } from "vitest";
import type { TaskStore } from "../../src/store/task-store.js";
import { openStore } from "./stores.js";
import { Bench, gate } from "./support.js";

it("makes up for no rounds of its maintenance that a slow store kept from beginning", async () => {
  const proceed = gate();
  let [claims, looks] = [0, 0];
  const store = new Proxy(openStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name === "leasesOf") looks++;
      if (name !== "claimLeases") return value.bind(target);
      return async (request: Parameters<TaskStore["claimLeases"]>[0]) => {
        claims++;
        await proceed.opened;
        return target.claimLeases(request);
      };
    },
  });
  const bench = new Bench({ async *execute() {} }, { leaseMs: 150 }, store);
  await bench.engine.start();
  await expect.poll(() => claims).toBe(1);
  // Some twenty rounds are due meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  proceed.open();
  // The end waits for what is under way.
  await bench.engine.drain(0);
  expect(looks).toBeLessThanOrEqual(2);
});
