import OpenAI from "openai";
import { AgentError } from "parley-a2a";
import { z } from "zod";
import type { ModelAddress } from "../offline-model/model.js";
import { Drawing } from "./drawing.js";
import type { Source } from "./files.js";

const Plan = Drawing.extend({
  edits: z.boolean().describe("True if the picture so far is changed, false for a new one."),
  format: z.enum(["png", "svg"]).optional().describe("Only if the user names one."),
  delivery: z.enum(["inline", "link"]).optional().describe("link if the user wants a link or URL instead of the file."),
});

/** The drawing that the model plans, or its question to the user. */
export type Plan = z.infer<typeof Plan> | { readonly question: string };

const tool = {
  type: "function",
  function: {
    name: "draw",
    description: "Draws a picture. An edit repeats the whole picture with its changes.",
    parameters: z.toJSONSchema(Plan),
  },
} as const;

const task = `You make pictures by calling draw once. Without an idea of what to draw, ask the user instead.
Ignore the picture so far if the user asks for a new one.`;

/** Asks the model what to draw for the user's messages. */
export async function planFor(
  said: readonly string[],
  { model, source, signal }: { model: ModelAddress; source: Source | undefined; signal: AbortSignal },
): Promise<Plan> {
  const { baseURL, apiKey, model: name } = model;
  const client = new OpenAI({ baseURL, apiKey });
  try {
    const { choices } = await client.chat.completions.create(
      {
        model: name,
        messages: [
          { role: "system", content: `${task}\n${pictureText(source)}` },
          ...said.map((content) => ({ role: "user" as const, content })),
        ],
        tools: [tool],
      },
      { signal },
    );
    const message = choices[0]?.message;
    const call = message?.tool_calls?.find(({ type }) => type === "function");
    if (call?.type !== "function") return { question: message?.content ?? "What shall I draw?" };
    return Plan.parse(JSON.parse(call.function.arguments));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new AgentError("Error generating image, please try again.", { cause: error });
  }
}

function pictureText(source: Source | undefined): string {
  if (source === undefined) return "There is no picture yet.";
  if ("drawing" in source) return `The picture so far: ${JSON.stringify(source.drawing)}`;
  const { width, height } = source.picture;
  return `The picture so far: pixels, ${width} by ${height}, without a drawing. Figures of an edit are drawn upon it.`;
}
