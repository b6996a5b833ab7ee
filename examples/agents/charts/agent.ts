import { createOpenAI } from "@ai-sdk/openai";
import { tool } from "ai";
import { working } from "parley-a2a";
import { aiAgent, askUser } from "parley-a2a/ai";
import { z } from "zod";
import { modelFor } from "../offline-model/model.js";
import { rules } from "./rules.js";
import { sales } from "./sales.js";

const { baseURL, apiKey, model } = await modelFor(rules);

/** Draws charts of numbers: its own, or those that the user names when it asks for them. */
export const agent = aiAgent({
  card: {
    name: "Charts Agent",
    description: "Draws bar charts, of the sales of a year or of any numbers.",
    version: "1.0.0",
    defaultOutputModes: ["text/plain", "image/svg+xml"],
    skills: [
      {
        id: "draw_chart",
        name: "Draw a chart",
        description: "Draws a bar chart.",
        tags: ["chart", "svg"],
        examples: ["Draw a chart.", "Compare the sales of 2024 and 2025."],
      },
    ],
  },
  model: createOpenAI({ baseURL, apiKey }).chat(model),
  system: "Draw the chart that the user wants. Ask for the numbers if they are missing.",
  tools: {
    ask: askUser(),
    sales: tool({
      description: "Returns the sales of a year.",
      inputSchema: z.object({ year: z.number() }),
      async *execute({ year }) {
        yield working(`Looking up the sales of ${year}.`);
        return sales(year);
      },
    }),
    draw: tool({
      description: "Draws a bar chart of numbers from 0 to 100.",
      inputSchema: z.object({ name: z.string(), numbers: z.array(z.number()) }),
      execute: ({ name, numbers }) => ({
        file: { name: `${name}.svg`, mediaType: "image/svg+xml", bytes: bars(numbers) },
      }),
    }),
  },
});

function bars(numbers: readonly number[]): Uint8Array {
  const all = numbers.map((n, i) => `<rect x="${i * 20}" y="${100 - n}" width="16" height="${n}"/>`);
  const size = `width="${numbers.length * 20}" height="100"`;
  return new TextEncoder().encode(`<svg xmlns="http://www.w3.org/2000/svg" ${size}>${all.join("")}</svg>\n`);
}
