import { expect, it } from "vitest";
import { artifact, inputRequired, working } from "../../src/agent/event.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import { decodeEntry, encodeEntry } from "../../src/task/entry.js";
import { Bench, gate, quick, scope, settle } from "./support.js";

const idOf = (held: TaskHandle): string => held.now().task.id;

/** The entries of a task: their kinds, and the positions of their turns' messages. */
async function entriesOf({ store }: Bench, taskId: string): Promise<[string | undefined, number][]> {
  const entries = (await store.read({ taskId, after: 0, limit: 100 })).map(decodeEntry);
  return entries.map(({ event, turnPosition, answers }) => [event.case, turnPosition || answers]);
}

it("names the turn of each status and artifact, in 3 bytes", async () => {
  const { opened, open } = gate();
  const bench = new Bench({
    async *execute({ text }) {
      yield working(text);
      await opened;
      yield artifact({ text });
    },
  });
  const held = await bench.send("first");
  const taskId = idOf(held);
  await bench.send("second", { message: { taskId } });
  open();
  expect(await settle(held)).toBe("COMPLETED");
  expect(await entriesOf(bench, taskId)).toEqual([
    ["created", 0],
    ["status", 1],
    ["message", 0],
    ["artifact", 1],
    ["status", 3],
    ["artifact", 3],
    ["status", 3],
  ]);
  const [, bytes = new Uint8Array()] = await bench.store.read({ taskId, after: 0, limit: 2 });
  const without = { ...decodeEntry(bytes), turnPosition: 0 };
  expect(bytes.length - encodeEntry(without).length).toBe(3);
});

it("names the turn that waits for a slot, or the last one, in the status of a cancel", async () => {
  const { opened, open } = gate();
  const bench = new Bench(
    {
      async *execute({ text }) {
        if (text === "hold") await opened;
        else yield inputRequired("More?");
      },
    },
    { limits: { ...quick, maxExecutions: 1 } },
  );
  const [asks, waits] = [await bench.send("ask"), await bench.send("ask")];
  for (const held of [asks, waits]) expect(await settle(held)).toBe("INPUT_REQUIRED");
  await bench.send("hold");
  await bench.send("more", { message: { taskId: idOf(waits) } });
  for (const held of [asks, waits]) await bench.engine.cancel(scope, idOf(held));
  open();
  const asked: [string, number][] = [
    ["created", 0],
    ["status", 1],
  ];
  expect(await entriesOf(bench, idOf(asks))).toEqual([...asked, ["status", 1]]);
  expect(await entriesOf(bench, idOf(waits))).toEqual([...asked, ["message", 0], ["status", 3]]);
});
