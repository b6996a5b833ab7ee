import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import { AgentError } from "../agent/errors.js";
import { type AgentEvent, artifact } from "../agent/event.js";
import { MAX_RESULT_BYTES } from "../agent/steps.js";
import { text } from "../agent/text.js";
import { utf8LengthOf } from "../core/bytes.js";
import { membersOf } from "../core/members.js";
import type { ModelSettings } from "./options.js";
import { aiSdk } from "./sdk.js";
import { labelOf } from "./talk-file.js";

export interface ModelCall {
  readonly model: LanguageModel;
  readonly system: string | undefined;
  readonly tools: ToolSet;
  readonly settings: ModelSettings | undefined;
  readonly messages: ModelMessage[];
  readonly signal: AbortSignal;
  readonly write: (text: string, isLast: boolean) => Promise<void>;
  readonly emit: (event: AgentEvent) => Promise<void>;
  /** Beginning of the ids of artifacts with files of the model. */
  readonly fileId: string;
}

/** The stored result of a call. It is JSON. */
export interface ModelResponse {
  readonly messages: ModelMessage[];
  /** The text that was streamed. */
  readonly text: string;
}

/**
 * Calls the model and streams its text. Its files become artifacts.
 *
 * @throws AgentError if the answer is too large to be stored
 */
export async function generate(call: ModelCall): Promise<ModelResponse> {
  const { model, system, tools, settings, messages, signal, write } = call;
  const { streamText } = await aiSdk();
  const result = streamText({
    ...settings,
    model,
    messages,
    ...(system === undefined ? {} : { system }),
    tools: withoutExecute(tools),
    // Tools are called as steps of the task.
    stopWhen: () => true,
    abortSignal: signal,
    // URLs of users may point into the server's network, so only the model's provider may fetch them.
    experimental_download: async (files) => files.map(() => null),
    // The error is thrown below.
    onError: () => {},
  });
  const seen = { calls: 0, files: 0 };
  let whole = "";
  for await (const event of text(emitFiles(result.fullStream, call, seen), { signal })) {
    if (event.kind !== "artifact" || event.text === undefined) continue;
    whole += event.text;
    await write(event.text, event.lastChunk === true && seen.calls === 0);
  }
  const { messages: response } = await result.response;
  const json = JSON.stringify({ messages: response.map(withoutFiles), text: whole });
  const bytes = utf8LengthOf(json);
  if (bytes <= MAX_RESULT_BYTES) return JSON.parse(json) as ModelResponse;
  throw new AgentError(
    `The model's answer is too large: with its text twice it has ${bytes} bytes as JSON, of at most ${MAX_RESULT_BYTES}.`,
  );
}

/** Emits the files of a stream, counts its tool calls, and yields all of it. */
async function* emitFiles(
  stream: AsyncIterable<unknown>,
  { emit, fileId }: ModelCall,
  seen: { calls: number; files: number },
): AsyncGenerator<unknown> {
  for await (const chunk of stream) {
    const { type, file } = membersOf(chunk);
    if (type === "tool-call") seen.calls++;
    const { uint8Array: bytes, mediaType } = membersOf(file);
    if (type === "file" && bytes instanceof Uint8Array && typeof mediaType === "string") {
      seen.files++;
      const id = `${fileId}.${seen.files}`;
      await emit(artifact({ id, parts: [{ file: { bytes, mediaType } }] }));
    }
    yield chunk;
  }
}

/**
 * Removes the functions of the tools, so that the AI SDK does not call them. It looks for them by the names that the
 * model gives, which may be `constructor`: the object has no other members.
 */
function withoutExecute(tools: ToolSet): ToolSet {
  const bare = Object.entries(tools).map(([name, { execute: _, needsApproval: __, ...tool }]) => [name, tool]);
  return Object.assign(Object.create(null), Object.fromEntries(bare)) as ToolSet;
}

/** Replaces the files in a message by texts that mention them: models take none from their own side. */
function withoutFiles(message: ModelMessage): unknown {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  const content = message.content.map((part) =>
    part.type === "file" ? { type: "text", text: labelOf({ mediaType: part.mediaType }) } : part,
  );
  return { ...message, content };
}
