import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { testAgent, textOf } from "parley-a2a/testing";
import { expect, it } from "vitest";
import { notes } from "./notes.js";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

it("keeps a note for later tasks of the conversation", async () => {
  const model = new MockLanguageModelV3({
    // Calls the tool for the first message, and then repeats its system prompt.
    doStream: async ({ prompt }) => {
      const [system, ...messages] = prompt;
      const answer = { type: "text-delta", id: "1", delta: String(system?.content) } as const;
      const call = { type: "tool-call", toolCallId: "1", toolName: "note", input: '{"text":"milk"}' } as const;
      const finishReason = { unified: "stop", raw: undefined } as const;
      const chunks =
        messages.length === 1
          ? [call]
          : [{ type: "text-start", id: "1" } as const, answer, { type: "text-end", id: "1" } as const];
      return { stream: simulateReadableStream({ chunks: [...chunks, { type: "finish", finishReason, usage }] }) };
    },
  });
  await using t = testAgent(notes(model));
  const first = await t.send("Note: milk");
  const second = await t.send("What did I note?", { contextId: first.contextId });
  expect(textOf(second)).toBe('The notes: ["milk"]');
});
