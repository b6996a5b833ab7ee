import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import { dataOf } from "../../src/task/plain.js";
import { type AgentTest, testAgent } from "../../src/testing/index.js";

const FORMS = 3;

/** Accepts an answer to any question, so that the result shows an answer that reached the wrong form. */
const schema = {
  type: "object",
  properties: { question: { type: "string" }, value: { type: "integer" } },
  required: ["question", "value"],
} as const;

const agent: Agent = {
  card: { name: "Asking", description: "Asks.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn) {
    const answers: JsonValue[] = [];
    for (let n = 1; n <= FORMS; n++) {
      const { question } = yield* turn.form(schema, { text: `Question ${n}?` });
      answers.push(question);
      await turn.step("checked", () => question);
    }
    // An artifact with this id is replaced when the turn runs again or gets another message.
    yield artifact({ id: "answers", data: answers });
  },
};

/** A user's next action. Several messages may be in progress at the same time. */
type Deed = "answer" | "answer twice" | "repeat" | "wrong" | "text" | "crash" | "restart";

const isCrash = (deed: Deed): boolean => deed === "crash" || deed === "restart";

/** A turn is restarted at most three times. */
const deeds = fc
  .array(fc.constantFrom<Deed>("answer", "answer twice", "repeat", "wrong", "text", "crash", "restart"), {
    maxLength: 12,
  })
  .filter((all) => all.filter(isCrash).length <= 3);

const idsOf = Array.from({ length: FORMS }, (_, at) => (at === 0 ? "form" : `form ${at + 1}`));

/** The form that a task asks for, as its client sees it. */
function formOf(task: Task): string | undefined {
  if (task.status?.state !== TaskState.INPUT_REQUIRED) return undefined;
  const [form] = dataOf(task.status.message);
  return (form as { readonly id?: string } | undefined)?.id;
}

/** A client whose answers name the form that they answer. */
class User {
  readonly #test: AgentTest;
  #task: Task;
  #last: { data: JsonValue; metadata: JsonObject } | undefined;

  constructor(test: AgentTest, task: Task) {
    this.#test = test;
    this.#task = task;
  }

  async #send(content: Parameters<AgentTest["send"]>[0]): Promise<void> {
    try {
      await this.#test.send(content, { task: this.#task, returnImmediately: true });
    } catch {
      // The task has ended.
    }
  }

  async #answer(value: JsonValue): Promise<void> {
    const form = formOf(await this.#test.get(this.#task));
    if (form === undefined) return;
    this.#last = { data: { question: form, value }, metadata: { form } };
    await this.#send([this.#last]);
  }

  async does(deed: Deed): Promise<void> {
    if (deed === "answer") await this.#answer(1);
    if (deed === "wrong") await this.#answer("none");
    if (deed === "text") await this.#send("Hm.");
    if (deed === "answer twice") await Promise.all([this.#answer(1), this.#answer(2)]);
    if (deed === "repeat" && this.#last !== undefined) await this.#send([this.#last]);
    if (deed === "crash") await this.#test.crash();
    if (deed === "restart") await this.#test.restart();
  }

  /** Answers until the task has ended. */
  async end(): Promise<Task> {
    await expect
      .poll(
        async () => {
          this.#task = await this.#test.get(this.#task);
          if (this.#task.status?.state === TaskState.COMPLETED) return true;
          await this.#answer(3);
          return false;
        },
        { timeout: 20_000, interval: 5 },
      )
      .toBe(true);
    return this.#task;
  }
}

describe("forms of a task", () => {
  it("get their own answers, whatever is sent, repeated and interrupted", async () => {
    await fc.assert(
      fc.asyncProperty(deeds, async (all) => {
        const test = testAgent(agent);
        try {
          const user = new User(test, await test.send("go"));
          for (const deed of all) await user.does(deed);
          const ended = await user.end();
          expect(dataOf(ended)).toEqual([idsOf]);
        } finally {
          await test.close();
        }
      }),
      { numRuns: 30 },
    );
  }, 60_000);
});
