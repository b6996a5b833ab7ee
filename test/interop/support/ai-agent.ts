import { jsonSchema, type ToolSet, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { Role, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../../src/agent/agent.js";
import { artifact, inputRequired, working } from "../../../src/agent/event.js";
import { type AIAgentOptions, aiAgent, askUser } from "../../../src/ai/index.js";
import { filesOf } from "../../../src/task/plain.js";
import { type AgentTest, type AgentTestOptions, testAgent, textOf } from "../../../src/testing/index.js";
import { Gates } from "../../support/gates.js";
import { Spoken, say } from "../../version/v0.1/server.js";
import { type Asked, linesOf, type Scripted, scriptedModel } from "./scripted-model.js";

const card = {
  name: "Helper",
  description: "Helps.",
  version: "1.0.0",
  defaultInputModes: ["text/plain", "image/png"],
};
const anyObject = jsonSchema<Record<string, string>>({ type: "object" });
const bytes = new Uint8Array([1, 2, 3]);

let served: AgentTest | undefined;
afterEach(() => served?.close());

/** Serves an agent whose model answers with a function. */
function serve(
  answer: (asked: Asked) => Scripted | Promise<Scripted>,
  options: Partial<AIAgentOptions> = {},
  more: AgentTestOptions = {},
): { readonly agent: AgentTest; readonly asked: Asked[] } {
  const { model, asked } = scriptedModel(answer);
  served = testAgent(aiAgent({ card, model, ...options }), more);
  return { agent: served, asked };
}

/** Answers with the given answers in order. */
const inOrder =
  (...answers: readonly Scripted[]) =>
  ({ number }: Asked): Scripted =>
    answers[number - 1] ?? { text: ["?"] };

const stateOf = (task: Task): TaskState | undefined => task.status?.state;
const said = (task: Task): string[] =>
  [...task.history, ...(task.status?.message ? [task.status.message] : [])].map(
    (message) => `${message.role === Role.USER ? "user" : "agent"}: ${textOf(message)}`,
  );

/** A tool that answers with its input. */
const search: ToolSet = {
  search: tool({ description: "Searches.", inputSchema: anyObject, execute: async ({ q }) => `found ${q}` }),
};

describe("aiAgent()", () => {
  it("streams the model's text as an artifact and completes the task", async () => {
    const { agent, asked } = serve(inOrder({ text: ["Hel", "lo."] }), { system: "Be kind." });
    const task = await agent.send("Hi.");
    expect(stateOf(task)).toBe(TaskState.COMPLETED);
    expect(task.artifacts).toMatchObject([{ artifactId: "answer", name: "answer" }]);
    expect(textOf(task)).toBe("Hello.");
    expect(linesOf(asked[0]?.prompt ?? [])).toEqual(["system: Be kind.", "user: Hi."]);
  });

  it("calls tools and gives the model their results", async () => {
    const { agent, asked } = serve(
      inOrder(
        {
          text: ["Let me see."],
          calls: [
            { name: "search", input: { q: "a" } },
            { name: "search", input: { q: "b" } },
          ],
        },
        { text: ["Done."] },
      ),
      { tools: search, toolCalls: true },
    );
    const task = await agent.send("Hi.");
    expect(textOf(task)).toBe("Let me see.\n\nDone.");
    expect(asked[0]?.tools).toEqual(["search"]);
    expect(linesOf(asked[1]?.prompt ?? [])).toEqual([
      "user: Hi.",
      "assistant: Let me see.",
      'assistant: search({"q":"a"})',
      'assistant: search({"q":"b"})',
      "tool: search=found a",
      "tool: search=found b",
    ]);
    expect(said(task)).toEqual(["user: Hi.", "agent: Calling search.", "agent: Calling search."]);
  });

  it("gives the model the errors of its calls and of tools", async () => {
    const tools: ToolSet = {
      search: tool({
        inputSchema: anyObject,
        execute: (): string => {
          throw new Error("no network");
        },
      }),
      large: tool({ inputSchema: anyObject, execute: () => "x".repeat(300_000) }),
    };
    const { agent, asked } = serve(
      inOrder(
        { calls: [{ name: "search", input: {} }] },
        { calls: [{ name: "nothing", input: {} }] },
        { calls: [{ name: "large", input: {} }] },
        { text: ["Sorry."] },
      ),
      { tools },
    );
    expect(textOf(await agent.send("Hi."))).toBe("Sorry.");
    const results = linesOf(asked[3]?.prompt ?? []).filter((line) => line.startsWith("tool:"));
    expect(results).toEqual([
      expect.stringContaining("no network"),
      expect.stringContaining("nothing"),
      expect.stringContaining("The result is too large: 300"),
    ]);
  });

  it("has no tool of a name that every object has", async () => {
    const names = ["constructor", "toString", "__proto__"];
    const calls = names.map((name) => ({ name, input: {} }));
    const { agent, asked } = serve(inOrder({ calls }, { text: ["Sorry."] }), { tools: search });
    const task = await agent.send("Hi.");
    expect(stateOf(task)).toBe(TaskState.COMPLETED);
    expect(linesOf(asked[1]?.prompt ?? []).filter((line) => line.startsWith("tool:"))).toHaveLength(3);
  });

  it("remembers the conversation", async () => {
    const { agent, asked } = serve(({ number }) => ({ text: [`Answer ${number}.`] }));
    const { contextId } = await agent.send("One.");
    await agent.send("Two.", { contextId });
    await agent.send("Elsewhere.");
    expect(linesOf(asked[1]?.prompt ?? [])).toEqual(["user: One.", "assistant: Answer 1.", "user: Two."]);
    expect(linesOf(asked[2]?.prompt ?? [])).toEqual(["user: Elsewhere."]);
  });

  it("forgets the conversation with memory: false", async () => {
    const { agent, asked } = serve(({ number }) => ({ text: [`Answer ${number}.`] }), { memory: false });
    const { contextId } = await agent.send("One.");
    await agent.send("Two.", { contextId });
    expect(linesOf(asked[1]?.prompt ?? [])).toEqual(["user: Two."]);
  });

  it("asks the user by a tool without execute, and goes on with the answer without asking the model again", async () => {
    const { agent, asked } = serve(
      inOrder(
        { calls: [{ name: "search", input: { q: "a" } }] },
        { text: ["Hm."], calls: [{ name: "ask", input: { question: "Which day?" } }] },
        { calls: [{ name: "ask", input: { question: "Which city?" } }] },
        { text: ["Sunny."] },
      ),
      { tools: { ...search, ask: askUser() } },
    );
    const first = await agent.send("Weather?");
    expect(stateOf(first)).toBe(TaskState.INPUT_REQUIRED);
    expect(said(first).at(-1)).toBe("agent: Which day?");
    const second = await agent.send("Monday", { task: first });
    expect(said(second).at(-1)).toBe("agent: Which city?");
    const third = await agent.send("Rome", { task: first });
    expect(stateOf(third)).toBe(TaskState.COMPLETED);
    expect(third.artifacts.map((each) => [each.artifactId, textOf(each)])).toEqual([
      ["answer", "Hm."],
      ["answer-3", "Sunny."],
    ]);
    expect(asked).toHaveLength(4);
    expect(linesOf(asked[3]?.prompt ?? []).slice(1)).toEqual([
      'assistant: search({"q":"a"})',
      "tool: search=found a",
      "assistant: Hm.",
      'assistant: ask({"question":"Which day?"})',
      "tool: ask=Monday",
      'assistant: ask({"question":"Which city?"})',
      "tool: ask=Rome",
    ]);
  });

  it("asks one question after the other if the model asks two at once, and gives it the files of answers", async () => {
    const { agent, asked } = serve(
      inOrder(
        {
          calls: [
            { name: "ask", input: { question: "A?" } },
            { name: "search", input: { q: "a" } },
            { name: "ask", input: { question: "B?" } },
          ],
        },
        { text: ["Done."] },
      ),
      { tools: { ...search, ask: askUser() } },
    );
    const first = await agent.send("Hi.");
    expect(said(first).at(-1)).toBe("agent: A?");
    expect(said(await agent.send("1", { task: first })).at(-1)).toBe("agent: B?");
    await agent.send([{ text: "2" }, { raw: bytes, mediaType: "image/png" }], { task: first });
    expect(linesOf(asked[1]?.prompt ?? []).slice(4)).toEqual([
      "tool: ask=1",
      "tool: search=found a",
      "tool: ask=2",
      "user: [file]",
    ]);
  });

  it("asks by a form, again if the answer is invalid, and gives the model the values", async () => {
    const form = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    const { agent, asked } = serve(
      inOrder(
        { calls: [{ name: "count", input: { question: "How many?" } }] },
        { calls: [{ name: "count", input: { question: "How many more?" } }] },
        { text: ["Done."] },
      ),
      { tools: { count: askUser({ form }) } },
    );
    const task = await agent.send("Hi.");
    expect(said(task).at(-1)).toBe("agent: How many?");
    expect(stateOf(await agent.send([{ data: { n: "x" } }], { task }))).toBe(TaskState.INPUT_REQUIRED);
    expect(said(await agent.send([{ data: { n: 3 } }], { task })).at(-1)).toBe("agent: How many more?");
    expect(stateOf(await agent.send("rejected form entry", { task }))).toBe(TaskState.COMPLETED);
    expect(linesOf(asked[2]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      'tool: count={"n":3}',
      "tool: count=The user declined to answer.",
    ]);
    expect(asked).toHaveLength(3);
  });

  it("asks before it calls a tool that needs an approval", async () => {
    const done: string[] = [];
    const pay = tool({
      inputSchema: anyObject,
      needsApproval: ({ eur }) => Number(eur) > 10,
      execute: ({ eur }) => {
        done.push(eur ?? "");
        return "paid";
      },
    });
    const payment = (eur: string): Scripted => ({ calls: [{ name: "pay", input: { eur } }] });
    const { agent, asked } = serve(inOrder(payment("5"), payment("20"), payment("30"), { text: ["Done."] }), {
      tools: { pay },
    });
    const task = await agent.send("Pay.");
    expect(said(task).at(-1)).toBe('agent: May the tool pay be called with {"eur":"20"}? Answer yes or no.');
    expect(said(await agent.send("Yes.", { task })).at(-1)).toContain('{"eur":"30"}');
    const last = await agent.send([{ data: { allowed: false } }], { task });
    expect(stateOf(last)).toBe(TaskState.COMPLETED);
    expect(done).toEqual(["5", "20"]);
    expect(linesOf(asked[3]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      "tool: pay=paid",
      "tool: pay=paid",
      'tool: pay="execution-denied"',
    ]);
  });

  it("asks again what is neither an approval nor a denial, and gives the model a denial in words", async () => {
    let paid = 0;
    const pay = tool({ inputSchema: anyObject, needsApproval: true, execute: () => ++paid });
    const payment = { calls: [{ name: "pay", input: {} }] };
    const { agent, asked } = serve(inOrder(payment, payment, { text: ["Done."] }), { tools: { pay } });
    const task = await agent.send("Pay.");
    const again = "agent: May the tool pay be called with {}? Answer yes or no.\nAnswer yes or no.";
    for (const unclear of ["Perhaps.", "Yes, but only 5", "true", "[]"]) {
      expect(said(await agent.send(unclear, { task })).at(-1)).toBe(again);
    }
    expect(said(await agent.send("Yes, please do", { task })).at(-1)).toMatch(/Answer yes or no\.$/);
    expect(paid).toBe(1);
    await agent.crash();
    expect(stateOf(await agent.send("Not now, only 5", { task }))).toBe(TaskState.COMPLETED);
    expect(paid).toBe(1);
    const [result] = asked[2]?.prompt.at(-1)?.content.slice(-1) ?? [];
    expect(result).toMatchObject({ output: { type: "execution-denied", reason: "Not now, only 5" } });
    expect(asked).toHaveLength(3);
  });

  it("gives the model an answer in words instead of a form, so that it can ask again", async () => {
    const form = {
      type: "object",
      properties: { size: { enum: ["small", "large"] }, minutes: { type: "integer" } },
      required: ["size", "minutes"],
    } as const;
    const ask = { calls: [{ name: "order", input: { question: "Which size, and when?" } }] };
    const { agent, asked } = serve(inOrder(ask, ask, ask, ask, { text: ["Done."] }), {
      tools: { order: askUser({ form }) },
    });
    const task = await agent.send("Hi.");
    await agent.send("large, in 5 minutes", { task });
    await agent.send("12345678901234567890", { task });
    const wrong = await agent.send('{"size":"huge","minutes":5}', { task });
    expect(said(wrong).at(-1)).toContain("size: ");
    expect(asked).toHaveLength(3);
    await agent.crash();
    await agent.send('{"size":"large","minutes":"5"}', { task });
    expect(stateOf(await agent.send([{ data: { size: "small", minutes: 1 } }], { task }))).toBe(TaskState.COMPLETED);
    expect(linesOf(asked[4]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      'tool: order={"said":"large, in 5 minutes"}',
      'tool: order={"said":"12345678901234567890"}',
      'tool: order={"size":"large","minutes":5}',
      'tool: order={"size":"small","minutes":1}',
    ]);
    expect(asked).toHaveLength(5);
  });

  it("puts the files of tools and of the model into artifacts", async () => {
    const draw = tool({
      inputSchema: anyObject,
      execute: () => ({ file: { bytes, name: "a.png", mediaType: "image/png" } }),
    });
    const { agent, asked } = serve(
      inOrder({ calls: [{ name: "draw", input: {} }] }, { text: ["There."], image: new Uint8Array([4]) }),
      { tools: { draw } },
    );
    const task = await agent.send("Draw.");
    expect(filesOf(task)).toEqual([
      { bytes, name: "a.png", mediaType: "image/png" },
      { bytes: new Uint8Array([4]), mediaType: "image/png" },
    ]);
    expect(task.artifacts.map(({ artifactId, name }) => [artifactId, name])).toEqual([
      ["draw-1.1", "a.png"],
      ["answer-file-2.1", ""],
      ["answer", "answer"],
    ]);
    expect(linesOf(asked[1]?.prompt ?? []).at(-1)).toBe(
      'tool: draw={"file":"[File \\"a.png\\" (image/png, 3 bytes)]"}',
    );
  });

  it("lets tools report progress, by emit and as generators", async () => {
    const tools: AIAgentOptions["tools"] = (turn) => ({
      one: tool({
        inputSchema: anyObject,
        execute: async () => {
          await turn.emit(working("One."));
          return 1;
        },
      }),
      two: tool({
        inputSchema: anyObject,
        async *execute() {
          yield working("Two.");
          yield artifact({ name: "table", data: [2] });
          return 2;
        },
      }),
      three: tool({
        inputSchema: anyObject,
        async *execute() {
          yield "half";
          yield "whole";
        },
      }),
    });
    const calls = ["one", "two", "three"].map((name) => ({ calls: [{ name, input: {} }] }));
    const { agent, asked } = serve(inOrder(...calls, { text: ["Done."] }), { tools });
    const task = await agent.send("Go.");
    expect(said(task)).toEqual(["user: Go.", "agent: One.", "agent: Two."]);
    expect(task.artifacts.map(({ name }) => name)).toEqual(["table", "answer"]);
    expect(linesOf(asked[3]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      "tool: one=1",
      "tool: two=2",
      "tool: three=whole",
    ]);
  });

  it("stops the model and the tools on a cancel", async () => {
    const gates = new Gates();
    let signal: AbortSignal | undefined;
    const { agent, asked } = serve(inOrder({ calls: [{ name: "wait", input: {} }] }), {
      tools: {
        wait: tool({
          inputSchema: anyObject,
          execute: (_, { abortSignal }) => {
            signal = abortSignal;
            return gates.pass("tool", abortSignal);
          },
        }),
      },
    });
    const task = await agent.send("Go.", { returnImmediately: true });
    await gates.reached("tool");
    expect(stateOf(await agent.cancel(task))).toBe(TaskState.CANCELED);
    expect(signal?.aborted).toBe(true);
    expect(asked[0]?.signal?.aborted).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it("fails after too many calls of the model for one message", async () => {
    const { agent, asked } = serve(() => ({ calls: [{ name: "search", input: { q: "a" } }] }), {
      tools: search,
      maxSteps: 3,
    });
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.FAILED);
    expect(said(task).at(-1)).toBe("agent: The model did not finish within 3 steps.");
    expect(asked).toHaveLength(3);
  });

  it("counts the calls of the model anew after each answer of the user", async () => {
    const ask = { calls: [{ name: "ask", input: { question: "And now?" } }] };
    const { agent } = serve(inOrder(ask, ask, ask, { text: ["Done."] }), { tools: { ask: askUser() }, maxSteps: 2 });
    const task = await agent.send("Go.");
    for (const answer of ["1", "2"]) await agent.send(answer, { task });
    expect(stateOf(await agent.send("3", { task }))).toBe(TaskState.COMPLETED);
  });

  it("fails with an error of the model, without its text", async () => {
    const { agent } = serve(inOrder({ text: ["Half"], error: new Error("secret") }));
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.FAILED);
    expect(said(task).join()).not.toContain("secret");
    expect(task.artifacts.map(textOf)).toEqual(["Half"]);
  });

  it("fails with the limit if the model's answer is too large to be stored", async () => {
    const { agent } = serve(inOrder({ text: ["x".repeat(600_000)] }));
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.FAILED);
    expect(said(task).at(-1)).toMatch(
      /^agent: The model's answer is too large: with its text twice it has 12\d{5} bytes as JSON, of at most 1048576\.$/,
    );
  });

  it("answers a message that came in meanwhile in the same task", async () => {
    const gates = new Gates();
    const { agent, asked } = serve(async ({ number }) => {
      if (number === 1) await gates.pass("model");
      return { text: [`Answer ${number}.`] };
    });
    const task = await agent.send("One.", { returnImmediately: true });
    const second = agent.send("Two.", { task });
    await expect.poll(async () => (await agent.get(task)).history.length).toBe(2);
    gates.open("model");
    await second;
    const last = await agent.settled(task);
    expect(last.artifacts.map(textOf)).toEqual(["Answer 1.", "Answer 2."]);
    expect(asked).toHaveLength(2);
    expect(linesOf(asked[1]?.prompt ?? [])).toEqual(["user: One.", "assistant: Answer 1.", "user: Two."]);
  });

  it("takes no message for an answer that was written before the question", async () => {
    const gates = new Gates();
    const { agent, asked } = serve(
      async ({ number }) => {
        if (number === 1) await gates.pass("model");
        if (number === 3) return { text: ["Done."] };
        return { calls: [{ name: "ask", input: { question: "Which size?" } }] };
      },
      { tools: { ask: askUser() } },
    );
    const task = await agent.send("One.", { returnImmediately: true });
    const early = agent.send("In blue.", { task });
    await expect.poll(async () => (await agent.get(task)).history.length).toBe(2);
    gates.open("model");
    expect(said(await early).at(-1)).toBe("agent: Which size?");
    await expect.poll(() => asked.length).toBe(2);
    expect(stateOf(await agent.settled(task))).toBe(TaskState.INPUT_REQUIRED);
    expect(stateOf(await agent.send("Large.", { task }))).toBe(TaskState.COMPLETED);
    expect(linesOf(asked[2]?.prompt ?? [])).toEqual([
      "user: One.",
      'assistant: ask({"question":"Which size?"})',
      "tool: ask=The user has not answered yet. The next message was written before the question.",
      "user: In blue.",
      'assistant: ask({"question":"Which size?"})',
      "tool: ask=Large.",
    ]);
  });

  it("continues an ended task of A2A 0.1 with its new message", async () => {
    const ask = { name: "ask", input: { question: "Which size?" } };
    const { model, asked } = scriptedModel(({ number }) => (number % 2 === 1 ? { calls: [ask] } : { text: ["Done."] }));
    const spoken = new Spoken(aiAgent({ card, model, tools: { ask: askUser() } }));
    const states = ["input-required", "completed", "input-required", "completed"];
    for (const [i, text] of ["One.", "Large.", "Two.", "Small."].entries()) {
      expect(await spoken.result("tasks/send", say("mine", text))).toMatchObject({ status: { state: states[i] } });
    }
    expect(linesOf(asked[3]?.prompt ?? []).slice(-3)).toEqual([
      "user: Two.",
      'assistant: ask({"question":"Which size?"})',
      "tool: ask=Small.",
    ]);
    expect(linesOf(asked[3]?.prompt ?? []).filter((line) => line === "user: One.")).toHaveLength(1);
  });

  it("shows progress again that an ended task of A2A 0.1 has shown", async () => {
    const { model } = scriptedModel(({ number }) =>
      number % 2 === 1 ? { calls: [{ name: "search", input: { q: "a" } }] } : { text: ["Done."] },
    );
    const spoken = new Spoken(aiAgent({ card, model, tools: search, toolCalls: true }));
    for (const text of ["One.", "Two."]) {
      const { events } = await spoken.call("tasks/sendSubscribe", say("mine", text));
      expect(JSON.stringify(events)).toContain("Calling search.");
    }
  });

  it("takes model, system and tools of the turn", async () => {
    const { model, asked } = scriptedModel(() => ({ text: ["a"] }));
    served = testAgent(
      aiAgent({ card, model: async () => model, system: ({ text }) => `It is ${text}`, tools: async () => search }),
    );
    await served.send("Monday.");
    expect(linesOf(asked[0]?.prompt ?? [])).toEqual(["system: It is Monday.", "user: Monday."]);
    expect(asked[0]?.tools).toEqual(["search"]);
  });

  it("rejects wrong options", () => {
    expect(() => aiAgent({ card } as unknown as AIAgentOptions)).toThrow("aiAgent(options): model is missing.");
    const wrong = { card, model: "a", maxSteps: 0, memory: { limits: 1 }, toolCalls: 1 };
    expect(() => aiAgent(wrong as unknown as AIAgentOptions)).toThrow(
      /maxSteps is 0.*memory.limits is not known: did you mean limit.*toolCalls is 1/,
    );
  });
});

describe("a crash of an agent of a model", () => {
  it("repeats no call with a stored result, and the text goes on where it was", async () => {
    const gates = new Gates();
    const searches: string[] = [];
    let attempt = 0;
    const counted: ToolSet = {
      search: tool({
        inputSchema: anyObject,
        execute: ({ q }) => {
          searches.push(q ?? "");
          return `found ${q}`;
        },
      }),
    };
    const { agent, asked } = serve(
      async ({ prompt }) => {
        if (prompt.at(-1)?.role !== "tool")
          return { text: ["Let me see."], calls: [{ name: "search", input: { q: "a" } }] };
        await gates.pass(`attempt ${++attempt}`);
        return { text: ["It is", " a."] };
      },
      { tools: counted, toolCalls: true },
    );
    const task = await agent.send("Hi.", { returnImmediately: true });
    await gates.reached("attempt 1");
    await agent.crash();
    gates.open("attempt 2");
    const last = await agent.settled(task);
    expect(textOf(last)).toBe("Let me see.\n\nIt is a.");
    expect(said(last)).toEqual(["user: Hi.", "agent: Calling search."]);
    expect(asked).toHaveLength(3);
    expect(searches).toEqual(["a"]);
  });
});

describe("tools that ask other agents and the user", () => {
  const weather: Agent = {
    card: { name: "Weather", description: "Tells the weather.", version: "1.0.0" },
    recover: "restart",
    async *execute(turn) {
      if (turn.history.length === 0) return yield inputRequired("For which day?");
      yield artifact({ name: "forecast", text: `sunny on ${turn.text}` });
    },
  };

  const delegating = (turn: Turn): ToolSet => ({
    ask: askUser(),
    weather: tool({
      inputSchema: anyObject,
      async *execute({ city }, { toolCallId }) {
        const { text } = yield* turn.delegate("weather", city, { name: toolCallId });
        return text;
      },
    }),
  });

  it("pass on the other agent's question, and no answer reaches another question", async () => {
    const { model, asked } = scriptedModel(
      inOrder(
        { calls: [{ name: "weather", input: { city: "Rome" } }] },
        { calls: [{ name: "ask", input: { question: "By train?" } }] },
        { calls: [{ name: "weather", input: { city: "Oslo" } }] },
        { text: ["Done."] },
      ),
    );
    served = testAgent(aiAgent({ card, model, tools: delegating }), { remoteAgents: { weather } });
    const task = await served.send("Plan.");
    expect(said(task).at(-1)).toBe("agent: For which day?");
    expect(said(await served.send("Monday", { task })).at(-1)).toBe("agent: By train?");
    await served.crash();
    expect(said(await served.send("yes", { task })).at(-1)).toBe("agent: For which day?");
    expect(stateOf(await served.send("Friday", { task }))).toBe(TaskState.COMPLETED);
    expect(linesOf(asked[3]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      "tool: weather=sunny on Monday",
      "tool: ask=yes",
      "tool: weather=sunny on Friday",
    ]);
    expect(asked).toHaveLength(4);
  });

  it("hold other agents' questions back until a tool that runs meanwhile has ended, which runs once", async () => {
    const gates = new Gates();
    let bookings = 0;
    const tools: AIAgentOptions["tools"] = (turn) => ({
      ...delegating(turn),
      book: tool({
        inputSchema: anyObject,
        execute: async (_, { abortSignal }) => {
          await gates.pass("book", abortSignal);
          return ++bookings;
        },
      }),
    });
    const calls = ["weather", "book", "weather"].map((name) => ({ name, input: { city: "Rome" } }));
    const { model, asked } = scriptedModel(inOrder({ calls }, { text: ["Done."] }));
    served = testAgent(aiAgent({ card, model, tools }), { remoteAgents: { weather } });
    const task = await served.send("Go.", { returnImmediately: true });
    await gates.reached("book");
    // Time in which a question that is not held back would end the turn.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(stateOf(await served.get(task))).toBe(TaskState.WORKING);
    gates.open("book");
    expect(said(await served.settled(task)).at(-1)).toBe("agent: For which day?");
    expect(said(await served.send("Monday", { task })).at(-1)).toBe("agent: For which day?");
    expect(stateOf(await served.send("Friday", { task }))).toBe(TaskState.COMPLETED);
    expect(bookings).toBe(1);
    const lines = linesOf(asked[1]?.prompt ?? []).filter((line) => line.startsWith("tool"));
    expect(lines.toSorted()).toEqual([
      "tool: book=1",
      "tool: weather=sunny on Friday",
      "tool: weather=sunny on Monday",
    ]);
  });

  it("lose no result of a tool that runs meanwhile", async () => {
    const gates = new Gates();
    let bookings = 0;
    const tools: AIAgentOptions["tools"] = (turn) => ({
      size: tool({
        inputSchema: anyObject,
        async *execute(_, { toolCallId }) {
          const form = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
          const { n } = yield* turn.form(form, { text: "Which size?", name: toolCallId });
          return n;
        },
      }),
      book: tool({
        inputSchema: anyObject,
        execute: async () => {
          await gates.pass("book");
          return ++bookings;
        },
      }),
    });
    const calls = ["size", "book", "size"].map((name) => ({ name, input: {} }));
    const { agent, asked } = serve(inOrder({ calls }, { text: ["Done."] }), { tools });
    const task = await agent.send("Go.", { returnImmediately: true });
    await gates.reached("book");
    gates.open("book");
    expect(said(await agent.settled(task)).at(-1)).toBe("agent: Which size?");
    await agent.send([{ data: { n: 1 } }], { task });
    const last = await agent.send([{ data: { n: 2 } }], { task });
    expect(stateOf(last)).toBe(TaskState.COMPLETED);
    expect(bookings).toBe(1);
    expect(linesOf(asked[1]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      "tool: size=1",
      "tool: book=1",
      "tool: size=2",
    ]);
  });
});

describe("the end of a turn", () => {
  const limits = { maxTaskBytes: 20_000, maxMessageBytes: 6_000 };
  const form = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
  const stepsOf = async (agent: AgentTest, task: Task): Promise<string[]> =>
    (await agent.steps(task)).map(({ name, error }) => (error === undefined ? name : `${name}: ${error}`));

  it("ends the call of a model whose text makes the task too large", async () => {
    const text = Array.from({ length: 10 }, () => "x".repeat(5_000));
    const { agent, asked } = serve(inOrder({ text }), {}, { limits });
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.FAILED);
    expect(said(task).at(-1)).toContain("larger than it may be");
    expect(asked[0]?.signal?.aborted).toBe(true);
    expect(await stepsOf(agent, task)).toEqual([]);
  });

  it.each(["yields", "emits"])("ends the tools beside one that %s too large an event", async (way) => {
    const gates = new Gates();
    const ended: string[] = [];
    let signal: AbortSignal | undefined;
    const tools: AIAgentOptions["tools"] = (turn) => ({
      large: tool({
        inputSchema: anyObject,
        async *execute() {
          await gates.reached("wait");
          const event = artifact({ name: "large", text: "x".repeat(30_000) });
          try {
            if (way === "emits") await turn.emit(event);
            else yield event;
          } finally {
            ended.push("large");
          }
        },
      }),
      wait: tool({
        inputSchema: anyObject,
        execute: async (_, { abortSignal }) => {
          signal = abortSignal;
          await gates.pass("wait", abortSignal);
          ended.push("wait");
        },
      }),
    });
    const calls = ["large", "wait"].map((name) => ({ name, input: {} }));
    const { agent } = serve(inOrder({ calls }), { tools }, { limits });
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.FAILED);
    expect(signal?.aborted).toBe(true);
    await expect.poll(() => ended.toSorted()).toEqual(["large", "wait"]);
    expect(await stepsOf(agent, task)).toEqual(["model"]);
  });

  it("ends a tool at its question, and runs it again with the answer", async () => {
    let ended = 0;
    const tools: AIAgentOptions["tools"] = (turn) => ({
      size: tool({
        inputSchema: anyObject,
        async *execute(_, { toolCallId }) {
          try {
            const { n } = yield* turn.form(form, { text: "Which size?", name: toolCallId });
            return n;
          } finally {
            ended++;
          }
        },
      }),
    });
    const { agent } = serve(inOrder({ calls: [{ name: "size", input: {} }] }, { text: ["Done."] }), { tools });
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.INPUT_REQUIRED);
    await expect.poll(() => ended).toBe(1);
    expect(await stepsOf(agent, task)).toEqual(["model"]);
    expect(stateOf(await agent.send([{ data: { n: 1 } }], { task }))).toBe(TaskState.COMPLETED);
    expect(ended).toBe(2);
    expect(await stepsOf(agent, task)).toEqual(["model", "form:call-1-1", "size 1.1", "model", "turn"]);
  });

  it("ends the tools beside one that emits a question, and they run again in the next turn", async () => {
    const gates = new Gates();
    const signals: (AbortSignal | undefined)[] = [];
    const tools: AIAgentOptions["tools"] = (turn) => ({
      size: tool({
        inputSchema: anyObject,
        execute: async (_, { toolCallId }) => {
          await gates.reached("book");
          const asking = turn.form(form, { text: "Which size?", name: toolCallId });
          for (;;) {
            const { done, value } = await asking.next();
            if (done) return value.n;
            await turn.emit(value);
          }
        },
      }),
      book: tool({
        inputSchema: anyObject,
        execute: async (_, { abortSignal }) => {
          signals.push(abortSignal);
          await gates.pass("book", abortSignal);
          abortSignal?.throwIfAborted();
          return "booked";
        },
      }),
    });
    const calls = ["size", "book"].map((name) => ({ name, input: {} }));
    const { agent, asked } = serve(inOrder({ calls }, { text: ["Done."] }), { tools });
    const task = await agent.send("Go.");
    expect(stateOf(task)).toBe(TaskState.INPUT_REQUIRED);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    expect(await stepsOf(agent, task)).toEqual(["model"]);
    gates.open("book");
    expect(stateOf(await agent.send([{ data: { n: 1 } }], { task }))).toBe(TaskState.COMPLETED);
    // The end of the turn does not abort the second call, which had returned before.
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
    expect(linesOf(asked[1]?.prompt ?? []).filter((line) => line.startsWith("tool"))).toEqual([
      "tool: size=1",
      "tool: book=booked",
    ]);
    expect((await stepsOf(agent, task)).filter((name) => name.startsWith("book"))).toEqual(["book 1.2"]);
  });
});
