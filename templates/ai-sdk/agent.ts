import { tool } from "ai";
import { aiAgent } from "parley-a2a/ai";
import { z } from "zod";
import { model } from "./model.js";

export const agent = aiAgent({
  card: {
    name: "my-agent",
    description: "Tells the weather of a city.",
    version: "0.1.0",
    skills: [
      {
        id: "weather",
        name: "Weather",
        description: "Tells the weather of a city.",
        tags: ["weather", "streaming"],
        examples: ["What is the weather in Oslo?"],
      },
    ],
  },
  model,
  system: "You tell the weather. Look it up with the tool, and answer in one sentence.",
  tools: {
    weather: tool({
      description: "Returns the weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      // Replace this by a call of a weather service.
      execute: async ({ city }) => ({ city, sky: city.length % 2 === 0 ? "sunny" : "cloudy" }),
    }),
  },
});
