import type OpenAI from "openai";
import { type Agent, text } from "parley-a2a";
import { chatMessages } from "parley-a2a/ai";

export const writer = (openai: OpenAI, model: string): Agent => ({
  card: {
    name: "Writer",
    description: "Answers with a model of OpenAI's API.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", "image/*"],
  },
  async *execute(turn) {
    const messages = await chatMessages(turn);
    const stream = await openai.chat.completions.create({ model, messages, stream: true }, { signal: turn.signal });
    yield* text(stream, { name: "answer", signal: turn.signal });
  },
});
