import { afterEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, completed, inputRequired } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { type A2A, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { merged } from "./merged.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

/** Answers that the asking agents received, by question. */
type Heard = Record<string, string[]>;

/** An agent that asks its questions one after the other and then ends. */
function asking(heard: Heard, ...questions: string[]) {
  return agentOf("Asking", async function* (turn) {
    const asked = turn.history.filter(({ role }) => role === 1).length;
    const before = questions[asked - 1];
    if (before !== undefined) heard[before] = [...(heard[before] ?? []), turn.text];
    const next = questions[asked];
    if (next === undefined) yield completed(`done with ${questions.join(", ")}`);
    else yield inputRequired(next);
  });
}

/** Delegates to all agents at once. */
const front = (names: readonly string[], answer?: (text: string) => string) => ({
  ...agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
    const options = (name: string) => ({ name, ...(answer !== undefined && { answer: answer(turn.text) }) });
    const all = names.map((name) => turn.delegate(name, `do ${name}`, options(name)));
    const ended: string[] = [];
    yield* merged(all, ({ agent, state }) => ended.push(`${agent} ${TaskState[state]}`));
    yield completed(ended.toSorted().join(", "));
  }),
  recover: "restart" as const,
});

const questionsOf: Readonly<Record<string, readonly string[]>> = {
  pay: ["Pay 10,000 USD?"],
  hotel: ["Book the hotel?"],
  car: ["Which car?", "Which colour?"],
};

/** The only answer that each question should receive. */
const right = (questions: readonly string[]): Heard =>
  Object.fromEntries(questions.map((question) => [question, [`to ${question}`]]));

describe("delegations that ask at once", () => {
  it.each([[["pay", "hotel"]], [["hotel", "pay"]], [["pay", "hotel", "car"]], [["car", "hotel", "pay"]]])(
    "are asked for one after the other, and each gets the answer to its own question: %j",
    async (names) => {
      const heard: Heard = {};
      const remoteAgents: Record<string, string> = {};
      for (const name of names) {
        remoteAgents[name] = (await servers.serve(asking(heard, ...(questionsOf[name] ?? [])))).url;
      }
      const { url } = await servers.serve(front(names), { remoteAgents });
      const client = await connect(url);
      clients.push(client);
      const talk = client.conversation();
      let answer = await talk.send("go");
      const asked: string[] = [];
      while (answer.state === TaskState.INPUT_REQUIRED) {
        const question = textOf(answer.task?.status?.message ?? expect.fail("There is no question."));
        asked.push(question);
        answer = await talk.send(`to ${question}`);
      }
      expect(asked.toSorted()).toEqual(names.flatMap((name) => questionsOf[name] ?? []).toSorted());
      expect(heard).toEqual(right(asked));
      expect([answer.state, textOf(answer.task?.status?.message ?? expect.fail("No end."))]).toEqual([
        TaskState.COMPLETED,
        names
          .map((name) => `${name} COMPLETED`)
          .toSorted()
          .join(", "),
      ]);
    },
  );

  it("do not get a second submission of one form as the answer to the next", async () => {
    const color = { type: "object", properties: { color: { type: "string" } }, required: ["color"] } as const;
    const remoteAgents = {
      paint: agentOf("Paint", async function* (turn) {
        const first = yield* turn.form(color, { text: "Outside?" });
        const second = yield* turn.form(color, { text: "Inside?" });
        yield completed(`${first.color}, ${second.color}`);
      }),
    };
    const asking = agentOf("Front", async function* (turn) {
      const { text } = yield* turn.delegate("paint");
      yield completed(text);
    });
    await using test = testAgent(asking, { remoteAgents });
    const said = ({ status }: Task): string => textOf(status?.message ?? expect.fail("Nothing is said."));
    let task = await test.send("go");
    const sent = [1, 2].map(() => test.send([{ data: { color: "red" } }], { task, returnImmediately: true }));
    await Promise.all(sent);
    // The history has the first message, two questions and two answers. The second answer is not for the second
    // question.
    await expect.poll(async () => (await test.get(task)).history.length).toBe(5);
    task = await test.get(task);
    expect(said(task)).toBe("Inside?");
    expect(said(await test.send([{ data: { color: "blue" } }], { task }))).toBe("red, blue");
  });

  it("get what the author makes of the answer to their own question", async () => {
    const heard: Heard = {};
    const remoteAgents = { pay: asking(heard, "Pay?"), hotel: asking(heard, "Book?") };
    await using test = testAgent(
      front(["pay", "hotel"], (text) => `<${text}>`),
      { remoteAgents },
    );
    let task = await test.send("go");
    while (task.status?.state === TaskState.INPUT_REQUIRED) {
      task = await test.send(textOf(task.status.message ?? task), { task });
    }
    expect(heard).toEqual({ "Pay?": ["<Pay?>"], "Book?": ["<Book?>"] });
  });

  it.each(Array.from({ length: 14 }, (_, at) => at + 1))(
    "get the answers to their own questions, once each, when the process dies at call %i of a turn",
    async (nth) => {
      const heard: Heard = {};
      let calls = 0;
      let onCall = (): void => {};
      const others: A2A[] = [];
      const remote = (name: string, ...questions: string[]) => {
        const url = `http://${name}.localhost`;
        const agent = asking(heard, ...questions);
        const other = createA2A({ agent, store: memoryStore(), publicUrl: url, cardGrpc: "omit" });
        others.push(other);
        const asked: typeof fetch = (input, init) => {
          if (++calls === nth) onCall();
          return other.fetch(new Request(input, init));
        };
        return { url, fetch: asked };
      };
      const remoteAgents = { pay: remote("pay", "Pay?", "Really?"), hotel: remote("hotel", "Book?") };
      await using test = testAgent(front(Object.keys(remoteAgents)), { remoteAgents });
      let task = await test.send("go");
      const asked: string[] = [];
      while (task.status?.state === TaskState.INPUT_REQUIRED) {
        const question = textOf(task.status.message ?? task);
        expect(asked).not.toContain(question);
        asked.push(question);
        calls = 0;
        const died = new Promise<void>((resolve) => {
          onCall = () => resolve(test.crash());
        });
        // The process may die after it has stored the message and before it answers.
        const sending = test.send(`to ${question}`, { task, returnImmediately: true });
        const sent = await sending.catch((error: unknown) => {
          if (calls < nth) throw error;
          return task;
        });
        const next = async (): Promise<boolean> => {
          task = await test.get(sent).catch(() => task);
          const { state = TaskState.WORKING, message } = task.status ?? {};
          const isOpen = state === TaskState.INPUT_REQUIRED && textOf(message ?? task) !== question;
          return isOpen || state === TaskState.COMPLETED || state === TaskState.FAILED;
        };
        await expect.poll(next, { interval: 5, timeout: 10_000 }).toBe(true);
        if (calls >= nth) await died;
      }
      expect(asked.toSorted()).toEqual(["Book?", "Pay?", "Really?"]);
      expect(heard).toEqual(right(asked));
      expect(task.status?.state).toBe(TaskState.COMPLETED);
      await Promise.all(others.map((other) => other.close({ graceMs: 0 })));
    },
  );

  it("are begun once although another one asks before they have answered", async () => {
    const begun: string[] = [];
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const slow = await servers.serve(
      agentOf("Slow", async function* (turn) {
        begun.push(turn.text);
        yield completed("slow");
      }),
      { store: memoryStore() },
    );
    const late: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      // The message has arrived. Its answer is held until the other agent asks.
      if (init?.method === "POST" && begun.length === 1) await held;
      return answer;
    };
    const heard: Heard = {};
    const remoteAgents = {
      slow: { url: slow.url, fetch: late },
      ask: (await servers.serve(asking(heard, "Which?"))).url,
    };
    const { url } = await servers.serve(front(["slow", "ask"]), { remoteAgents });
    const client = await connect(url);
    clients.push(client);
    const talk = client.conversation();
    expect((await talk.send("go")).state).toBe(TaskState.INPUT_REQUIRED);
    proceed();
    const { state } = await talk.send("to Which?");
    expect([state, begun, heard]).toEqual([TaskState.COMPLETED, ["do slow"], { "Which?": ["to Which?"] }]);
  });
});
