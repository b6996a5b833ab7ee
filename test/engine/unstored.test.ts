import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { artifact, completed, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import type { SendCommand } from "../../src/engine/engine.js";
import { unstored } from "../../src/engine/run/task-output.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { openStore } from "./stores.js";
import { Bench, scope, settle } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

const mib = 1024 * 1024;

/** A store that records the sizes of the entries in each append. */
function measured(store: TaskStore): { store: TaskStore; sizes: number[][] } {
  const sizes: number[][] = [];
  const measuring = withMethods(store, {
    append: async (request) => {
      sizes.push(request.entries.map(({ length }) => length));
      return store.append(request);
    },
  });
  return { store: measuring, sizes };
}

/** Runs an agent that yields pieces without waiting. Returns the maximum number of yielded but unstored bytes. */
async function run(pieces: number, bytes: number) {
  setConstants(unstored, { maxEvents: 10_000, maxBytes: 4 * mib });
  const { store, sizes } = measured(openStore());
  let yielded = 0;
  let most = 0;
  const bench: Bench = new Bench(
    {
      async *execute() {
        for (let i = 0; i < pieces; i++) {
          yield artifact({ name: "a", parts: [{ raw: new Uint8Array(bytes) }], append: true });
          yielded += bytes;
          const stored = sizes
            .slice(0, -1)
            .flat()
            .reduce((sum, size) => sum + size, 0);
          most = Math.max(most, yielded - stored);
        }
      },
    },
    {},
    store,
  );
  const held = await bench.send("x");
  expect(await settle(held)).toBe("COMPLETED");
  const { artifacts } = (await bench.engine.get(scope, held.accepted!.task.id)).task;
  expect(artifacts[0]?.parts).toHaveLength(pieces);
  held.release();
  return { most, sizes };
}

describe("an agent that yields without waiting", () => {
  it("is slowed down by the bytes that wait, however few events they are", async () => {
    const { most, sizes } = await run(30, mib);
    // Four events wait, and one more was accepted before the check.
    expect(most).toBeLessThanOrEqual(6 * mib);
    expect(Math.max(...sizes.map(({ length }) => length))).toBe(1);
  });

  it("is slowed down by the events that wait, however small they are", async () => {
    const { store, sizes } = measured(openStore());
    setConstants(unstored, { maxEvents: 32 });
    let yielded = 0;
    let most = 0;
    const agent = {
      async *execute() {
        for (let i = 0; i < 2_000; i++) {
          yield artifact({ name: "a", text: "x", append: true });
          // All appends except the last one are stored, because that may be in progress.
          most = Math.max(most, ++yielded - sizes.slice(0, -1).flat().length);
        }
      },
    };
    const held = await new Bench(agent, {}, store).send("x");
    expect(await settle(held)).toBe("COMPLETED");
    // A full batch may wait behind an append of a full batch.
    expect(most).toBeLessThanOrEqual(2 * 33);
    expect(sizes.flat()).toHaveLength(2_002);
    held.release();
  });

  it("has its appends cut at 512 KiB, and whatever is larger goes alone", async () => {
    const { sizes } = await run(60, 150_000);
    const large = sizes.filter((sizesOfOne) => sizesOfOne.length > 1);
    expect(large.length).toBeGreaterThan(0);
    for (const entries of large) expect(entries.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(mib / 2);
    for (const entries of (await run(3, 3 * mib)).sizes) {
      if (entries.some((size) => size > mib / 2)) expect(entries).toHaveLength(1);
    }
  });

  it("tells its story whole when a burst is cut in many appends", async () => {
    const bench = new Bench({
      async *execute() {
        for (let i = 0; i < 200; i++) yield artifact({ name: "a", text: `${i} ${"x".repeat(20_000)}`, append: true });
      },
    });
    const held = await bench.send("x");
    const numbers: number[] = [];
    for await (const { payload } of held.events(held.accepted!, neverCanceled)) {
      if (payload.case !== "artifactUpdate") continue;
      numbers.push(Number.parseInt(String(payload.value.artifact?.parts[0]?.content.value), 10));
    }
    expect(numbers).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });
});

describe("the appends of a task whose agent yields without waiting", () => {
  /** Sends a message to an agent with three events. Returns the number of entries in each append. */
  async function appendsOf(responds: "task" | "either", more: Partial<SendCommand> = {}, waits = false) {
    const { store, sizes } = measured(openStore());
    const bench = new Bench(
      {
        responds,
        async *execute() {
          yield working();
          while (waits && sizes.length === 0) await sleep(5);
          yield artifact({ name: "a", text: "done" });
          yield completed();
        },
      },
      {},
      store,
    );
    const sent = await bench.engine.send(bench.order("x", more));
    if (sent.kind !== "task") throw new Error("not a task");
    expect(await settle(sent.task)).toBe("COMPLETED");
    sent.task.release();
    return sizes.map(({ length }) => length);
  }

  it("are one when the agent's first event decided that there is a task", async () => {
    expect(await appendsOf("either")).toEqual([4]);
  });

  it("are two when the message is stored before the agent runs", async () => {
    expect(await appendsOf("task")).toEqual([1, 3]);
  });

  it("are two when the store may refuse the message for its idempotency key", async () => {
    expect(await appendsOf("either", { idempotency: { key: "k", fingerprint: "f" } })).toEqual([1, 3]);
  });

  it("do not wait for an agent that waits for the first of them", async () => {
    expect(await appendsOf("either", {}, true)).toEqual([2, 2]);
  });
});
