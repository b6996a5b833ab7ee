import { openai } from "@ai-sdk/openai";
import { tool } from "ai";
import { aiAgent } from "parley-a2a/ai";
import { z } from "zod";

export const agent = aiAgent({
  card: { name: "Weather", description: "Tells the weather.", version: "1.0.0" },
  model: openai("gpt-5-mini"),
  system: "You tell the weather.",
  tools: {
    weather: tool({
      description: "Returns the weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => ({ city, sky: "sunny" }),
    }),
  },
});
