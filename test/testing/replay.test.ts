import { afterEach, describe, expect, it } from "vitest";
import { type Agent, artifact, completed, inputRequired } from "../../src/index.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { ExportWriter } from "../../src/task/transfer.js";
import { type AgentTest, type ReplayedTurn, testAgent, textOf } from "../../src/testing/index.js";

const closing: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

let asked = 0;
const card = { name: "Weather", description: "Tells the weather.", version: "1.0.0" };

/** An agent whose model is asked in steps, and which has a fault in what it makes of the answer. */
function weather(tell: (answer: string) => string, steps = ["place", "model"]): Agent {
  return {
    card,
    async *execute(turn) {
      if (turn.history.length === 0) return yield inputRequired("Where?");
      const answers: string[] = [];
      for (const name of steps) {
        answers.push(
          await turn.step(name, async () => {
            asked++;
            return `${name} of ${turn.text}`;
          }),
        );
      }
      yield artifact({ text: tell(answers.join(", ")) });
      yield completed("Done.");
    },
  };
}

/** Serves an agent to two messages, as a server would, and exports its task. */
async function recorded(agent: Agent): Promise<string> {
  const store: TaskStore = memoryStore();
  const served = createA2A({ agent, store, publicUrl: "http://agent.localhost", cardGrpc: "omit", audit: false });
  closing.push(served);
  let taskId = "";
  for (const text of ["Hello", "Oslo"]) {
    const message = { messageId: text, role: "ROLE_USER", parts: [{ text }], ...(taskId !== "" && { taskId }) };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message });
    const request = new Request("http://agent.localhost/message:send", { method: "POST", headers, body });
    taskId = ((await (await served.fetch(request)).json()) as { task: { id: string } }).task.id;
  }
  const head = await store.head({ taskId });
  const writer = new ExportWriter();
  const entries = await store.read({ taskId, after: 0, limit: 1_000 });
  return [
    writer.header(head ?? { taskId, tenant: "", owner: "" }, new Date()),
    ...entries.map((each) => writer.entry(each)),
    writer.end(),
  ].join("");
}

function underTest(agent: Agent): AgentTest {
  const t = testAgent(agent);
  closing.push(t);
  return t;
}

/** Texts of the artifacts of a turn, before and now. */
function textsOf({ recorded: before, replayed }: ReplayedTurn): string[][] {
  return [before, replayed].map((events) =>
    events.flatMap(({ payload }) =>
      payload.case === "artifactUpdate" && payload.value.artifact ? [textOf(payload.value.artifact)] : [],
    ),
  );
}

describe("AgentTest.replay()", () => {
  it("gives the agent its messages and the results of its steps, and returns its events beside the recorded ones", async () => {
    const lines = await recorded(weather((answer) => answer.toUpperCase()));
    expect(asked).toBe(2);
    const [first, second, ...more] = await underTest(weather((answer) => answer)).replay(lines);
    expect(asked).toBe(2);
    expect(more).toEqual([]);
    expect(first?.replayed.map(({ payload }) => payload.case)).toEqual(
      first?.recorded.map(({ payload }) => payload.case),
    );
    expect(textOf(first?.task.status?.message ?? { parts: [] })).toBe("Where?");
    expect(second === undefined ? [] : textsOf(second)).toEqual([
      ["PLACE OF OSLO, MODEL OF OSLO"],
      ["place of Oslo, model of Oslo"],
    ]);
    expect(second?.replayed.at(-1)?.payload.case).toBe("statusUpdate");
  });

  it("runs a step without a stored result", async () => {
    const lines = await recorded(weather((answer) => answer));
    const before = asked;
    const [, second] = await underTest(weather((answer) => answer, ["place", "model", "new"])).replay(lines);
    expect(asked).toBe(before + 1);
    expect(second === undefined ? [] : textsOf(second)[1]).toEqual(["place of Oslo, model of Oslo, new of Oslo"]);
  });

  it("rejects when the agent asks for steps in another order, and for a part of an export", async () => {
    const lines = await recorded(weather((answer) => answer));
    const other = underTest(weather((answer) => answer, ["model", "place"]));
    await expect(other.replay(lines)).rejects.toMatchObject({ name: "StepOrderError" });
    await expect(other.replay(lines.split("\n").slice(0, -2).join("\n"))).rejects.toMatchObject({
      name: "TransferError",
    });
  });
});
