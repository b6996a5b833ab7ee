import { afterEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { recovered } from "../../src/engine/log/lease-keeper.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { setConstants } from "../support/constants.js";
import { merged } from "./merged.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
type AgentTest = ReturnType<typeof testAgent>;

const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

/** Resolves when a signal fires, or has fired. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

const asking = agentOf("Asking", async function* () {
  yield inputRequired("which?");
});

const endless = agentOf("Endless", async function* ({ signal }) {
  yield artifact({ id: "a", text: "begun" });
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
});

/** Serves an agent. `states` returns the states of its tasks. */
async function serve(agent: Agent): Promise<{ readonly url: string; states(): Promise<TaskState[]> }> {
  const { url } = await servers.serve(agent, { store: memoryStore() });
  const client = await connect(url);
  clients.push(client);
  const states = async () => (await client.listTasks({})).tasks.map(({ status }) => status?.state ?? 0);
  return { url, states };
}

/** Sends messages, but never returns their answers. */
const withoutAnswers: typeof fetch = async (input, init) => {
  const body = await new Response(init?.body).text();
  const answer = fetch(input, init);
  if (!/SendStreamingMessage/i.test(`${input} ${body}`)) return answer;
  // The signal of the call aborts the pending answer.
  answer.catch(() => {});
  return new Promise((_, reject) => init?.signal?.addEventListener("abort", reject));
};

/** Three agents, one that asks and two that work. `states` returns the states of their tasks. */
async function others(onCancel?: () => void) {
  const remoteAgents: Record<string, { url: string; fetch: typeof fetch }> = {};
  const states: (() => Promise<TaskState[]>)[] = [];
  for (const [name, agent] of Object.entries({ asks: asking, works: endless, other: endless })) {
    const { url, states: statesOf } = await serve(agent);
    const spied: typeof fetch = async (input, init) => {
      const body = await new Response(init?.body).text();
      if (/cancel/i.test(`${input} ${body}`)) onCancel?.();
      return fetch(input, init);
    };
    remoteAgents[name] = { url, fetch: spied };
    states.push(statesOf);
  }
  return { remoteAgents, states: async () => (await Promise.all(states.map((each) => each()))).flat() };
}

/** Delegates to three agents at once; one of them asks, which ends the turn. Later turns do what their message says. */
const front = (recover: "restart" | "fail") =>
  agentOf(
    "Front",
    async function* (turn): AsyncGenerator<AgentEvent> {
      if (turn.text === "enough") return yield completed("enough");
      if (turn.text === "wait") {
        yield working("waiting");
        await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve(), { once: true }));
        return;
      }
      const open = [turn.delegate("works"), turn.delegate("other")];
      for (const each of open) {
        for (let isBegun = false; !isBegun; ) {
          const event = (await each.next()).value as AgentEvent;
          yield event;
          isBegun = event.kind === "artifact";
        }
      }
      yield* merged([...open, turn.delegate("asks")], () => {});
    },
    { recover },
  );

const CANCELED = [TaskState.CANCELED, TaskState.CANCELED, TaskState.CANCELED];

describe("sub-tasks that are open while their task waits with the question of one", () => {
  it("are canceled with it, all of them", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(front("restart"), { remoteAgents });
    const task = await test.send("go");
    expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    expect(await states()).toHaveLength(3);
    expect((await test.cancel(task)).status?.state).toBe(TaskState.CANCELED);
    expect(await states()).toEqual(CANCELED);
  });

  it("are canceled with it although the process dies in the middle of that", async () => {
    let died: Promise<void> | undefined;
    const { remoteAgents, states } = await others(() => {
      died ??= test.crash();
      throw new Error("The process died.");
    });
    await using test = testAgent(front("restart"), { remoteAgents });
    const task = await test.send("go");
    await expect(test.cancel(task)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    await died;
    for (const remote of Object.values(remoteAgents)) remote.fetch = fetch;
    await test.crash();
    // The client got no answer, so it repeats the cancel.
    expect((await test.cancel(task)).status?.state).toBe(TaskState.CANCELED);
    expect(await states()).toEqual(CANCELED);
  });

  it("are canceled when it has waited for too long", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(front("restart"), { remoteAgents, limits: { maxInterruptedMs: 1_000 } });
    const task = await test.send("go");
    await expect.poll(async () => (await test.get(task)).status?.state, { timeout: 10_000 }).toBe(TaskState.CANCELED);
    await expect.poll(states, { timeout: 10_000 }).toEqual(CANCELED);
  });

  it("are canceled when a later turn ends the task without them", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(front("restart"), { remoteAgents });
    const task = await test.send("go");
    expect((await test.send("enough", { task })).status?.state).toBe(TaskState.COMPLETED);
    await expect.poll(states).toEqual(CANCELED);
  });

  /** A task whose second turn runs without continuing any sub-task. */
  async function waiting(test: ReturnType<typeof testAgent>): Promise<Task> {
    const task = await test.send("go");
    await test.send("wait", { task, returnImmediately: true });
    await expect.poll(async () => (await test.get(task)).status?.state).toBe(TaskState.WORKING);
    return task;
  }

  it("are canceled with a later turn that has not come to them", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(front("restart"), { remoteAgents });
    await test.cancel(await waiting(test));
    expect(await states()).toEqual(CANCELED);
  });

  it("are canceled when a crash fails their task", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(front("fail"), { remoteAgents });
    const task = await waiting(test);
    await test.crash();
    expect((await test.settled(task)).status?.state).toBe(TaskState.FAILED);
    expect(await states()).toEqual(CANCELED);
  });
});

describe("a sub-task that was sent, and of which nothing came before the question of another one", () => {
  /** An agent whose answers to sends never arrive, and one that asks when the first one has received its message. */
  async function silentAndAsking() {
    let heard = (): void => {};
    const isHeard = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const silent = agentOf("Silent", async function* ({ signal }) {
      heard();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      yield working("stopped");
    });
    const late = agentOf("Late", async function* () {
      await isHeard;
      yield inputRequired("which?");
    });
    const { url, states } = await serve(silent);
    const asks = await servers.serve(late, { store: memoryStore() });
    return { remoteAgents: { silent: { url, fetch: withoutAnswers }, asks: asks.url }, states };
  }

  const handing = (recover: "restart" | "fail") =>
    agentOf(
      "Front",
      async function* (turn): AsyncGenerator<AgentEvent> {
        if (turn.text === "enough") return yield completed("enough");
        yield* merged([turn.delegate("silent"), turn.delegate("asks")], () => {});
      },
      { recover },
    );

  it.each([
    ["its task", "restart", async (test: AgentTest, task: Task) => test.cancel(task)],
    [
      "its task in a later process",
      "fail",
      async (test: AgentTest, task: Task) => {
        await test.crash();
        await test.cancel(task);
      },
    ],
    ["the end of its task in a later turn", "restart", (test: AgentTest, task: Task) => test.send("enough", { task })],
  ] as const)("is canceled with %s", async (_name, recover, end) => {
    const { remoteAgents, states } = await silentAndAsking();
    await using test = testAgent(handing(recover), { remoteAgents });
    const task = await test.send("go");
    expect([task.status?.state, await states()]).toEqual([TaskState.INPUT_REQUIRED, [TaskState.SUBMITTED]]);
    await end(test, task);
    expect(await states()).toEqual([TaskState.CANCELED]);
  });
});

describe("a sub-task that was sent in a turn that answers a question, and of which nothing came before a crash", () => {
  /** An agent that works until it is canceled, and whose answer to a send never arrives. */
  async function silent() {
    const { url, states } = await serve(endless);
    return { remoteAgents: { silent: { url, fetch: withoutAnswers } }, states };
  }

  const asksFirst = (recover: "restart" | "fail") =>
    agentOf(
      "Front",
      async function* (turn): AsyncGenerator<AgentEvent> {
        if (turn.history.length === 0) return yield inputRequired("which?");
        if (turn.attempt === 1) yield* turn.delegate("silent");
        else await aborted(turn.signal);
      },
      { recover },
    );

  /** A task that crashed after it had sent its sub-task. */
  async function crashed(test: AgentTest, states: () => Promise<unknown[]>): Promise<Task> {
    const task = await test.send("go");
    await test.send("this", { task, returnImmediately: true });
    await expect.poll(states).toHaveLength(1);
    expect((await test.get(task)).status?.state).toBe(TaskState.WORKING);
    await test.crash();
    return task;
  }

  it("is canceled when the crash fails its task", async () => {
    const { remoteAgents, states } = await silent();
    await using test = testAgent(asksFirst("fail"), { remoteAgents });
    const task = await crashed(test, states);
    expect((await test.settled(task)).status?.state).toBe(TaskState.FAILED);
    expect(await states()).toEqual([TaskState.CANCELED]);
  });

  it("is canceled with its task when the next attempt does not come to it", async () => {
    const { remoteAgents, states } = await silent();
    await using test = testAgent(asksFirst("restart"), { remoteAgents });
    const task = await crashed(test, states);
    await test.cancel(task);
    expect(await states()).toEqual([TaskState.CANCELED]);
  });
});

describe("sub-tasks of an attempt of which a crash cut the turn off", () => {
  /** Starts two sub-tasks, and continues neither when it runs again. */
  const forgetful = agentOf(
    "Front",
    async function* (turn): AsyncGenerator<AgentEvent> {
      if (turn.attempt > 1) {
        yield working("again");
        await aborted(turn.signal);
        return;
      }
      yield* merged([turn.delegate("works"), turn.delegate("other")], () => {});
    },
    { recover: "restart" },
  );

  it("are canceled with the next attempt that has not come to them", async () => {
    const { remoteAgents, states } = await others();
    await using test = testAgent(forgetful, { remoteAgents });
    const task = await test.send("go", { returnImmediately: true });
    await expect.poll(async () => (await test.get(task)).artifacts.length).toBe(2);
    await test.crash();
    await expect.poll(async () => textOf((await test.get(task)).status?.message ?? task)).toBe("again");
    await test.cancel(task);
    expect(await states()).toEqual([TaskState.CANCELED, TaskState.CANCELED]);
  });

  it("are canceled with their task while it waits to run again", async () => {
    setConstants(recovered, { max: 1 });
    const { remoteAgents, states } = await others();
    await using test = testAgent(forgetful, { remoteAgents });
    const tasks = [
      await test.send("go", { returnImmediately: true }),
      await test.send("go", { returnImmediately: true }),
    ];
    for (const task of tasks) await expect.poll(async () => (await test.get(task)).artifacts.length).toBe(2);
    await test.crash();
    for (const task of tasks.reverse()) await test.cancel(task);
    expect(new Set(await states())).toEqual(new Set([TaskState.CANCELED]));
  });
});
