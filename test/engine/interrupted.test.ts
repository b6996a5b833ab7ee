import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { authRequired, inputRequired, working } from "../../src/agent/event.js";
import { defaultLimits } from "../../src/core/limits.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { stores } from "./stores.js";
import { Bench, gate, scope, settle } from "./support.js";

/** Asks for the item that the message names, and completes after the answer. */
const asking: Omit<Agent, "card"> = {
  async *execute(turn) {
    if (turn.text === "ask") yield inputRequired("Which one?");
    else if (turn.text === "sign in") yield authRequired("Sign in.");
    else yield working("thanks");
  },
};

const DAY = 24 * 3_600_000;
const patience = { timeout: 30_000 };

/** An engine that keeps interrupted tasks for one second of a manual clock. */
function clocked(store: TaskStore, agent = asking): { bench: Bench; pass: (ms: number) => void } {
  let time = Date.now();
  const limits = { ...defaultLimits, maxInterruptedMs: 1_000 };
  const pass = (ms: number): void => {
    time += ms;
  };
  return { bench: new Bench(agent, { limits, now: () => time }, store), pass };
}

const stateOf = async (bench: Bench, taskId: string): Promise<string> =>
  TaskState[(await bench.engine.get(scope, taskId)).task.status?.state ?? 0] ?? "?";

describe.each(stores)("a task that waits for its client (%s)", { timeout: 60_000 }, (_, open) => {
  it("is canceled after its time, and says why; one that was answered is not", async () => {
    const { bench, pass } = clocked(open());
    await bench.engine.start();
    for (const text of ["ask", "sign in"]) await settle(await bench.send(text));
    pass(600);
    const younger = await bench.send("ask");
    await settle(younger);
    pass(600);
    const why = "The task waited for its client for too long, and was canceled.";
    const canceled = { ...scope, limit: 10, state: TaskState.CANCELED };
    await expect.poll(async () => (await bench.engine.list(canceled, {})).total, patience).toBe(2);
    const { views } = await bench.engine.list(canceled, {});
    for (const { task } of views) expect(task.status?.message?.parts[0]?.content.value).toBe(why);
    const { id: taskId } = younger.accepted!.task;
    expect(await stateOf(bench, taskId)).toBe("INPUT_REQUIRED");
    const answer = await bench.send("this one", { message: { taskId } });
    expect(await settle(answer)).toBe("COMPLETED");
    await bench.engine.drain(0);
  });

  it("is left to its agent while that is at work", async () => {
    const signedIn = gate();
    const { bench, pass } = clocked(open(), {
      async *execute(turn) {
        if (turn.text !== "ask") return yield inputRequired("?");
        yield authRequired("Sign in elsewhere.");
        await signedIn.opened;
        yield working("signed in");
      },
    });
    await bench.engine.start();
    const atWork = await bench.send("ask");
    await settle(atWork);
    const atRest = await bench.send("other");
    await settle(atRest);
    pass(5_000);
    const id = (held: typeof atWork): string => held.accepted!.task.id;
    await expect.poll(() => stateOf(bench, id(atRest)), patience).toBe("CANCELED");
    expect(await stateOf(bench, id(atWork))).toBe("AUTH_REQUIRED");
    signedIn.open();
    await expect.poll(() => stateOf(bench, id(atWork)), patience).toBe("COMPLETED");
    await bench.engine.drain(0);
  });
});

it("ends its wait after a restart, too", { timeout: 60_000 }, async () => {
  const path = temporaryFile();
  const before = sqliteStore({ path, synchronous: "NORMAL" });
  const first = new Bench(asking, {}, before);
  await first.engine.start();
  const held = await first.send("ask");
  await settle(held);
  const { id } = held.accepted!.task;
  await first.engine.drain(0);
  await before.close();
  const after = sqliteStore({ path, synchronous: "NORMAL" });
  // The default limit keeps the task for a month.
  const patient = new Bench(asking, { now: () => Date.now() + 29 * DAY }, after);
  expect(await stateOf(patient, id)).toBe("INPUT_REQUIRED");
  const { bench, pass } = clocked(after);
  pass(2_000);
  await bench.engine.start();
  await expect.poll(() => stateOf(bench, id), patience).toBe("CANCELED");
  await expect(bench.send("late", { message: { taskId: id } })).rejects.toMatchObject({
    reason: "UNSUPPORTED_OPERATION",
  });
  await bench.engine.drain(0);
  await after.close();
});

it("is canceled or answered, never both, when a message comes in the same moment", { timeout: 60_000 }, async () => {
  const store = memoryStore({ shared: true });
  const one = clocked(store);
  const other = clocked(store);
  await one.bench.engine.start();
  await other.bench.engine.start();
  const ids: string[] = [];
  for (let index = 0; index < 20; index++) {
    const held = await one.bench.send("ask");
    await settle(held);
    ids.push(held.accepted!.task.id);
  }
  one.pass(2_000);
  // The other process receives messages while this one cancels.
  for (const taskId of ids) {
    const answered = await other.bench.send("this one", { message: { taskId } }).catch(() => undefined);
    if (answered === undefined) await expect.poll(() => stateOf(one.bench, taskId), patience).toBe("CANCELED");
    else expect(await settle(answered)).toBe("COMPLETED");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await one.bench.engine.drain(0);
  await other.bench.engine.drain(0);
});
