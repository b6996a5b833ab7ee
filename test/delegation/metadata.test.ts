import { expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired, metadata, working } from "../../src/agent/event.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

/** An agent that writes each turn's number into its task's metadata, also after its question. */
const other = agentOf("Other", async function* (turn) {
  yield metadata({ step: turn.history.length });
  if (turn.history.length === 0) {
    yield inputRequired("Which?");
    return yield metadata({ asked: true });
  }
  yield working("Making it.");
  yield metadata({ done: true });
  yield artifact({ text: `made ${turn.text}` });
  yield completed();
});

const front = agentOf(
  "Front",
  async function* (turn) {
    yield metadata({ own: 1 });
    const { text, task } = yield* turn.delegate("other");
    yield completed(`${text} ${JSON.stringify(task?.metadata)}`);
  },
  { recover: "restart" },
);

it.each([false, true])(
  "a sub-task's metadata stays its own, and its question is asked once (a crash: %s)",
  async (isCrashing) => {
    await using test = testAgent(front, { remoteAgents: { other } });
    const asked = await test.send("go");
    expect([asked.status?.state, textOf(asked.status?.message)]).toEqual([TaskState.INPUT_REQUIRED, "Which?"]);
    if (isCrashing) await test.crash();
    const task = await test.send("this one", { task: asked });
    expect(textOf(task.status?.message)).toBe('made this one {"step":2,"asked":true,"done":true}');
    expect(task.metadata).toEqual({ own: 1 });
    expect(task.history.map(textOf)).toEqual(["go", "Which?", "this one", "Making it."]);
  },
);
