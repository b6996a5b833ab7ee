import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import type { SendResult } from "../../src/engine/engine.js";
import { openShared } from "./stores.js";
import { Bench, gate, quick, scope, settle } from "./support.js";

const idempotency = { key: "key", fingerprint: "same" };

/** An agent that yields the given events. Counts its runs and their ends. */
function counting(responds: Agent["responds"], events: () => AsyncIterable<AgentEvent>) {
  const counted = { runs: 0, left: 0 };
  const agent: Omit<Agent, "card"> = {
    responds: responds ?? "task",
    async *execute() {
      counted.runs++;
      try {
        yield* events();
      } finally {
        counted.left++;
      }
    },
  };
  return { agent, counted };
}

async function* twoPieces(): AsyncGenerator<AgentEvent> {
  await new Promise((resolve) => setImmediate(resolve));
  yield artifact({ name: "a", text: "1" });
  yield artifact({ name: "a", text: "2", append: true });
  yield completed();
}

function sendMany(benches: readonly Bench[], count: number): Promise<SendResult[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) => {
      const bench = benches[i % benches.length] as Bench;
      return bench.engine.send(bench.order("x", { idempotency, message: { messageId: "m" } }));
    }),
  );
}

/** The ids of the tasks or messages in the results. */
function idsOf(sent: readonly SendResult[]): Set<string> {
  return new Set(sent.map((one) => (one.kind === "task" ? one.task.now().task.id : one.message.messageId)));
}

async function expectWholeTasks(bench: Bench, count: number): Promise<void> {
  const { views, total } = await bench.engine.list({ ...scope, limit: 50 }, {});
  expect(total).toBe(count);
  for (const { task } of views) {
    expect(task.id).not.toBe("");
    expect(task.status?.state).not.toBe(TaskState.UNSPECIFIED);
  }
}

describe("sends under one key at the same time", () => {
  it.each(["task", "either"] as const)("are one task and one run of an agent of kind %s", async (responds) => {
    const { agent, counted } = counting(responds, twoPieces);
    const bench = new Bench(agent);
    const sent = await sendMany([bench], 10);
    expect(idsOf(sent).size).toBe(1);
    for (const one of sent) if (one.kind === "task") expect(await settle(one.task)).toBe("COMPLETED");
    expect(counted.runs).toBe(1);
    await expectWholeTasks(bench, 1);
  });

  it.each(["message", "either"] as const)("share one direct answer of an agent of kind %s", async (responds) => {
    const { agent, counted } = counting(responds, async function* () {
      await new Promise((resolve) => setImmediate(resolve));
      yield reply("hello");
    });
    const bench = new Bench(agent);
    expect(idsOf(await sendMany([bench], 10)).size).toBe(1);
    expect(counted.runs).toBe(1);
    await expectWholeTasks(bench, 0);
    // A direct answer is not stored, so a later send runs the agent again.
    await sendMany([bench], 1);
    expect(counted.runs).toBe(2);
  });

  it("refuse another request under the same key while the first one is being decided", async () => {
    const go = gate();
    const { agent } = counting("either", async function* () {
      await go.opened;
      yield reply("hello");
    });
    const bench = new Bench(agent);
    const first = bench.engine.send(bench.order("x", { idempotency }));
    const other = bench.engine.send(bench.order("y", { idempotency: { ...idempotency, fingerprint: "other" } }));
    await expect(other).rejects.toMatchObject({ reason: "IDEMPOTENCY_KEY_REUSED" });
    go.open();
    expect((await first).kind).toBe("message");
  });

  it("do not fail with the first one: the next one tries itself", async () => {
    let runs = 0;
    const bench = new Bench({
      responds: "message",
      async *execute() {
        await new Promise((resolve) => setImmediate(resolve));
        if (++runs > 1) yield reply("at last");
      },
    });
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(() => bench.engine.send(bench.order("x", { idempotency }))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(runs).toBe(2);
  });

  it("are answered with the first one's task where they expect a generation, too", async () => {
    const { agent } = counting("task", async function* () {
      yield inputRequired("?");
    });
    const bench = new Bench(agent);
    const held = await bench.send("first");
    await settle(held);
    const message = { taskId: held.accepted!.task.id, messageId: "same" };
    const sends = [1, 2, 3].map(() => bench.send("more", { message, idempotency, ifGeneration: 2 }));
    const tasks = await Promise.all(sends);
    expect(await settle(tasks[0]!)).toBe("INPUT_REQUIRED");
    const { history } = (await bench.engine.get(scope, message.taskId)).task;
    expect(history.filter(({ messageId }) => messageId === "same")).toHaveLength(1);
  });

  it("leave nothing of the agent that came second at another process", async () => {
    for (let round = 0; round < 5; round++) {
      const { agent, counted } = counting("either", twoPieces);
      const benches = openShared().map((store) => new Bench(agent, {}, store));
      await Promise.all(benches.map(({ engine }) => engine.start()));
      const sent = await sendMany(benches, 6);
      expect(idsOf(sent).size).toBe(1);
      for (const one of sent) if (one.kind === "task") expect(await settle(one.task)).toBe("COMPLETED");
      // Each process may have started the turn once. The second one left it before its second event.
      expect(counted.runs).toBeLessThanOrEqual(2);
      await expect.poll(() => counted.left).toBe(counted.runs);
      for (const bench of benches) await expectWholeTasks(bench, 1);
      const [first] = sent;
      const { artifacts } = first?.kind === "task" ? first.task.now().task : { artifacts: [] };
      expect(artifacts.map(({ parts }) => parts.map(({ content }) => content.value))).toEqual([["1", "2"]]);
    }
  });
});

describe("a send under a key whose agent hangs after its client has left", () => {
  const ways: [name: string, agent: (wait: () => Promise<void>) => Omit<Agent, "card">][] = [
    ["before its first event", (wait) => ({ responds: "either", execute: () => after(wait, twoPieces) })],
    ["in accept()", (wait) => ({ accept: wait, execute: () => twoPieces() })],
  ];

  it.each(ways)("does not keep the key: %s", async (_name, agentOf) => {
    const go = gate();
    let runs = 0;
    const bench = new Bench(
      agentOf(async () => void (++runs === 1 && (await go.opened))),
      { limits: quick },
    );
    const client = new AbortController();
    const first = bench.engine.send(bench.order("x", { idempotency, message: { messageId: "m" }, client }));
    await expect.poll(() => runs).toBe(1);
    client.abort();
    const [second, third] = (await sendMany([bench], 2)) as [SendResult, SendResult];
    // Only one of the two later sends ran the agent.
    expect(runs).toBe(2);
    // The first send finally returns the same task.
    go.open();
    expect(idsOf([await first, second, third]).size).toBe(1);
    await expectWholeTasks(bench, 1);
  });
});

async function* after(wait: () => Promise<void>, events: () => AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
  await wait();
  yield* events();
}

describe("a task that could not be created", () => {
  it("leaves nothing in the store, whatever its agent says meanwhile", async () => {
    const [first, second] = [gate(), gate()];
    const bench = new Bench({
      responds: "either",
      async *execute(turn) {
        yield working();
        await (turn.text === "first" ? first : second).opened;
        yield artifact({ name: "a", text: "x" });
      },
    });
    // Both sends have the same key and have passed the check for a known key.
    const order = (text: string) => bench.order(text, { idempotency: { ...idempotency, fingerprint: text } });
    const outcomes = Promise.allSettled([bench.engine.send(order("first")), bench.engine.send(order("second"))]);
    first.open();
    second.open();
    expect((await outcomes).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expectWholeTasks(bench, 1);
  });
});
