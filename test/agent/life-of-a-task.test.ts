import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, reply, working } from "../../src/agent/event.js";
import { testAgent, textOf } from "../../src/testing/index.js";

// The scenarios of the protocol's page "Life of a task".

const card = (name: string): Agent["card"] => ({ name, description: "Has a life.", version: "1.0.0" });

/** Books the message's request, for the place and the days of the bookings that it refers to. */
const travel: Agent = {
  card: card("Travel"),
  async *execute(turn) {
    const earlier = (await turn.referencedTasks()).map(textOf);
    yield working("Booking.");
    yield artifact({ name: "booking", text: [...earlier, turn.text].join(" > ") });
    yield completed();
  },
};

describe("tasks of one context", () => {
  it("follow up in parallel on the tasks that they refer to", async () => {
    await using t = testAgent(travel);
    const flight = await t.send("flight to Helsinki");
    const { contextId } = flight;
    const send = (text: string, task: Task): Promise<Task> => t.send(text, { contextId, referenceTaskIds: [task.id] });
    const hotel = send("hotel", flight);
    const [snowmobile, spa] = await Promise.all([send("snowmobile", flight), hotel.then((task) => send("spa", task))]);
    const all = [flight, await hotel, snowmobile, spa];
    expect(all.map(textOf)).toEqual([
      "flight to Helsinki",
      "flight to Helsinki > hotel",
      "flight to Helsinki > snowmobile",
      "flight to Helsinki > hotel > spa",
    ]);
    expect(new Set(all.map((task) => task.contextId)).size).toBe(1);
    expect(new Set(all.map(({ id }) => id)).size).toBe(4);
  });

  it("do not change after their end, and keep an artifact's name in a refinement, under another id", async () => {
    await using t = testAgent(travel);
    const first = await t.send("hotel");
    await expect(t.send("a larger room", { task: first })).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    const { contextId } = first;
    const second = await t.send("a larger room", { contextId, referenceTaskIds: [first.id] });
    expect(second.artifacts[0]?.name).toBe(first.artifacts[0]?.name);
    expect(second.artifacts[0]?.artifactId).not.toBe(first.artifacts[0]?.artifactId);
    expect(await t.get(first)).toEqual(first);
  });

  it("are not those of others: a reference to the task of another caller leads nowhere", async () => {
    await using t = testAgent(travel);
    const theirs = await t.send("flight to Paris", { caller: { owner: "ada" } });
    const mine = await t.send("hotel", { caller: { owner: "bob" }, referenceTaskIds: [theirs.id] });
    expect(textOf(mine)).toBe("hotel");
  });
});

describe("an agent", () => {
  it("that answers with messages alone keeps the context that its client names", async () => {
    const agent: Agent = {
      card: card("Messages"),
      responds: "message",
      async *execute(turn) {
        yield reply(`You said: ${turn.text}`);
      },
    };
    await using t = testAgent(agent);
    const first = await t.ask("hello");
    const second = await t.ask("again", { contextId: first.contextId });
    expect([first.taskId, second.contextId]).toEqual(["", first.contextId]);
    expect(await t.list()).toEqual([]);
  });

  it("that makes a task of everything has completed tasks even for small talk", async () => {
    await using t = testAgent(travel);
    const { status, id } = await t.send("hello");
    expect([status?.state, (await t.get(id)).id]).toEqual([TaskState.COMPLETED, id]);
  });

  it("that does both negotiates by messages, and answers within a task by the task alone", async () => {
    const agent: Agent = {
      card: card("Hybrid"),
      responds: "either",
      async *execute(turn) {
        if (turn.text === "what can you do?") return yield reply("I book hotels.");
        yield* travel.execute(turn);
      },
    };
    await using t = testAgent(agent);
    const said = await t.ask("what can you do?");
    const task = await t.send("hotel", { contextId: said.contextId });
    expect([textOf(said), textOf(task), task.contextId]).toEqual(["I book hotels.", "hotel", said.contextId]);
  });

  it("that takes long is answered at once where its client asks for that, and read later", async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const agent: Agent = {
      card: card("Analyst"),
      async *execute() {
        yield working("Analysis in progress, please wait.");
        await finished;
        yield artifact({ name: "analysis", data: { pages: 3 } });
      },
    };
    await using t = testAgent(agent);
    const begun = await t.send("Analyze this.", { returnImmediately: true });
    expect(TaskState[begun.status?.state ?? 0]).toMatch(/SUBMITTED|WORKING/);
    finish();
    const done = await t.settled(begun);
    expect([done.status?.state, done.artifacts[0]?.name]).toEqual([TaskState.COMPLETED, "analysis"]);
  });
});
