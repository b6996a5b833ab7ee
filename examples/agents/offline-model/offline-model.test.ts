import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Rule } from "./rules.js";
import { type OfflineModel, startOfflineModel } from "./server.js";

/** A model that knows two tools, and asks for both at the same time. */
const rules: readonly Rule[] = [
  ({ schema, text }) => (schema === undefined ? undefined : { data: { city: text } }),
  ({ text }) => (text === "fail" ? { error: { status: 400, message: "It does not work." } } : undefined),
  ({ results }) =>
    results.length === 0 ? undefined : { text: results.map(({ output }) => String(output)).join(", ") },
  ({ text }) =>
    /weather/.test(text)
      ? {
          calls: [
            { name: "weather", input: { city: "Paris" } },
            { name: "weather", input: { city: "Rome" } },
          ],
        }
      : undefined,
  ({ text, texts, system }) => ({ text: `${system} ${texts.length} ${text}`.trim() }),
];

let model: OfflineModel;
let openai: OpenAI;
beforeAll(async () => {
  model = await startOfflineModel({ rules });
  openai = new OpenAI({ baseURL: model.baseURL, apiKey: "offline", maxRetries: 0 });
});
afterAll(() => model.close());

const weather = {
  type: "function" as const,
  function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};

describe("the chat completions API", () => {
  const messages = [
    { role: "system" as const, content: "Be brief." },
    { role: "user" as const, content: "one" },
    { role: "assistant" as const, content: "1" },
    { role: "user" as const, content: "two" },
  ];

  it("answers with the newest message in view of the others", async () => {
    const { choices, usage } = await openai.chat.completions.create({ model: "offline", messages });
    expect(choices[0]?.message.content).toBe("Be brief. 2 two");
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(usage?.total_tokens).toBeGreaterThan(0);
  });

  it("streams the same in pieces", async () => {
    const options = { include_usage: true };
    const stream = await openai.chat.completions.create({
      ...{ model: "offline", messages, stream: true },
      stream_options: options,
    });
    const pieces: string[] = [];
    let total = 0;
    for await (const { choices, usage } of stream) {
      pieces.push(...choices.flatMap(({ delta }) => delta.content || []));
      total += usage?.total_tokens ?? 0;
    }
    expect(pieces).toEqual(["Be ", "brief. ", "2 ", "two"]);
    expect(total).toBeGreaterThan(0);
  });

  it("calls several tools, streamed or not, with the same ids for the same request", async () => {
    const request = { model: "offline", messages: [{ role: "user" as const, content: "weather?" }], tools: [weather] };
    const { choices } = await openai.chat.completions.create(request);
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls).toMatchObject([
      { function: { name: "weather", arguments: '{"city":"Paris"}' } },
      { function: { name: "weather", arguments: '{"city":"Rome"}' } },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    const again = await openai.chat.completions.create(request);
    expect(again).toEqual(await openai.chat.completions.create(request));
    const streamed = await openai.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls?.map((call) => call.type)).toEqual(["function", "function"]);
  });

  it("follows a schema", async () => {
    const { choices } = await openai.chat.completions.create({
      model: "offline",
      messages: [{ role: "user", content: "Oslo" }],
      response_format: { type: "json_schema", json_schema: { name: "City", schema: { type: "object" } } },
    });
    expect(choices[0]?.message.content).toBe('{"city":"Oslo"}');
  });

  it("answers with an error of the API", async () => {
    const request = { model: "offline", messages: [{ role: "user" as const, content: "fail" }] };
    await expect(openai.chat.completions.create(request)).rejects.toThrow("400 It does not work.");
  });
});

describe("the responses API", () => {
  it("answers and streams", async () => {
    const request = { model: "offline", instructions: "Be brief.", input: "one" };
    const response = await openai.responses.create(request);
    expect(response.output_text).toBe("Be brief. 1 one");
    const types: string[] = [];
    let text = "";
    for await (const event of await openai.responses.create({ ...request, stream: true })) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    expect(text).toBe("Be brief. 1 one");
    expect([types[0], types.at(-1)]).toEqual(["response.created", "response.completed"]);
  });
});

describe.each(["chat", "responses"] as const)("the AI SDK over the %s API", (api) => {
  const tools = {
    weather: tool({
      description: "Tells the weather.",
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => `sunny in ${city}`,
    }),
  };
  const options = () => ({
    model: createOpenAI({ baseURL: model.baseURL, apiKey: "offline" })[api]("offline"),
    system: "Be brief.",
    prompt: "weather?",
    tools,
    stopWhen: stepCountIs(3),
  });

  it("runs tools until the answer is there", async () => {
    const before = model.requests.length;
    const { text, steps } = await generateText(options());
    expect(text).toBe("sunny in Paris, sunny in Rome");
    expect(steps).toHaveLength(2);
    expect(model.requests.length - before).toBe(2);
  });

  it("streams the answer", async () => {
    const { textStream } = streamText(options());
    const pieces: string[] = [];
    for await (const piece of textStream) pieces.push(piece);
    expect(pieces.join("")).toBe("sunny in Paris, sunny in Rome");
    expect(pieces.length).toBeGreaterThan(1);
  });
});
