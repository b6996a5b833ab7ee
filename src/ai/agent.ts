import type { Agent } from "../agent/agent.js";
import { ModelTurn } from "./model-turn.js";
import { type AIAgentOptions, checkAgentOptions } from "./options.js";
import { aiSdk } from "./sdk.js";

/**
 * Makes an agent from a model and tools of the AI SDK. The model's text streams as an artifact, and the conversation is
 * its memory. Each call of the model and of a tool is a step of the task (`turn.step`): after a crash the turn runs
 * again, and no call with a stored result is repeated. Tools without `execute` ask the user, as do those that need an
 * approval. A cancel stops the model and the tools.
 *
 * @throws TypeError if an option is invalid
 */
export function aiAgent(options: AIAgentOptions): Agent {
  checkAgentOptions(options);
  const { model, system, tools, maxSteps, memory, settings, artifactName, toolCalls, ...agent } = options;
  // Loaded before the first message, which reports an error of it.
  aiSdk().catch(() => {});
  return { recover: "restart", ...agent, execute: (turn) => new ModelTurn(turn, options).run() };
}
