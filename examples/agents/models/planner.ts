import { type LanguageModel, tool } from "ai";
import { working } from "parley-a2a";
import { aiAgent } from "parley-a2a/ai";
import { z } from "zod";

export const trips = (model: LanguageModel) =>
  aiAgent({
    card: { name: "Trips", description: "Plans trips.", version: "1.0.0" },
    model,
    toolCalls: true,
    tools: (turn) => ({
      weather: tool({
        description: "Asks the weather agent.",
        inputSchema: z.object({ city: z.string() }),
        async *execute({ city }, { toolCallId }) {
          yield working(`Asking for the weather in ${city}.`);
          const { text } = yield* turn.delegate("weather", city, { name: toolCallId });
          return text;
        },
      }),
    }),
  });
