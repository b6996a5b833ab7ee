import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { testAgent } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

/** An agent that asks. Records the messages and the ends of its turns. */
const asking = (name: string, heard: string[]) =>
  agentOf(name, async function* (turn) {
    heard.push(`${name} ${turn.text}`);
    if (turn.history.length === 0) yield inputRequired("Which?");
    else yield artifact({ id: "a", text: name });
  });

describe("a delegation that goes to another agent when its turn runs again", () => {
  it.each([undefined, "plan"])(
    "fails by an error that names both, and neither hears of it (name: %s)",
    async (name) => {
      const heard: string[] = [];
      const errors: unknown[] = [];
      let runs = 0;
      const front = agentOf("Front", async function* (turn) {
        const options = name === undefined ? {} : { name };
        try {
          yield* turn.delegate(++runs === 1 ? "one" : "two", turn.text, options);
        } catch (error) {
          errors.push(error);
          throw error;
        }
        yield completed();
      });
      const remoteAgents = { one: asking("one", heard), two: asking("two", heard) };
      await using test = testAgent(front, { remoteAgents });
      const asked = await test.send("go");
      const task = await test.send("this", { task: asked });
      expect(task.status?.state).toBe(TaskState.FAILED);
      expect(errors).toEqual([expect.any(TypeError)]);
      expect(String(errors[0])).toMatch(new RegExp(`"${name ?? 0}".*"one" before.*now names "two".*options.name`));
      expect(heard).toEqual(["one go"]);
    },
  );
});
