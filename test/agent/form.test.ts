import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { afterEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { FormDeclined } from "../../src/agent/errors.js";
import { type AgentEvent, artifact, completed, inputRequired } from "../../src/agent/event.js";
import type { FormSchema } from "../../src/agent/schema.js";
import type { Logger } from "../../src/core/log.js";
import { silentLogger } from "../../src/core/log.js";
import { type AgentTest, testAgent } from "../../src/testing/index.js";
import { jsonOf } from "../../src/wire/json-value.js";

const tests: AgentTest[] = [];
afterEach(async () => {
  await Promise.all(tests.splice(0).map((test) => test.close()));
});

type Execute = (turn: Turn) => AsyncIterable<AgentEvent>;

function agentOf(execute: Execute): Agent {
  return { card: { name: "Asking", description: "Asks.", version: "1.0.0" }, recover: "restart", execute };
}

function test(execute: Execute, options: Parameters<typeof testAgent>[1] = {}): AgentTest {
  const begun = testAgent(agentOf(execute), options);
  tests.push(begun);
  return begun;
}

const stateOf = (task: Task): string | undefined => TaskState[task.status?.state ?? 0];

/** The data part of a task's question, and its text. */
function asked(task: Task): { text: string; mediaType: string; form: JsonObject } {
  expect(stateOf(task)).toBe("INPUT_REQUIRED");
  const [said, form] = task.status?.message?.parts ?? [];
  if (form?.content.case !== "data") throw new Error("The question has no form.");
  return {
    text: String(said?.content.value),
    mediaType: form.mediaType,
    form: jsonOf(form.content.value) as JsonObject,
  };
}

function dataOf(task: Task): JsonValue[] {
  return task.artifacts.flatMap(({ parts }) =>
    parts.flatMap(({ content }) => (content.case === "data" ? [jsonOf(content.value)] : [])),
  );
}

const zodExpense = z.object({ amount: z.number().positive(), purpose: z.string(), date: z.iso.date().optional() });
const jsonExpense = {
  type: "object",
  properties: {
    amount: { type: "number", exclusiveMinimum: 0 },
    purpose: { type: "string" },
    date: { type: "string", format: "date" },
  },
  required: ["amount", "purpose"],
} as const;

const schemas: Readonly<Record<string, FormSchema>> = {
  zod: zodExpense,
  valibot: toStandardJsonSchema(
    v.object({
      amount: v.pipe(v.number(), v.gtValue(0)),
      purpose: v.string(),
      date: v.optional(v.pipe(v.string(), v.isoDate())),
    }),
  ),
  arktype: type({ amount: "number > 0", purpose: "string", "date?": "string.date.iso" }),
  "JSON Schema": jsonExpense,
  "JSON Schema of draft 07": { $schema: "http://json-schema.org/draft-07/schema#", ...jsonExpense },
};

describe.each(Object.entries(schemas))("turn.form() with a schema of %s", (_name, schema) => {
  const expense = (): AgentTest =>
    test(async function* (turn) {
      const answer = yield* turn.form(schema, { text: "What for?", data: { purpose: "Lunch", unknown: 1 } });
      yield artifact({ data: answer as JsonValue });
    });

  it("asks by a text and a JSON Schema", async () => {
    const { text, mediaType, form } = asked(await expense().send("go"));
    expect(text).toBe("What for?");
    expect(mediaType).toBe("application/vnd.parley.form+json");
    expect(form).toEqual({
      type: "form",
      id: "form",
      form: expect.objectContaining({ type: "object" }),
      form_data: { purpose: "Lunch" },
      instructions: "What for?",
    });
    const { properties, required } = form.form as JsonObject;
    expect(properties).toMatchObject({ amount: { type: "number" }, purpose: { type: "string" } });
    expect((required as string[]).toSorted()).toEqual(["amount", "purpose"]);
  });

  it("returns a valid answer, as data or as JSON text", async () => {
    for (const said of [[{ data: { amount: 20, purpose: "Taxi" } }], '{ "amount": 20, "purpose": "Taxi" }']) {
      const agent = expense();
      const task = await agent.send("go");
      const ended = await agent.send(said, { task });
      expect(stateOf(ended)).toBe("COMPLETED");
      expect(dataOf(ended)).toEqual([{ amount: 20, purpose: "Taxi" }]);
    }
  });

  it("asks again with the violations and what was filled in", async () => {
    const agent = expense();
    const task = await agent.send("go");
    const { text, form } = asked(await agent.send([{ data: { amount: -1, purpose: "Taxi" } }], { task }));
    expect(form.form_data).toEqual({ amount: -1, purpose: "Taxi" });
    expect(form.violations).toEqual([{ field: "amount", description: expect.any(String) }]);
    expect(text).toMatch(/^What for\?\namount: ./);
    const missing = asked(await agent.send([{ data: { amount: 1 } }], { task })).form.violations;
    expect(missing).toEqual([{ field: "purpose", description: expect.any(String) }]);
    expect(dataOf(await agent.send([{ data: { amount: 1, purpose: "x" } }], { task }))).toHaveLength(1);
  });

  it("takes texts of clients that render each field as a text", async () => {
    const agent = expense();
    const task = await agent.send("go");
    const ended = await agent.send([{ data: { amount: "20.50", purpose: "20", date: "" } }], { task });
    expect(dataOf(ended)).toEqual([{ amount: 20.5, purpose: "20" }]);
  });
});

describe("turn.form()", () => {
  const color = z.object({ color: z.enum(["red", "blue"]) });
  const size = z.object({ size: z.int() });

  it("ends the turn at the question, and runs what the agent left to clean up", async () => {
    const seen: string[] = [];
    const agent = test(async function* (turn) {
      try {
        yield* turn.form(color, { text: "Which?" });
        seen.push("answered");
      } catch {
        seen.push("caught");
      } finally {
        seen.push("cleaned up");
      }
    });
    const task = await agent.send("go");
    await expect.poll(() => seen).toEqual(["cleaned up"]);
    expect(stateOf(await agent.send([{ data: { color: "red" } }], { task }))).toBe("COMPLETED");
    expect(seen).toEqual(["cleaned up", "answered", "cleaned up"]);
  });

  it("gives each form its own answer, and asks no form twice", async () => {
    const agent = test(async function* (turn) {
      const first = yield* turn.form(color, { text: "Which?" });
      const second = yield* turn.form(size, { text: "How large?" });
      const third = yield* turn.form(color, { text: "Which inside?", name: "inside" });
      yield artifact({ data: [first.color, second.size, third.color] });
    });
    const task = await agent.send("go");
    expect(asked(task).form.id).toBe("form");
    expect(asked(await agent.send([{ data: { color: "red" } }], { task })).form.id).toBe("form 2");
    await agent.restart();
    expect(asked(await agent.send([{ data: { size: 3 } }], { task })).form.id).toBe("inside");
    expect(dataOf(await agent.send([{ data: { color: "blue" } }], { task }))).toEqual([["red", 3, "blue"]]);
  });

  it("loses no answer of forms that are asked for at the same time", async () => {
    const agent = test(async function* (turn) {
      const fill = async (name: string): Promise<string> => {
        const form = turn.form(color, { text: `Which ${name}?`, name });
        for (let next = await form.next(); ; next = await form.next()) {
          if (next.done) return next.value.color;
          await turn.emit(next.value);
        }
      };
      yield artifact({ data: await Promise.all(["roof", "door", "wall"].map(fill)) });
    });
    const task = await agent.send("go");
    expect(asked(task).form.id).toBe("roof");
    expect(asked(await agent.send([{ data: { color: "red" } }], { task })).form.id).toBe("door");
    expect(asked(await agent.send([{ data: { color: "blue" } }], { task })).form.id).toBe("wall");
    expect(dataOf(await agent.send([{ data: { color: "red" } }], { task }))).toEqual([["red", "blue", "red"]]);
  });

  it("does not take a second submission of one form for the answer to the next", async () => {
    const agent = test(async function* (turn) {
      const first = yield* turn.form(color, { text: "Which?" });
      const second = yield* turn.form(color, { text: "Which inside?" });
      yield artifact({ data: [first.color, second.color] });
    });
    const task = await agent.send("go");
    const sent = [1, 2].map(() => agent.send([{ data: { color: "red" } }], { task, returnImmediately: true }));
    await Promise.all(sent);
    // The history has the first message, two questions and two answers. The second answer is not for the second
    // question.
    await expect.poll(async () => (await agent.get(task)).history.length).toBe(5);
    expect(asked(await agent.get(task)).form.id).toBe("form 2");
    expect(dataOf(await agent.send([{ data: { color: "blue" } }], { task }))).toEqual([["red", "blue"]]);
  });

  it("does not take an answer that names another form", async () => {
    const agent = test(async function* (turn) {
      const first = yield* turn.form(color, { text: "Which?" });
      const second = yield* turn.form(color, { text: "Which inside?" });
      yield artifact({ data: [first.color, second.color] });
    });
    const answer = (value: string, form: JsonValue) => [{ data: { color: value }, metadata: { form } }];
    const task = await agent.send("go");
    expect(asked(await agent.send(answer("red", "form"), { task })).form.id).toBe("form 2");
    const again = asked(await agent.send(answer("red", "form"), { task })).form;
    expect(again).toMatchObject({ id: "form 2", form_data: {} });
    expect(again).not.toHaveProperty("violations");
    expect(dataOf(await agent.send(answer("blue", "form 2"), { task }))).toEqual([["red", "blue"]]);
  });

  it("does not take a message from before the question for its answer", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const agent = test(async function* (turn) {
      await gate;
      const { color: answer } = yield* turn.form(color, { text: "Which?" });
      yield artifact({ data: answer });
    });
    const task = await agent.send("go", { returnImmediately: true });
    await agent.send([{ data: { color: "red" } }], { task, returnImmediately: true });
    open();
    await expect.poll(async () => (await agent.get(task)).history.length).toBe(3);
    expect(asked(await agent.settled(task)).form).not.toHaveProperty("violations");
    expect(dataOf(await agent.send([{ data: { color: "blue" } }], { task }))).toEqual(["blue"]);
  });

  it("returns the stored answer in a turn that runs again after a crash", async () => {
    let turns = 0;
    const agent = test(async function* (turn) {
      const answer = yield* turn.form(color, { text: "Which?" });
      if (++turns === 1) await new Promise(() => {});
      yield artifact({ data: answer });
    });
    const task = await agent.send("go");
    await agent.send([{ data: { color: "red" } }], { task, returnImmediately: true });
    await expect.poll(() => turns).toBe(1);
    await agent.crash();
    await expect.poll(async () => dataOf(await agent.get(task))).toEqual([{ color: "red" }]);
  });

  it("has the steps of read() in their order when the turn runs again after a crash", async () => {
    let turns = 0;
    let reads = 0;
    const agent = test(async function* (turn) {
      const read = () => turn.step("read", () => ({ color: "blue", read: ++reads }));
      const answer = yield* turn.form(color, { text: "Which?", read });
      const after = await turn.step("after", () => `after ${answer.color}`);
      if (++turns === 1) await new Promise(() => {});
      yield artifact({ data: after });
    });
    const task = await agent.send("go");
    await agent.send("the blue one", { task, returnImmediately: true });
    await expect.poll(() => turns).toBe(1);
    await agent.crash();
    await expect.poll(async () => dataOf(await agent.get(task))).toEqual(["after blue"]);
    expect(reads).toBe(1);
  });

  it("returns outputs that are not JSON in later turns too", async () => {
    const day = z.object({ day: z.iso.date().transform((text) => new Date(text)) });
    const agent = test(async function* (turn) {
      const { day: date } = yield* turn.form(day, { text: "When?" });
      yield* turn.form(color, { text: "Which?" });
      yield completed(`${date.getUTCFullYear()}`);
    });
    const task = await agent.send("go");
    await agent.send([{ data: { day: "2025-06-01" } }], { task });
    const ended = await agent.send([{ data: { color: "red" } }], { task });
    expect(ended.status?.message?.parts[0]?.content.value).toBe("2025");
  });

  it("asks again after a text that is no answer, unless the agent reads it", async () => {
    const silent = test(async function* (turn) {
      yield* turn.form(color, { text: "Which?" });
    });
    const task = await silent.send("go");
    const { form } = asked(await silent.send("the blue one", { task }));
    expect(form.violations).toEqual([{ field: "", description: "Fill in the form, or answer with JSON." }]);
    const reading = test(async function* (turn) {
      const read = (text: string) => (text.includes("blue") ? { color: "blue" } : undefined);
      yield artifact({ data: yield* turn.form(color, { text: "Which?", read }) });
    });
    const other = await reading.send("go");
    expect(asked(await reading.send("the green one", { task: other })).form.violations).toHaveLength(1);
    expect(dataOf(await reading.send("the blue one", { task: other }))).toEqual([{ color: "blue" }]);
  });

  it.each([["rejected form entry"], [[{ data: { type: "form", declined: true } }]]])(
    "throws FormDeclined when the user declines with %j, in later turns too",
    async (said) => {
      const agent = test(async function* (turn) {
        try {
          yield* turn.form(color, { text: "Which?" });
        } catch (error) {
          if (!(error instanceof FormDeclined)) throw error;
        }
        yield* turn.form(size, { text: "How large?" });
        yield* turn.form(color, { text: "Which inside?" });
      });
      const task = await agent.send("go");
      expect(asked(await agent.send(said, { task })).form.id).toBe("form 2");
      expect(asked(await agent.send([{ data: { size: 1 } }], { task })).form.id).toBe("form 3");
      const ended = await agent.send(said, { task });
      expect(stateOf(ended)).toBe("FAILED");
      expect(ended.status?.message?.parts[0]?.content.value).toBe("The form was declined.");
    },
  );

  it("repeats nothing of an answer that is too large or too deep", async () => {
    const any = { type: "object", properties: { note: {} } };
    const agent = test(async function* (turn) {
      yield* turn.form(any, { text: "What?" });
    });
    const task = await agent.send("go");
    let deep: JsonValue = "deep";
    for (let level = 0; level < 20; level++) deep = [deep];
    for (const note of ["x".repeat(70_000), deep, Array.from({ length: 200_000 }, () => 1)]) {
      const { form } = asked(await agent.send([{ data: { note } }], { task }));
      expect(form.form_data).toEqual({});
      expect(form.violations).toEqual([{ field: "", description: "The answer is too large." }]);
    }
    expect(stateOf(await agent.send([{ data: { note: "x" } }], { task }))).toBe("COMPLETED");
  });

  it("lists at most 50 violations, with 500 characters each", async () => {
    const agent = test(async function* (turn) {
      yield* turn.form({ type: "array", items: { enum: ["x".repeat(1_000)] } }, { text: "What?" });
    });
    const task = await agent.send("go");
    const { form } = asked(await agent.send([{ data: Array.from({ length: 100 }, () => "y") }], { task }));
    expect(form.violations).toHaveLength(50);
    expect((form.violations as { description: string }[])[0]?.description).toHaveLength(500);
  });

  it("fails the task when the program changed a form so that its stored answer does not fit", async () => {
    let schema: FormSchema = { properties: { n: { type: "number" } }, required: ["n"] };
    const logged: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (facts: unknown) => void logged.push(facts) };
    const agent = test(
      async function* (turn) {
        yield* turn.form(schema, { text: "How many?" });
        yield* turn.form(color, { text: "Which?" });
      },
      { logger },
    );
    const task = await agent.send("go");
    await agent.send([{ data: { n: 1 } }], { task });
    schema = { properties: { n: { type: "number", minimum: 2 } } };
    expect(stateOf(await agent.send([{ data: { color: "red" } }], { task }))).toBe("FAILED");
    expect(String((logged[0] as { err: Error }).err)).toMatch(
      /stored answer of the form "form" does not match its current schema: n: must be >= 2/,
    );
  });

  const bad: readonly (readonly [string, FormSchema, RegExp])[] = [
    ["without JSON Schema", v.object({ n: v.number() }), /\(valibot\) has no JSON Schema .* `toStandardJsonSchema`/],
    ["that its library cannot convert", z.object({ day: z.date() }), /Date cannot be represented/],
    ["that is no JSON Schema", { type: "nothing" }, /schema is invalid/],
    ["that is no object", "text" as unknown as FormSchema, /takes a Standard Schema or a JSON Schema, not a text/],
  ];
  it.each(bad)("fails the task for a schema %s, and says why in the log", async (_what, schema, why) => {
    const logged: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (facts: unknown) => void logged.push(facts) };
    const agent = test(
      async function* (turn) {
        yield* turn.form(schema, { text: "What?" });
      },
      { logger },
    );
    expect(stateOf(await agent.send("go"))).toBe("FAILED");
    expect(String((logged[0] as { err: Error }).err)).toMatch(why);
  });

  it("works for an agent that decides between task and message", async () => {
    const agent = testAgent({
      ...agentOf(async function* (turn) {
        yield artifact({ data: yield* turn.form(color, { text: "Which?" }) });
      }),
      responds: "either",
    });
    tests.push(agent);
    const task = await agent.send("go");
    expect(dataOf(await agent.send([{ data: { color: "red" } }], { task }))).toEqual([{ color: "red" }]);
  });

  it("does not take the answer to another agent's form for its own", async () => {
    const other = agentOf(async function* (turn) {
      const { color: answer } = yield* turn.form(color, { text: "Which, says the other?" });
      yield completed(`The other heard ${answer}.`);
    });
    const agent = test(
      async function* (turn) {
        const { task } = yield* turn.delegate("other");
        const { color: answer } = yield* turn.form(color, { text: "Which?" });
        yield artifact({ data: [String(task?.status?.message?.parts[0]?.content.value), answer] });
      },
      { remoteAgents: { other } },
    );
    const task = await agent.send("go");
    const relayed = asked(task);
    expect(relayed.mediaType).toBe("application/vnd.parley.form+json");
    expect(relayed.form).toMatchObject({ type: "form", instructions: "Which, says the other?" });
    const again = asked(await agent.send([{ data: { color: "green" } }], { task }));
    expect(again.form).toMatchObject({ form_data: { color: "green" }, violations: [{ field: "color" }] });
    const own = asked(await agent.send([{ data: { color: "red" } }], { task }));
    expect(own.form).toMatchObject({ id: "form", instructions: "Which?" });
    expect(own.form).not.toHaveProperty("violations");
    const ended = await agent.send([{ data: { color: "blue" } }], { task });
    expect(dataOf(ended)).toEqual([["The other heard red.", "blue"]]);
  });
});

describe("inputRequired() with a form", () => {
  it("asks by a text and a data part", async () => {
    const agent = test(async function* (turn) {
      if (turn.data.length === 0)
        yield inputRequired({ text: "What for?", form: zodExpense, data: { purpose: "Lunch" } });
      else yield artifact({ data: turn.data[0] ?? null });
    });
    const task = await agent.send("go");
    const { text, form } = asked(task);
    expect(text).toBe("What for?");
    expect(form).toMatchObject({ type: "form", form: { type: "object" }, form_data: { purpose: "Lunch" } });
    expect(form).not.toHaveProperty("id");
    expect(dataOf(await agent.send([{ data: { amount: 1 } }], { task }))).toEqual([{ amount: 1 }]);
  });
});
