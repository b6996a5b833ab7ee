import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { AgentError } from "../../../src/agent/errors.js";
import { completed, inputRequired } from "../../../src/agent/event.js";
import { A2AError } from "../../../src/core/error.js";
import { remoteBounds } from "../../../src/delegation/remotes.js";
import { agentOf, Servers } from "../../delegation/servers.js";
import { setConstants, setConstantsOfFile } from "../../support/constants.js";
import { cover } from "../../support/cover.js";
import { pairs } from "../../support/covering.js";
import { connect } from "../world.js";
import { type GrpcHabit, grpcZoo } from "./grpc-server.js";
import { failing, followUps, harmless } from "./habits.js";
import { type Habit, type ZooBinding, zooServer } from "./zoo-server.js";

// Tests that wait for the end of an outage expect a failure.
setConstantsOfFile(remoteBounds, { maxOutageMs: 2_000 });

vi.setConfig({ testTimeout: 60_000 });

const servers = new Servers();
afterEach(() => servers.close());

/** Returns the expected result. Allows more time for a success, because a busy machine may be slow. */
function expecting(end: string): string {
  if (end === "well done") setConstants(remoteBounds, { maxOutageMs: 30_000 });
  return end;
}

/** The answer that an agent gives after it has delegated to the server. */
async function asked(url: string, execute: Agent["execute"]): Promise<string> {
  const front = agentOf("Front", execute);
  const server = await servers.serve(front, { remoteAgents: { other: url } });
  const { state, task } = await (await connect(server.url)).send("go");
  const said = (task?.status?.message?.parts ?? []).map(({ content }) => content.value).join("");
  if (state !== TaskState.COMPLETED) throw new A2AError("INTERNAL", said);
  return said;
}

/** Ways to send a message. Each returns the text of the resulting task. */
const ways: Record<string, (url: string) => Promise<string>> = {
  send: async (url) => (await (await connect(url)).send("go")).text,
  stream: async (url) => {
    let last = "";
    for await (const { task } of (await connect(url)).stream("go")) {
      last = (task?.artifacts ?? []).flatMap(({ parts }) => parts.map(({ content }) => content.value)).join("");
    }
    return last;
  },
  delegation: (url) =>
    asked(url, async function* (turn) {
      yield completed((yield* turn.delegate("other")).text);
    }),
  call: (url) =>
    asked(url, async function* (turn) {
      const other = await turn.call("other");
      const { text } = await other.send("go").catch(({ reason }: A2AError) => {
        throw new AgentError(`The call failed: ${reason}`);
      });
      yield completed(text);
    }),
};

/** Ways to answer a task's question. Each returns the text of the task. */
const answers: Record<string, (url: string) => Promise<string>> = {
  send: async (url) => {
    const conversation = (await connect(url)).conversation();
    await conversation.send("go");
    return (await conversation.send("this")).text;
  },
  "send without a conversation": async (url) => {
    const client = await connect(url);
    const { taskId = "" } = await client.send("go");
    return (await client.send({ parts: "this", taskId })).text;
  },
  stream: async (url) => {
    const conversation = (await connect(url)).conversation();
    let last = "";
    for (const text of ["go", "this"]) {
      for await (const { task } of conversation.stream(text)) {
        last = (task?.artifacts ?? []).flatMap(({ parts }) => parts.map(({ content }) => content.value)).join("");
      }
    }
    return last;
  },
  delegation: async (url) => {
    const front = agentOf("Front", async function* (turn) {
      yield completed((yield* turn.delegate("other")).text);
    });
    const server = await servers.serve(front, { remoteAgents: { other: url } });
    const conversation = (await connect(server.url)).conversation();
    await conversation.send("go");
    const { state, task } = await conversation.send("this");
    const said = (task?.status?.message?.parts ?? []).map(({ content }) => content.value).join("");
    return `${state === TaskState.COMPLETED ? "" : `${TaskState[state ?? 0]} `}${said}`;
  },
};

const bindings: readonly ZooBinding[] = ["JSONRPC", "HTTP+JSON"];

async function ended(binding: ZooBinding, habit: Habit, way: string, by = ways): Promise<string> {
  const zoo = await zooServer(binding, habit);
  const text = await (by[way] as (url: string) => Promise<string>)(zoo.url).catch(
    (error) => `${error.reason} ${error.message}`,
  );
  return `${zoo.sends()} sent: ${text}`;
}

/** Each habit with each way and with each binding. */
const rows = <H>(habits: Readonly<Record<string, H>>, by: object) =>
  cover(
    Object.entries(habits).flatMap(([title, habit]) =>
      bindings.flatMap((binding) => Object.keys(by).map((way) => ({ title, habit, binding, way }))),
    ),
    ({ title, binding, way }) => pairs(title, binding, way),
  );

describe("a foreign server that closes silently after a 500", () => {
  const closing = failing["500 in plain text, then a silent close (uvicorn)"] as Habit;
  const once: Habit = {
    before: (answer) => (answer.nth === 1 ? closing.before?.(answer) === true : false),
  };

  it.each(bindings)("gets the next message over %s", async (binding) => {
    const zoo = await zooServer(binding, once);
    const client = await connect(zoo.url);
    await expect(client.send("go")).rejects.toMatchObject({ reason: "INTERNAL" });
    expect([(await client.send("go")).text, zoo.sends()]).toEqual(["well done", 2]);
    const streamed = async (): Promise<string> => {
      let text = "";
      for await (const update of client.stream("go")) text += update.text;
      return text;
    };
    await expect(streamed()).rejects.toMatchObject({ reason: "INTERNAL" });
    expect([await streamed(), zoo.sends()]).toEqual(["well done", 4]);
  });
});

describe("a foreign server with", () => {
  it.each(rows(harmless, ways))("$title is understood: $way over $binding", async ({ habit, binding, way }) => {
    const end = expecting("well done");
    expect(await ended(binding, habit, way)).toBe(`1 sent: ${end}`);
  });

  it.each(rows(followUps, answers))(
    "$title gets an answer once: $way over $binding",
    async ({ habit, binding, way }) => {
      const end = expecting("well done");
      expect(await ended(binding, habit(), way, answers)).toBe(`2 sent: ${end}`);
    },
  );

  it.each(bindings)("a question that it asks again is heard at once over %s", async (binding) => {
    const zoo = await zooServer(binding, {
      async *execute() {
        yield inputRequired("Which?");
      },
    });
    const conversation = (await connect(zoo.url)).conversation();
    for (const text of ["go", "this", "that"]) {
      expect((await conversation.send(text)).state).toBe(TaskState.INPUT_REQUIRED);
    }
    expect(zoo.sends()).toBe(3);
  });

  it.each(rows(failing, ways))("$title gets the message once: $way over $binding", async ({ habit, binding, way }) => {
    // A turn's own call is a send.
    const end = expecting(habit.ends[way === "call" ? "send" : (way as "send")]);
    // A delegating agent names the reason in the status of its own task.
    expect(await ended(binding, habit, way)).toMatch(new RegExp(`^1 sent: (?:.*: )?${end}\\b`));
  });
});

describe("a foreign server of gRPC with", () => {
  const lost = { losesAnswers: true };
  const wholeAtEnd = harmless["the whole artifact at the end, append false"] as GrpcHabit;
  const habits: readonly { title: string; habit: GrpcHabit; ends: string; ofDelegation?: string }[] = [
    { title: "nothing special", habit: {}, ends: "well done" },
    { title: "the whole artifact at the end, append false", habit: wholeAtEnd, ends: "well done" },
    { title: "lost answers", habit: lost, ends: "UNAVAILABLE", ofDelegation: "well done" },
    { title: "lost answers, and no list", habit: { ...lost, lacks: ["ListTasks"] }, ends: "UNAVAILABLE" },
  ];

  describe.each(habits)("$title", ({ habit, ends, ofDelegation = ends }) => {
    it.each(Object.keys(ways))("gets the message once: %s", async (way) => {
      const end = expecting(way === "delegation" ? ofDelegation : ends);
      const zoo = await grpcZoo(habit);
      const text = await (ways[way] as (url: string) => Promise<string>)(zoo.url).catch(
        (error) => `${error.reason} ${error.message}`,
      );
      expect(`${zoo.sends()} sent: ${text}`).toMatch(new RegExp(`^1 sent: (?:.*: )?${end}\\b`));
    });
  });
});
