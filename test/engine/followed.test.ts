import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { openShared, openStore } from "./stores.js";
import { Bench, scope, settle, tell } from "./support.js";

/** Exceeds the size that is kept in memory for followers of a task. */
const LARGE = "x".repeat(300 * 1024);

/** Exceeds the size from which a task in memory is kept for the next reader. */
const LARGER = "y".repeat(1_100 * 1024);

/** Adds to its artifact in each turn. Waits for its client until the message is `end`. */
const agent: Omit<Agent, "card"> = {
  async *execute({ text, attempt }) {
    yield artifact({ name: "large", text: text === "begin" ? LARGE : text, append: text !== "begin" });
    yield text === "end" ? completed(`${attempt}`) : inputRequired("More?");
  },
};

/** Stores of the engine that has the follower, and of the engine that gets the messages. */
const places: readonly [name: string, open: () => [TaskStore, TaskStore | undefined]][] = [
  ["of the same process", () => [openStore(), undefined]],
  ["of another process", openShared],
];

/** Follows a task until its stream ends. Returns the events from now on. */
async function follow(bench: Bench, taskId: string): Promise<string[]> {
  const handle = await bench.engine.open(scope, taskId);
  const from = handle.now();
  handle.follow();
  const told: string[] = [];
  for await (const event of handle.events(from, neverCanceled)) told.push(tell(event));
  handle.release();
  return told;
}

describe.each(places)("a large task that waits while it is followed, and messages %s", (_of, open) => {
  it("goes on whole, and its followers are told each event", async () => {
    const { bench, sender, taskId, close } = await beginLarge(open);
    const first = follow(bench, taskId);
    const second = follow(bench, taskId);
    const again = await sender.send("more", { message: { taskId } });
    const told = ["message", "WORKING", "append more", "INPUT_REQUIRED More?"].slice(1);
    expect(await first).toEqual(told);
    expect(await second).toEqual(told);
    again.release();

    const third = follow(bench, taskId);
    // A reader beside a follower sees the whole task, and so does the next turn.
    const texts = async (from: Bench) => {
      const { task } = await from.engine.get(scope, taskId);
      return task.artifacts[0]?.parts.map(({ content }) => content.value);
    };
    expect(await texts(bench)).toEqual([LARGE, "more"]);
    const last = await bench.send("end", { message: { taskId } });
    expect(await settle(last)).toBe("COMPLETED");
    last.release();
    expect(await third).toEqual(["WORKING", "append end", "COMPLETED 1"]);
    expect(await texts(bench)).toEqual([LARGE, "more", "end"]);
    expect(await texts(sender)).toEqual([LARGE, "more", "end"]);
    await close();
  });

  it("is read whole when its last follower has left", async () => {
    const { bench, sender, taskId, close } = await beginLarge(open);
    const followed = follow(bench, taskId);
    await answer(sender, taskId);
    expect(await followed).toHaveLength(3);
    const { task } = await bench.engine.get(scope, taskId);
    const lengths = task.artifacts[0]?.parts.map(({ content }) => String(content.value).length);
    expect(lengths).toEqual([LARGE.length, LARGER.length]);
    await close();
  });

  it("leaves the memory again when it has grown", async () => {
    const { bench, sender, taskId, close } = await beginLarge(open);
    const kept = await bench.engine.open(scope, taskId);
    kept.follow();
    await answer(sender, taskId);
    await kept.whenPast(5, neverCanceled, 10_000);
    await vi.waitFor(() => expect(kept.now().task.artifacts.length).toBe(0));
    kept.release();
    await close();
  });
});

/**
 * Creates a task that waits for its client. Returns the engine that follows it and the engine that gets its messages.
 */
async function beginLarge(open: (typeof places)[number][1]) {
  const [own, other] = open();
  const bench = new Bench(agent, { leaseMs: 600 }, own);
  await bench.engine.start();
  const sender = other === undefined ? bench : new Bench(agent, { leaseMs: 600 }, other);
  if (sender !== bench) await sender.engine.start();
  const begun = await sender.send("begin");
  expect(await settle(begun)).toBe("INPUT_REQUIRED");
  begun.release();
  const close = () => Promise.all([bench.engine.drain(0), sender === bench ? undefined : sender.engine.drain(0)]);
  return { bench, sender, taskId: begun.taskId, close };
}

/** Grows a task beyond the maximum size of an outline. */
async function answer(sender: Bench, taskId: string): Promise<void> {
  const more = await sender.send(LARGER, { message: { taskId } });
  await settle(more);
  more.release();
}
