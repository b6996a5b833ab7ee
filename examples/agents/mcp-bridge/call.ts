import { type CallToolResult, type ElicitResult, McpError } from "@modelcontextprotocol/sdk/types.js";
import { AgentError } from "parley-a2a";
import type { PartInput } from "parley-a2a/events";
import type { Connection, Question } from "./connection.js";
import { partsOf, textOf } from "./parts.js";

/** The answer to a question of a tool. */
export type Answer = Pick<ElicitResult, "action" | "content">;

/** A call with the answers to the questions that the tool asked in earlier calls. */
export interface Call {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly answers: readonly Answer[];
  readonly signal: AbortSignal;
  onProgress(text: string): void;
}

/** The outcome of a call: a result, an error of the tool, or a question that has no answer yet. */
export interface Outcome {
  readonly parts?: PartInput[];
  readonly error?: string;
  readonly ask?: Pick<Question, "message" | "requestedSchema">;
}

/** Calls a tool. Cancels a question without an answer, so that the tool can be called again with one. */
export async function callOnce(
  connection: Connection,
  { tool, input, answers, signal, onProgress }: Call,
): Promise<Outcome> {
  const given = answers.values();
  const asked: NonNullable<Outcome["ask"]>[] = [];
  try {
    const result = await connection.call({
      name: tool,
      input,
      signal,
      onProgress: ({ message, progress, total }) => {
        onProgress(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`));
      },
      onQuestion: ({ message, requestedSchema }) => {
        const { value } = given.next();
        if (value !== undefined) return value;
        asked.push({ message, requestedSchema });
        return { action: "cancel" };
      },
    });
    return asked[0] === undefined ? outcomeOf(result) : { ask: asked[0] };
  } catch (error) {
    signal.throwIfAborted();
    if (asked[0] !== undefined) return { ask: asked[0] };
    if (error instanceof McpError) return { error: error.message };
    throw new AgentError("The MCP server cannot be reached.", { cause: error });
  }
}

function outcomeOf(result: CallToolResult): Outcome {
  return result.isError === true ? { error: textOf(result) } : { parts: partsOf(result) };
}
