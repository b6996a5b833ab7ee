import { afterEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent } from "../../src/testing/index.js";
import { merged } from "./merged.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

const asking = agentOf("Asking", async function* () {
  yield inputRequired("which?");
});

const endless = agentOf("Endless", async function* ({ signal }) {
  yield artifact({ id: "a", text: "begun" });
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
});

/** Other agents, of which one asks and two work, and the states of their tasks. */
async function others(onCancel?: () => void) {
  const remoteAgents: Record<string, { url: string; fetch: typeof fetch }> = {};
  const states: (() => Promise<TaskState[]>)[] = [];
  for (const [name, agent] of Object.entries({ asks: asking, works: endless, other: endless })) {
    const { url } = await servers.serve(agent, { store: memoryStore() });
    const client = await connect(url);
    clients.push(client);
    const spied: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      if (/cancel/i.test(request.url + (await request.clone().text()))) onCancel?.();
      return fetch(request);
    };
    remoteAgents[name] = { url, fetch: spied };
    states.push(async () => (await client.listTasks({})).tasks.map(({ status }) => status?.state ?? 0));
  }
  return { remoteAgents, states: async () => (await Promise.all(states.map((each) => each()))).flat() };
}

/** Hands the work to three agents at once; the question of one ends the turn. A later turn does what its message says. */
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
    // Its client has no answer, and says it again.
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

  /** A task whose second turn runs, and has not gone on with any of them. */
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
