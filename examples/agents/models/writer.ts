import { type LanguageModel, streamText } from "ai";
import { type Agent, text } from "parley-a2a";
import { modelMessages } from "parley-a2a/ai";

export const writer = (model: LanguageModel): Agent => ({
  card: { name: "Writer", description: "Answers with a model.", version: "1.0.0" },
  async *execute(turn) {
    const messages = await modelMessages(turn);
    const { textStream } = streamText({ model, messages, abortSignal: turn.signal });
    yield* text(textStream, { name: "answer", signal: turn.signal });
  },
});
