import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired } from "../../src/agent/event.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

const said = ({ status }: Task): string => (status?.message === undefined ? "" : textOf(status.message));

/** An agent that answers its message. Asks first if the message is "ask". Records the messages that began tasks. */
function other() {
  const begun: string[] = [];
  const agent = agentOf("Other", async function* (turn) {
    if (turn.history.length === 0) begun.push(turn.text);
    if (turn.text === "ask") return yield inputRequired("Which?");
    yield artifact({ text: `made ${turn.text}` });
    yield completed();
  });
  return { agent, begun };
}

type Front = (turn: Turn, answers: readonly string[]) => AsyncGenerator<AgentEvent>;

/** An agent whose turns receive all messages of the user except the first one. */
const front = (execute: Front) =>
  agentOf(
    "Front",
    (turn) => {
      const before = turn.history.filter(({ role }) => role === 1).map((message) => textOf(message));
      return execute(turn, [...before, turn.text].slice(1));
    },
    { recover: "restart" },
  );

/** Sends messages one after the other. Crashes before each one except the first if `isCrashing`. */
async function talk(execute: Front, texts: readonly string[], isCrashing: boolean) {
  const { agent, begun } = other();
  await using test = testAgent(front(execute), { remoteAgents: { other: agent, another: agent } });
  let task = await test.send("go");
  for (const text of texts) {
    if (isCrashing) await test.crash();
    task = await test.send(text, { task });
  }
  return { task, begun };
}

describe.each([false, true])("a turn after a question of the author's own (a crash before: %s)", (isCrashing) => {
  it("gets of the same delegation what it gave", async () => {
    const { task, begun } = await talk(
      async function* (turn, [answer]) {
        const { text } = yield* turn.delegate("other", "weather");
        if (answer === undefined) return yield inputRequired("Book?");
        yield completed(`${text}, ${answer}`);
      },
      ["yes"],
      isCrashing,
    );
    expect([begun, said(task), task.artifacts.length]).toEqual([["weather"], "made weather, yes", 1]);
  });

  it("goes on with a delegation whose question waits meanwhile", async () => {
    const { task, begun } = await talk(
      async function* (turn, answers) {
        if (answers.at(-1) === "what?") {
          yield* turn.delegate("other", "side", { name: "side" });
          return yield inputRequired("Yes or no?");
        }
        yield* turn.delegate("other", "first");
        const { text } = yield* turn.delegate("other", "ask");
        yield completed(text);
      },
      ["what?", "what?", "yes"],
      isCrashing,
    );
    expect([begun, said(task)]).toEqual([["first", "ask", "side"], "made yes"]);
  });

  it("begins a delegation anew that says something else, or goes to another agent", async () => {
    const { task, begun } = await talk(
      async function* (turn, [city, day]) {
        if (city === undefined) {
          yield* turn.delegate("other", "ideas");
          return yield inputRequired("Where?");
        }
        if (day === undefined) {
          yield* turn.delegate("other", city);
          return yield inputRequired("When?");
        }
        const { text } = yield* turn.delegate("another", city);
        yield completed(text);
      },
      ["Rome", "today"],
      isCrashing,
    );
    expect([begun, said(task)]).toEqual([["ideas", "Rome", "Rome"], "made Rome"]);
  });
});

describe("a delegation that works when its turn ends with the author's question", () => {
  it("works on, and the next turn goes on with it", async () => {
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    let begun = 0;
    const slow = agentOf("Slow", async function* () {
      begun++;
      yield artifact({ id: "a", text: "one " });
      await held;
      yield artifact({ id: "a", text: "two", append: true });
      yield completed();
    });
    const execute: Front = async function* (turn, [answer]) {
      const work = turn.delegate("slow", "work");
      if (answer !== undefined) return yield completed((yield* work).text);
      for (let isBegun = false; !isBegun; ) {
        const event = (await work.next()).value as AgentEvent;
        yield event;
        isBegun = event.kind === "artifact";
      }
      yield inputRequired("Window or aisle?");
    };
    await using test = testAgent(front(execute), { remoteAgents: { slow } });
    const task = await test.send("go");
    expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    proceed();
    const ended = await test.send("aisle", { task });
    expect([begun, said(ended), ended.artifacts.length]).toEqual([1, "one two", 1]);
  });
});
