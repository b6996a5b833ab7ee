import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

/** The function of the model: it receives a prompt and answers in pieces. */
type Stream = MockLanguageModelV3["doStream"];
type Message = Parameters<Stream>[0]["prompt"][number];
type Piece = Awaited<ReturnType<Stream>>["stream"] extends ReadableStream<infer P> ? P : never;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Answers by rules, without a key or a network: it asks the tool for the weather, and says what that returned. */
export const offlineModel = new MockLanguageModelV3({
  modelId: "offline",
  doStream: async ({ prompt }) => {
    const last = prompt.at(-1);
    const chunks: Piece[] = last?.role === "tool" ? textOf(answerTo(last)) : callFor(last);
    const finishReason = { unified: last?.role === "tool" ? "stop" : "tool-calls", raw: undefined } as const;
    return { stream: simulateReadableStream({ chunks: [...chunks, { type: "finish", finishReason, usage }] }) };
  },
});

/** Returns a call of the tool for the last word of a message. */
function callFor(message: Message | undefined): Piece[] {
  const parts = message?.role === "user" ? message.content : [];
  const words = parts.flatMap((part) => (part.type === "text" ? (part.text.match(/\p{L}+/gu) ?? []) : []));
  const input = JSON.stringify({ city: words.at(-1) ?? "Oslo" });
  return [{ type: "tool-call", toolCallId: "1", toolName: "weather", input }];
}

/** Returns a sentence with the result of the tool. */
function answerTo(message: Extract<Message, { role: "tool" }>): string {
  const [part] = message.content;
  if (part?.type !== "tool-result" || part.output.type !== "json") return "The weather is not known.";
  const { city, sky } = part.output.value as { city: string; sky: string };
  return `It is ${sky} in ${city}.`;
}

/** Returns a text in pieces of a word. */
function textOf(text: string): Piece[] {
  const words = text.match(/\S+\s*/g) ?? [];
  return [
    { type: "text-start", id: "1" },
    ...words.map((delta): Piece => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
  ];
}
