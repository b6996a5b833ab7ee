import OpenAI from "openai";
import { type Agent, artifact } from "parley-a2a";
import { responsesInput } from "parley-a2a/ai";
import { testAgent } from "parley-a2a/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writer } from "../models/openai.js";
import type { Chat } from "./rules.js";
import { type OfflineModel, startOfflineModel } from "./server.js";

const chats: Chat[] = [];
let model: OfflineModel;
let openai: OpenAI;
beforeAll(async () => {
  const keep = (chat: Chat) => ({ text: `Answer ${chats.push(chat)}.` });
  model = await startOfflineModel({ rules: [keep] });
  openai = new OpenAI({ baseURL: model.baseURL, apiKey: "offline", maxRetries: 0 });
});
afterAll(() => model.close());

const byChat = (): Agent => writer(openai, "offline");

const byResponses = (): Agent => ({
  card: {
    name: "Writer",
    description: "Answers with a model.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", "image/png"],
  },
  async *execute(turn) {
    const { output_text } = await openai.responses.create({ model: "offline", input: await responsesInput(turn) });
    yield artifact({ name: "answer", text: output_text });
  },
});

it.each([
  ["chatMessages", byChat],
  ["responsesInput", byResponses],
])("%s() gives OpenAI's client the conversation", async (_, agentOf) => {
  chats.length = 0;
  await using served = testAgent(agentOf());
  const { contextId } = await served.send([{ text: "Look." }, { raw: new Uint8Array([1]), mediaType: "image/png" }]);
  await served.send("Once more.", { contextId });
  expect(chats.at(-1)?.messages).toMatchObject([
    { role: "user", text: "Look.", files: ["data:image/png;base64,AQ=="] },
    { role: "assistant", text: "Answer 1.", files: [] },
    { role: "user", text: "Once more.", files: [] },
  ]);
});
