import { createOpenAI } from "@ai-sdk/openai";
import { tool } from "ai";
import { type Agent, AgentError, dataOf, filesOf, TaskState, type Turn } from "parley-a2a";
import { aiAgent } from "parley-a2a/ai";
import { z } from "zod";
import { modelFor } from "../offline-model/model.js";
import { rules } from "./rules.js";

const { baseURL, apiKey, model } = await modelFor(rules);

/** Hands requests to the agents that its server knows, several at once, and passes on what they ask and make. */
export const agent: Agent = aiAgent({
  card: {
    name: "Host",
    description: "Finds the agents for a request, hands it to them and tells what they have done.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", "application/json", "image/png", "image/svg+xml"],
    defaultOutputModes: ["text/plain", "application/json", "image/png", "image/svg+xml"],
    skills: [
      {
        id: "delegate",
        name: "Delegate",
        description: "Hands a request, or each part of it, to the agent that can do it.",
        tags: ["host", "delegation"],
        examples: ["Reimburse my lunch for 20 EUR, I need it in USD first"],
      },
    ],
  },
  model: createOpenAI({ baseURL, apiKey })(model),
  system: instructions,
  tools: (turn) => ({
    send_message: tool({
      description: "Sends a message to another agent and returns its result. Call it several times for several agents.",
      inputSchema: z.object({
        agent: z.string().describe("The agent's name, exactly as in the list."),
        message: z.string().describe("What it has to do, with everything that it has to know."),
      }),
      async *execute({ agent, message }, { toolCallId }) {
        // A URL would be called as well, and the model may repeat one of the user.
        if (!turn.remoteAgents.includes(agent)) throw new AgentError(`There is no agent "${agent}".`);
        const parts = [{ text: message }, ...turn.files.map((file) => ({ file }))];
        const { state, text, task } = yield* turn.delegate(agent, parts, { name: toolCallId });
        const files = filesOf(task).map(({ name, mediaType }) => ({ name, mediaType }));
        return { state: TaskState[state], text, data: dataOf(task), files };
      },
    }),
  }),
  toolCalls: ({ input }) => `Asking ${(input as { agent?: string }).agent ?? "an agent"}…`,
});

/** The system prompt, with the agents that can be reached now. */
async function instructions(turn: Turn): Promise<string> {
  const agents = await Promise.all(turn.remoteAgents.map((name) => described(turn, name)));
  return [
    "You are a host that hands requests to other agents. Never do their work yourself.",
    "Send each part of a request to the agent that can do it, several at once where no part needs another's result.",
    "Tell an agent everything that it needs: it does not see this conversation, but remembers what you sent it.",
    "An agent that needs something of the user asks the user itself. The user sees what the agents make.",
    "At the end, tell briefly what has been done and what has failed.",
    "",
    "Agents:",
    ...agents,
  ].join("\n");
}

async function described(turn: Turn, name: string): Promise<string> {
  try {
    const { card } = await turn.call(name);
    return `- ${name}: ${card.description} ${card.skills.map(({ description }) => description).join(" ")}`;
  } catch {
    return `- ${name}: cannot be reached at the moment.`;
  }
}
