import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import OpenAI from "openai";
import { AgentError, type ConversationMessage, dataOf, type Turn } from "parley-a2a";
import type { ModelAddress } from "../offline-model/model.js";

/** The tool to call, or the question to ask first. */
export type Choice = { readonly tool: string; readonly input: Record<string, Json> } | { readonly question: string };

type Json = Turn["data"][number];

interface Around {
  readonly tools: readonly Tool[];
  readonly model: ModelAddress;
}

/**
 * Returns the tool that the client names, `{ tool, arguments }`, or else the one that the model chooses. The choice
 * stands for all turns of the task; after a question of the model the next message leads to another one.
 */
export async function choose(turn: Turn, around: Around): Promise<Choice> {
  const talk = await turn.conversation.messages();
  const said = talk.filter(({ role, taskId }) => role === "user" && taskId === turn.taskId);
  for (let answered = 1; ; answered++) {
    const fn = async (signal: AbortSignal): Promise<Choice> =>
      named(turn, around.tools) ?? (await chosen(talk, { ...around, signal }));
    const choice = await turn.step("model", fn, { per: "task" });
    if (!("question" in choice) || answered >= said.length) return choice;
  }
}

/** The call in a data part, or in a text of JSON. */
function named(turn: Turn, tools: readonly Tool[]): Choice | undefined {
  const call = [...turn.data, parsed(turn.text)].find((value) => isObject(value) && "tool" in value);
  if (!isObject(call)) return undefined;
  const { tool, arguments: input = {} } = call;
  if (!tools.some(({ name }) => name === tool)) {
    throw new AgentError(`There is no tool ${JSON.stringify(tool)}, only ${tools.map(({ name }) => name).join(", ")}.`);
  }
  if (typeof tool !== "string" || !isObject(input)) throw new AgentError("The arguments of a tool are an object.");
  return { tool, input };
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): Json | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

async function chosen(
  talk: readonly ConversationMessage[],
  { tools, model, signal }: Around & { signal: AbortSignal },
): Promise<Choice> {
  const { baseURL, apiKey, model: name } = model;
  const client = new OpenAI({ baseURL, apiKey });
  const { choices } = await client.chat.completions.create(
    {
      model: name,
      messages: [
        {
          role: "system",
          content: "Call the one tool that does what the user wants. Ask for what you need to know first.",
        },
        ...talk.map((message) => ({
          role: message.role === "user" ? ("user" as const) : ("assistant" as const),
          content: contentOf(message),
        })),
      ],
      tools: tools.map(({ name, description = "", inputSchema }) => ({
        type: "function",
        function: { name, description, parameters: inputSchema },
      })),
    },
    { signal },
  );
  const message = choices[0]?.message;
  const call = message?.tool_calls?.find(({ type }) => type === "function");
  if (call?.type !== "function") return { question: message?.content || "What shall I do?" };
  const input = parsed(call.function.arguments);
  if (!isObject(input)) throw new AgentError("The model's call of the tool cannot be read.");
  return { tool: call.function.name, input };
}

function contentOf(message: ConversationMessage): string {
  return [message.text, ...dataOf(message).map((data) => JSON.stringify(data))]
    .filter((text) => text !== "")
    .join("\n");
}
