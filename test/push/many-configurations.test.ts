import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { Receiver } from "./receiver.js";
import { Log, Rig } from "./rig.js";

it("delivers to 10,000 configurations of one host, each event once and within the limits of the host", async () => {
  const receiver = await Receiver.start();
  const store = memoryStore();
  const limits = { maxDeliveriesPerHostPerSecond: 1_000_000 };
  const one = await new Rig(store, { receivers: [receiver], limits }).start();
  try {
    const logs: Log[] = [];
    for (let task = 0; task < 1_000; task++) {
      logs.push(
        await Log.create(
          store,
          Array.from({ length: 10 }, (_, index) => receiver.url(`/${task}/${index}`)),
        ),
      );
    }
    one.news();
    // All are due at once; those that were made first have the event of their creation as well.
    for (const log of logs) await log.complete();
    one.news();
    const finished = (): Set<string> =>
      new Set(receiver.hits.flatMap(({ path, generation }) => (generation === 2 ? [path] : [])));
    await expect.poll(() => finished().size, { timeout: 100_000, interval: 200 }).toBe(10_000);
    expect(new Set(receiver.hits.map(({ id }) => id)).size).toBe(receiver.hits.length);
    expect(receiver.overlaps).toBe(0);
    expect(receiver.peak).toBeLessThanOrEqual(16);
    await expect.poll(() => store.nextDelivery()).toBe(undefined);
  } finally {
    await one.end();
    await receiver.stop();
  }
}, 120_000);
