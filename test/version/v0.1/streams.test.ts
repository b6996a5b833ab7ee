import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/agent/event.js";
import { taskSubscriptions } from "../../../src/service/caller-shares.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { gate } from "../../engine/support.js";
import { setConstants } from "../../support/constants.js";
import { type Answer, Spoken, say, v1 } from "./server.js";

/** One event in a word, and what it must not have left out with an error. */
function tell(event: Record<string, unknown>): string {
  for (const name of ["kind", "taskId", "contextId", "task"]) expect(event).not.toHaveProperty(name);
  expect(event.id).toBe("mine");
  const { status, final } = event as { status?: { state: string }; final?: boolean };
  if (status !== undefined) return `${status.state}${final === true ? " final" : ""}`;
  const { name, index, append, lastChunk, parts } = event.artifact as Record<string, unknown>;
  expect(event.artifact).not.toHaveProperty("artifactId");
  const text = (parts as { text: string }[]).map((part) => part.text).join("+");
  return `${index}${append ? "+" : ""} ${name ?? ""} ${text}${lastChunk ? "." : ""}`;
}

/** Three artifacts, the first of which is continued behind the others; a question between. */
const agent: Omit<Agent, "card"> = {
  responds: "either",
  async *execute(turn) {
    if (turn.text === "direct") return yield reply("hi");
    yield working();
    if (turn.text === "second") {
      yield artifact({ name: "c", text: "c1" });
      yield artifact({ name: "a", text: "a3", append: true, lastChunk: true });
      return yield completed();
    }
    yield artifact({ name: "a", text: "a1" });
    yield artifact({ name: "b", text: "b1", lastChunk: true });
    yield artifact({ name: "a", text: "a2", append: true });
    yield inputRequired("Go on?");
  },
};

/** Without it, and without `Last-Event-ID`, events have no `id:`. */
const asksForIds = { "a2a-extensions": "urn:parley:ext:resume:v1" };

const firstTurn = ["submitted", "working", "0 a a1", "1 b b1.", "0+ a a2", "input-required final"];

describe("a stream of 0.1", () => {
  it("has status and artifacts alone, and ends where its client is asked", async () => {
    const spoken = new Spoken(agent);
    const { events } = await spoken.call("tasks/sendSubscribe", say("mine", "first"));
    expect(events.map(tell)).toEqual(firstTurn);
  });

  it("begins with what there is, under the indexes that it had, and goes on counting behind them", async () => {
    const spoken = new Spoken(agent);
    await spoken.call("tasks/sendSubscribe", say("mine", "first"));
    const { events } = await spoken.call("tasks/sendSubscribe", say("mine", "second"));
    expect(events.map(tell)).toEqual([
      ...["0 a a1+a2.", "1 b b1.", "working"],
      ...["2 c c1", "0+ a a3.", "completed final"],
    ]);
  });

  it("is one event of a direct answer", async () => {
    const { events } = await new Spoken(agent).call("tasks/sendSubscribe", say("mine", "direct"));
    expect(events.map(tell)).toEqual(["completed final"]);
  });

  it("tells of a task that is over, or waits, and ends", async () => {
    const spoken = new Spoken(agent);
    await spoken.call("tasks/send", say("mine", "first"));
    const waiting = ["0 a a1+a2.", "1 b b1.", "input-required final"];
    expect((await spoken.call("tasks/resubscribe", { id: "mine" })).events.map(tell)).toEqual(waiting);
    await spoken.call("tasks/send", say("mine", "second"));
    const { events } = await spoken.call("tasks/resubscribe", { id: "mine" });
    expect(events.map(tell)).toEqual(["0 a a1+a2+a3.", "1 b b1.", "2 c c1.", "completed final"]);
  });

  it.each(["by its version", "by its task"])(
    "goes on behind an event, recognised %s, with the same indexes",
    async (how) => {
      const store = memoryStore();
      const spoken = new Spoken(agent, { store });
      const first = await spoken.call("tasks/sendSubscribe", say("mine", "first"), asksForIds);
      const second = await spoken.call("tasks/sendSubscribe", say("mine", "second"), asksForIds);
      const all = [...first.events.map(tell), ...second.events.map(tell).slice(2)];
      const ids = [...new Set([...first.ids, ...second.ids])];
      expect(ids.length).toBe(all.length);
      const version: Record<string, string> = how === "by its task" ? {} : { "a2a-version": "0.1" };
      // Also in a process that has never seen the task.
      for (const reader of [spoken, new Spoken(agent, { store })]) {
        for (const [i, id] of ids.slice(0, -1).entries()) {
          const headers = { ...version, "last-event-id": id };
          const { events, ids: rest } = await reader.call("tasks/resubscribe", { id: "mine" }, headers);
          const after = all.slice(i + 1);
          expect(events.map(tell)).toEqual(after.slice(0, after.findIndex((each) => each.endsWith("final")) + 1));
          expect(rest).toHaveLength(events.length);
        }
      }
    },
  );

  it("goes on with the whole next task behind an event of an ended one of its name", async () => {
    const store = memoryStore();
    const spoken = new Spoken(agent, { store });
    const lives: Answer[] = [];
    for (const text of ["first", "second", "first", "second", "first"]) {
      lives.push(await spoken.call("tasks/sendSubscribe", say("mine", text), asksForIds));
    }
    const numbers = lives.map(({ ids }) => ids.map(Number));
    const last = lives.at(-1)?.events.map(tell) ?? [];
    expect(last).toEqual(firstTurn);
    // Also in a process that has never seen the task.
    for (const reader of [spoken, new Spoken(agent, { store })]) {
      for (const id of numbers.slice(0, -1).flat()) {
        for (const version of ["0.1", "1.0"]) {
          const method = version === "1.0" ? "SubscribeToTask" : "tasks/resubscribe";
          const headers = { "a2a-version": version, "last-event-id": `${id}` };
          const { events } = await reader.call(method, { id: "mine" }, headers);
          if (version === "0.1") expect(events.map(tell)).toEqual(last.slice(1));
          else expect(events).toHaveLength(last.length);
        }
      }
    }
  });

  it("has the id of a snapshot on its last event alone, so that no part of it is lost", async () => {
    const spoken = new Spoken(agent);
    await spoken.call("tasks/send", say("mine", "first"));
    const { ids, events } = await spoken.call("tasks/resubscribe", { id: "mine" }, asksForIds);
    expect(events).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
    expect(ids.length).toBeLessThan(3);
  });

  it("lets go of its task when its client leaves while nothing happens", async () => {
    const held = gate();
    const waiting: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await held.opened;
      },
    };
    setConstants(taskSubscriptions, { max: 1 });
    const spoken = new Spoken(waiting);
    const begin = async (method: string, params: object): Promise<string> => {
      const response = await spoken.open(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      const reader = response.body?.getReader();
      const said = new TextDecoder().decode((await reader?.read())?.value);
      await reader?.cancel();
      return said;
    };
    await begin("tasks/sendSubscribe", say("mine", "go"));
    for (let round = 0; round < 3; round++) {
      // There is room for one alone: the next one finds it when the one before has gone.
      const next = (): Promise<string> => begin("tasks/resubscribe", { id: "mine" });
      await expect.poll(next, { timeout: 20_000 }).toContain('"state":"working"');
    }
    held.open();
  });
});

describe("an artifact's index", () => {
  it("is the same in tasks, streams and after other versions have read and written it", async () => {
    const spoken = new Spoken(agent);
    await spoken.call("tasks/sendSubscribe", say("mine", "first"));
    await spoken.call("GetTask", { id: "mine" }, v1);
    const sent = { message: { messageId: "x", role: "ROLE_USER", parts: [{ text: "second" }], taskId: "mine" } };
    await spoken.call("SendMessage", sent, v1);
    const { artifacts } = await spoken.result("tasks/get", { id: "mine" });
    expect((artifacts as Record<string, unknown>[]).map(({ index, name }) => `${index} ${name}`)).toEqual([
      "0 a",
      "1 b",
      "2 c",
    ]);
    for (const each of artifacts as object[]) {
      expect(Object.keys(each).sort()).toEqual(["index", "name", "parts"]);
    }
  });
});
