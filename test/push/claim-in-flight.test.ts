import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { Gates } from "../support/gates.js";
import { receive } from "./receiver.js";
import { Log, Rig } from "./rig.js";

it("is waited for at the end, and what it brings is left to the next process", async () => {
  const inner = memoryStore();
  const gates = new Gates();
  const store: TaskStore = {
    ...inner,
    async claimDeliveries(request) {
      const claimed = await inner.claimDeliveries(request);
      if (claimed.length > 0) await gates.pass("answer");
      return claimed;
    },
  };
  const receiver = await receive();
  const one = await new Rig(store, { receivers: [receiver] }).start();
  const log = await Log.create(store, [receiver.url("/a")]);
  one.news();
  await gates.reached("answer");
  const drained = one.dispatcher.drain(20_000);
  // Long enough for an end that waits for nothing.
  await sleep(100);
  gates.open("answer");
  await drained;
  const { deliveries } = await inner.listDeliveries({ taskId: log.head.taskId, limit: 10 });
  expect(deliveries).toMatchObject([{ state: "due", holder: undefined, position: 0 }]);
  expect(receiver.hits).toEqual([]);
});
