import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../../src/agent/agent.js";
import { type AgentEvent, completed, inputRequired, reply } from "../../src/agent/event.js";
import { A2AError } from "../../src/core/error.js";
import { testAgent } from "../../src/testing/index.js";
import { merged } from "./merged.js";
import { agentOf } from "./servers.js";

/** An agent that asks on request. Records the context of each task by its first message. */
function listener() {
  const contexts = new Map<string, string>();
  const agent = agentOf("Other", async function* (turn) {
    if (turn.history.length === 0) contexts.set(turn.text, turn.contextId);
    if (turn.text.startsWith("ask")) return yield inputRequired("Which?");
    yield completed("heard");
  });
  return { agent, contexts };
}

/** Delegates each word of a message, one after the other. */
const front = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
  for (const word of turn.text.split(" ")) yield* turn.delegate("other", word);
  if (turn.text.endsWith("more")) yield inputRequired("More?");
});

describe("the context of sub-tasks at one agent", () => {
  it("is the same within a turn, in later turns and in later tasks of the conversation", async () => {
    const { agent, contexts } = listener();
    await using test = testAgent(front, { remoteAgents: { other: agent } });
    const task = await test.send("a b more");
    await test.crash();
    await test.send("c", { task });
    await test.crash();
    await test.send("d", { contextId: task.contextId });
    expect([...contexts.keys()]).toEqual(["a", "b", "more", "c", "d"]);
    expect(new Set(contexts.values()).size).toBe(1);
    expect(contexts.get("a")).not.toBe(task.contextId);
  });

  it("is another one for another conversation, caller, tenant or agent", async () => {
    const { agent, contexts } = listener();
    const next = agentOf("Next", async function* (turn): AsyncGenerator<AgentEvent> {
      const [other = "", text] = turn.text.split(":");
      yield* turn.delegate(other, text);
    });
    await using test = testAgent(next, { remoteAgents: { other: agent, another: agent } });
    const contextId = "the-conversation";
    await test.send("other:first", { contextId });
    await test.send("other:conversation", { contextId: "other-conversation" });
    await test.send("another:agent", { contextId });
    await test.send("other:caller", { contextId, caller: { owner: "somebody" } });
    await test.send("other:again", { contextId });
    expect(new Set(contexts.values()).size).toBe(4);
    expect(contexts.get("again")).toBe(contexts.get("first"));
  });

  it("is that of the author's option where it is set, and later ones keep it", async () => {
    const { agent, contexts } = listener();
    const choosing = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
      yield* turn.delegate("other", "first");
      yield* turn.delegate("other", "second", { contextId: "chosen" });
      yield* turn.delegate("other", "third");
    });
    await using test = testAgent(choosing, { remoteAgents: { other: agent } });
    await test.send("go");
    expect(contexts.get("first")).not.toBe("chosen");
    expect([contexts.get("second"), contexts.get("third")]).toEqual(["chosen", "chosen"]);
  });

  it("is that of an agent that replies with messages, too", async () => {
    const contexts: string[] = [];
    const other = agentOf(
      "Other",
      async function* ({ message }) {
        contexts.push(message.contextId);
        yield reply("yes");
      },
      { responds: "message" },
    );
    await using test = testAgent(front, { remoteAgents: { other } });
    const task = await test.send("a b");
    await test.send("c", { contextId: task.contextId });
    expect(contexts).toHaveLength(3);
    expect(new Set(contexts).size).toBe(1);
  });

  it("is a new one when the agent rejects that of before", async () => {
    const { agent, contexts } = listener();
    let isForgetful = false;
    const forgetful = {
      ...agent,
      accept: ({ message }: Pick<Turn, "message">) => {
        if (isForgetful && message.contextId !== "") {
          throw new A2AError("INVALID_PARAMS", "The context is not known.");
        }
      },
    };
    await using test = testAgent(front, { remoteAgents: { other: forgetful } });
    const task = await test.send("a");
    isForgetful = true;
    const later = await test.send("b", { contextId: task.contextId });
    isForgetful = false;
    await test.send("c", { contextId: task.contextId });
    expect(later.status?.state).toBe(TaskState.COMPLETED);
    expect(contexts.get("b")).not.toBe(contexts.get("a"));
    expect(contexts.get("c")).toBe(contexts.get("b"));
  });

  it("fails the delegation when the agent rejects that of the author's option", async () => {
    const { agent } = listener();
    const strict = {
      ...agent,
      accept: () => {
        throw new A2AError("INVALID_PARAMS", "The context is not known.");
      },
    };
    const choosing = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
      yield* turn.delegate("other", "x", { contextId: "chosen" });
    });
    await using test = testAgent(choosing, { remoteAgents: { other: strict } });
    expect((await test.send("go")).status?.state).toBe(TaskState.FAILED);
  });

  it("is that of its own name for each of several delegations at once", async () => {
    const { agent, contexts } = listener();
    const parallel = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
      const all = ["flight", "hotel"].map((name) => turn.delegate("other", `${name} ${turn.text}`, { name }));
      yield* merged(all, () => {});
      if (turn.text === "1") yield inputRequired("And?");
    });
    await using test = testAgent(parallel, { remoteAgents: { other: agent } });
    const task = await test.send("1");
    await test.crash();
    await test.send("2", { task });
    await test.crash();
    await test.send("3", { contextId: task.contextId });
    expect(contexts.get("flight 1")).not.toBe(contexts.get("hotel 1"));
    expect(contexts.get("flight 2")).toBe(contexts.get("flight 1"));
    expect(contexts.get("flight 3")).toBe(contexts.get("flight 1"));
    expect(contexts.get("hotel 2")).toBe(contexts.get("hotel 1"));
    expect(contexts.get("hotel 3")).toBe(contexts.get("hotel 1"));
  });

  it.each(Array.from({ length: 10 }, (_, at) => at))(
    "is the same when the process dies %i turns of the event loop into a conversation's second task",
    async (turns) => {
      const { agent, contexts } = listener();
      await using test = testAgent({ ...front, recover: "restart" }, { remoteAgents: { other: agent } });
      const { contextId } = await test.send("a");
      const task = await test.send("b c", { contextId, returnImmediately: true });
      for (let at = 0; at < turns * 4; at++) await new Promise((resolve) => setImmediate(resolve));
      await test.crash();
      expect((await test.settled(task)).status?.state).toBe(TaskState.COMPLETED);
      expect([...contexts.keys()]).toEqual(["a", "b", "c"]);
      expect(new Set(contexts.values()).size).toBe(1);
    },
  );
});
