import { afterEach, describe, expect, it } from "vitest";
import { type Agent, artifact, completed, inputRequired, TaskState, working } from "../../src/index.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { type AgentTest, type ReplayedTurn, testAgent, textOf } from "../../src/testing/index.js";
import { bearer, operators, tokens } from "../admin/world.js";

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

/**
 * Serves an agent to two messages, as a server would, and exports its task as an operator would.
 * @param release lets the agent go on after both messages; undefined for one that answers each
 */
async function recorded(agent: Agent, release?: () => void): Promise<string> {
  const publicUrl = "http://agent.localhost";
  const admin = { tokens: operators };
  const served = createA2A({ agent, store: memoryStore(), publicUrl, cardGrpc: "omit", audit: false, admin });
  closing.push(served);
  let taskId = "";
  for (const text of ["Hello", "Oslo"]) {
    const message = { messageId: text, role: "ROLE_USER", parts: [{ text }], ...(taskId !== "" && { taskId }) };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message, configuration: { returnImmediately: release !== undefined } });
    const request = new Request(`${publicUrl}/message:send`, { method: "POST", headers, body });
    taskId = ((await (await served.fetch(request)).json()) as { task: { id: string } }).task.id;
  }
  release?.();
  const exporting = new Request(`${publicUrl}/v1/tasks/${taskId}:export`, { headers: bearer(tokens.read) });
  const pieces = (await (await served.admin?.fetch(exporting))?.text()) ?? "";
  return [...pieces.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data).lines as string).join("");
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

  it("runs a failed task, again with its fault, and to its end with an agent without it", async () => {
    const fault = (): never => {
      throw new Error("The fault.");
    };
    const lines = await recorded(weather(fault));
    const before = asked;
    const statesOf = (turns: readonly ReplayedTurn[]) =>
      turns.map(({ recorded: were, task }) => {
        const last = were.at(-1)?.payload;
        return [last?.case === "statusUpdate" ? last.value.status?.state : undefined, task.status?.state];
      });
    const asks = [TaskState.INPUT_REQUIRED, TaskState.INPUT_REQUIRED];
    const failing = await underTest(weather(fault)).replay(lines);
    expect(statesOf(failing)).toEqual([asks, [TaskState.FAILED, TaskState.FAILED]]);
    const mended = await underTest(weather((answer) => answer)).replay(lines);
    expect(statesOf(mended)).toEqual([asks, [TaskState.FAILED, TaskState.COMPLETED]]);
    expect(mended[1] && textsOf(mended[1])).toEqual([[], ["place of Oslo, model of Oslo"]]);
    expect(asked).toBe(before);
  });

  it("runs a step without a stored result", async () => {
    const lines = await recorded(weather((answer) => answer));
    const before = asked;
    const [, second] = await underTest(weather((answer) => answer, ["place", "model", "new"])).replay(lines);
    expect(asked).toBe(before + 1);
    expect(second === undefined ? [] : textsOf(second)[1]).toEqual(["place of Oslo, model of Oslo, new of Oslo"]);
  });

  it("rejects a task with a message that was sent while the agent worked", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: Agent = {
      card,
      async *execute() {
        yield working();
        await released;
      },
    };
    const lines = await recorded(slow, release);
    await expect(underTest(slow).replay(lines)).rejects.toThrow("came while the agent worked");
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
