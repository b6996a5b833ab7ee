import type { JsonValue } from "@bufbuild/protobuf";
import { isRecord } from "../core/members.js";
import { parsedJson } from "../wire/parsed-json.js";

/** A tool that the model calls. */
export interface ToolCall {
  readonly id: string | undefined;
  readonly name: string;
  /** The arguments of the call, if the stream contains them as a whole. */
  readonly input: JsonValue | undefined;
}

/** A chunk of a model's output that `text()` uses. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tool"; readonly tool: ToolCall };

/**
 * Returns the text and tool calls of one chunk of a stream: an empty list for a known chunk without any, such as usage,
 * reasoning or pings, and undefined for an unknown one.
 *
 * @throws the error in the chunk
 */
export function piecesOf(value: unknown): Piece[] | undefined {
  if (typeof value === "string") return textPieces(value);
  const piece = fields(value);
  if (piece === undefined) return undefined;
  // LangGraph's mode `messages`: a message and its metadata.
  if (Array.isArray(piece)) return isLangChainMessage(fields(piece[0])) ? ofMessage(fields(piece[0])) : undefined;
  if (Array.isArray(piece.choices)) return piece.choices.slice(0, 1).flatMap((choice) => ofChoice(fields(choice)));
  if (isLangChainMessage(piece)) return ofMessage(piece);
  if (isGemini(piece)) return ofGemini(piece);
  if (typeof piece.event === "string") return ofLangChainEvent(piece.event, piece);
  if (typeof piece.event_type === "string") return ofInteraction(piece.event_type, piece);
  if (typeof piece.type === "string") return ofEvent(piece.type, piece);
  return Array.isArray(piece.content) && isGenkitRole(piece.role)
    ? objectsIn(piece.content).flatMap(ofGenkit)
    : undefined;
}

/** Reads a chunk of OpenAI's chat completions, and of compatible services. */
function ofChoice(choice: PieceFields | undefined): Piece[] {
  const { content, tool_calls: calls } = fields(choice?.delta) ?? {};
  // Only the first chunk of a call has the name; later ones have parts of its arguments.
  const tools = objectsIn(calls).flatMap((call) => toolOf(fields(call?.function)?.name, call?.id, undefined));
  return [...textPieces(content), ...tools];
}

/** Types of events without text or tools, in the AI SDK, OpenAI's responses and Anthropic's messages. */
const silent =
  /^(?:(?:text|reasoning|source|data)-[\w-]+|(?:tool|step|stream|response)-(?:input|output|call|result|error|approval|start|finish|metadata)[\w-]*|message-metadata|response\.[\w.]+|message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|(?:start|finish)(?:-step)?|reasoning|source|file|raw|abort|ping)$/;

/** Reads an event that names its type: AI SDK, OpenAI's responses, Anthropic's messages. */
function ofEvent(type: string, event: PieceFields): Piece[] | undefined {
  switch (type) {
    case "text-delta":
      return textPieces(event.text ?? event.delta ?? event.textDelta);
    case "tool-call":
      return toolOf(event.toolName, event.toolCallId, event.input ?? event.args);
    case "response.output_text.delta":
      return textPieces(event.delta);
    case "response.output_item.done": {
      const item = fields(event.item);
      return item?.type === "function_call" ? toolOf(item.name, item.call_id, parsedText(item.arguments)) : [];
    }
    case "content_block_delta":
      return textPieces(fields(event.delta)?.text);
    case "content_block_start": {
      const block = fields(event.content_block);
      return block?.type === "tool_use" ? toolOf(block.name, block.id, undefined) : [];
    }
    case "error":
    case "response.failed":
      throw streamError(event);
    default:
      return silent.test(type) ? [] : undefined;
  }
}

/** True for a message of LangChain, whose classes mark themselves. */
function isLangChainMessage(piece: PieceFields | undefined): boolean {
  return Array.isArray(piece?.lc_namespace) && "content" in piece;
}

/** Reads the model's own messages only: LangGraph also streams those of tools and users. */
function ofMessage(message: PieceFields | undefined): Piece[] {
  if (message === undefined || !isOfModel(message)) return [];
  const { content, tool_call_chunks: chunks, tool_calls: whole } = message;
  const text = objectsIn(content).flatMap((block) => (block.type === "text" ? textPieces(block.text) : []));
  const pieces = objectsIn(chunks).flatMap(({ name, id, args }) => toolOf(name, id, parsedText(args)));
  const calls = objectsIn(whole).flatMap(({ name, id, args }) => toolOf(name, id, args));
  return [...textPieces(content), ...text, ...(Array.isArray(chunks) ? pieces : calls)];
}

function isOfModel(message: PieceFields): boolean {
  const { type, _getType: typeOf } = message;
  return type === "ai" || (typeof typeOf === "function" && typeOf.call(message) === "ai");
}

/** Reads an event of LangChain's `streamEvents`. Chains and parsers repeat the model's output, so only models count. */
function ofLangChainEvent(name: string, event: PieceFields): Piece[] | undefined {
  const chunk = fields(event.data)?.chunk;
  if (name === "on_chat_model_stream") return ofMessage(fields(chunk));
  if (name === "on_llm_stream") return textPieces(fields(chunk)?.text ?? chunk);
  if (name === "content-block-delta") return textPieces(fields(event.delta)?.text);
  if (name === "content-block-start") {
    const block = fields(event.content);
    return block?.type === "tool_call_chunk" ? toolOf(block.name, block.id, undefined) : [];
  }
  if (name === "error") throw streamError(event);
  return /^(?:on_\w+|message-(?:start|finish)|content-block-finish|usage|provider)$/.test(name) ? [] : undefined;
}

/** Reads a part of a Genkit chunk. A partial tool request is repeated when it is complete. */
function ofGenkit({ text, toolRequest }: PieceFields): Piece[] {
  const { name, ref, input, partial } = fields(toolRequest) ?? {};
  return [...textPieces(text), ...(partial === true ? [] : toolOf(name, ref, input))];
}

function isGenkitRole(role: unknown): boolean {
  return role === undefined || role === "model" || role === "tool";
}

/** True for a response of Gemini; without candidates it has only feedback or usage. */
function isGemini({ candidates, promptFeedback, usageMetadata }: PieceFields): boolean {
  return Array.isArray(candidates) || fields(promptFeedback ?? usageMetadata) !== undefined;
}

/** Reads the parts: the getter `text` of `@google/genai` prints warnings, and `text()` of the older library throws. */
function ofGemini({ candidates, promptFeedback }: PieceFields): Piece[] {
  const reason = fields(promptFeedback)?.blockReason;
  if (reason !== undefined) throw new Error(`The model refused the prompt: ${String(reason)}.`);
  return objectsIn(fields(objectsIn(candidates)[0]?.content)?.parts).flatMap(({ text, thought, functionCall }) => {
    const { name, id, args } = fields(functionCall) ?? {};
    return [...(thought === true ? [] : textPieces(text)), ...toolOf(name, id, args)];
  });
}

/** Reads an event of Gemini's interactions. */
function ofInteraction(name: string, event: PieceFields): Piece[] | undefined {
  const [delta, step] = [fields(event.delta), fields(event.step)];
  if (name === "step.delta") return delta?.type === "text" ? textPieces(delta.text) : [];
  if (name === "step.start") return step?.type === "function_call" ? toolOf(step.name, step.id, undefined) : [];
  if (name === "error") throw streamError(event);
  return /^(?:step|interaction)\./.test(name) ? [] : undefined;
}

type PieceFields = Readonly<Record<string, unknown>>;

function fields(value: unknown): PieceFields | undefined {
  return isRecord(value) ? value : undefined;
}

/** Returns the objects of a list; an empty list for anything else. */
function objectsIn(value: unknown): PieceFields[] {
  return Array.isArray(value) ? value.filter((each): each is PieceFields => fields(each) !== undefined) : [];
}

function textPieces(value: unknown): Piece[] {
  return typeof value === "string" && value !== "" ? [{ kind: "text", text: value }] : [];
}

function toolOf(name: unknown, id: unknown, input: unknown): Piece[] {
  if (typeof name !== "string" || name === "") return [];
  const tool = { name, id: typeof id === "string" ? id : undefined, input: input as JsonValue | undefined };
  return [{ kind: "tool", tool }];
}

function parsedText(json: unknown): unknown {
  return typeof json === "string" ? parsedJson(json) : undefined;
}

function streamError(event: PieceFields): Error {
  const { error, response, message } = event;
  const inner = error ?? fields(response)?.error;
  if (inner instanceof Error) return inner;
  const text = fields(inner)?.message ?? message ?? inner;
  return new Error(typeof text === "string" ? text : "The model's stream ended with an error.", { cause: event });
}
