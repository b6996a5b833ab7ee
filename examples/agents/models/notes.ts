import { type LanguageModel, tool } from "ai";
import { aiAgent } from "parley-a2a/ai";
import { z } from "zod";

export const notes = (model: LanguageModel) =>
  aiAgent({
    card: { name: "Notes", description: "Keeps notes.", version: "1.0.0" },
    model,
    system: async ({ conversation }) => `The notes: ${JSON.stringify(await conversation.state.get())}`,
    tools: ({ conversation }) => ({
      note: tool({
        description: "Adds a note.",
        inputSchema: z.object({ text: z.string() }),
        execute: ({ text }) => conversation.state.update<string[]>((before = []) => [...before, text]),
      }),
    }),
  });
