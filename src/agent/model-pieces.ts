import type { JsonValue } from "@bufbuild/protobuf";

/** A tool that the model calls. */
export interface ToolCall {
  readonly id: string | undefined;
  readonly name: string;
  /** The arguments of the call, where the stream has them in one piece. */
  readonly input: JsonValue | undefined;
}

/** One piece of a model's output that the caller of `text()` is interested in. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tool"; readonly tool: ToolCall };

/**
 * Returns the text and the tool calls of one piece of a stream: none of a known piece without any, such as usage, reasoning or
 * pings, and undefined for a piece of no known kind.
 *
 * @throws the error that the piece carries
 */
export function piecesOf(value: unknown): Piece[] | undefined {
  if (typeof value === "string") return textOf(value);
  const piece = fields(value);
  if (piece === undefined) return undefined;
  // LangGraph's mode `messages`: a message and its metadata.
  if (Array.isArray(piece)) return isMessage(fields(piece[0])) ? ofMessage(fields(piece[0])) : undefined;
  if (Array.isArray(piece.choices)) return piece.choices.slice(0, 1).flatMap((choice) => ofChoice(fields(choice)));
  if (isMessage(piece)) return ofMessage(piece);
  if (isGemini(piece)) return ofGemini(piece);
  if (typeof piece.event === "string") return ofLangChainEvent(piece.event, piece);
  if (typeof piece.event_type === "string") return ofInteraction(piece.event_type, piece);
  if (typeof piece.type === "string") return ofEvent(piece.type, piece);
  return Array.isArray(piece.content) && isGenkitRole(piece.role) ? listOf(piece.content).flatMap(ofGenkit) : undefined;
}

/** A chunk of OpenAI's chat completions, and of the many that answer like them. */
function ofChoice(choice: Fields | undefined): Piece[] {
  const { content, tool_calls: calls } = fields(choice?.delta) ?? {};
  // The name comes with the first piece of a call alone; the following pieces have parts of its arguments.
  const tools = listOf(calls).flatMap((call) => toolOf(fields(call?.function)?.name, call?.id, undefined));
  return [...textOf(content), ...tools];
}

/** The events without text or tools of the AI SDK, of OpenAI's responses and of Anthropic's messages. */
const silent =
  /^(?:(?:text|reasoning|source|data)-[\w-]+|(?:tool|step|stream|response)-(?:input|output|call|result|error|approval|start|finish|metadata)[\w-]*|message-metadata|response\.[\w.]+|message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|(?:start|finish)(?:-step)?|reasoning|source|file|raw|abort|ping)$/;

/** An event that names its type: AI SDK, OpenAI's responses, Anthropic's messages. */
function ofEvent(type: string, event: Fields): Piece[] | undefined {
  switch (type) {
    case "text-delta":
      return textOf(event.text ?? event.delta ?? event.textDelta);
    case "tool-call":
      return toolOf(event.toolName, event.toolCallId, event.input ?? event.args);
    case "response.output_text.delta":
      return textOf(event.delta);
    case "response.output_item.done": {
      const item = fields(event.item);
      return item?.type === "function_call" ? toolOf(item.name, item.call_id, parsed(item.arguments)) : [];
    }
    case "content_block_delta":
      return textOf(fields(event.delta)?.text);
    case "content_block_start": {
      const block = fields(event.content_block);
      return block?.type === "tool_use" ? toolOf(block.name, block.id, undefined) : [];
    }
    case "error":
    case "response.failed":
      throw errorOf(event);
    default:
      return silent.test(type) ? [] : undefined;
  }
}

/** A message of LangChain, whose classes mark themselves. */
function isMessage(piece: Fields | undefined): boolean {
  return Array.isArray(piece?.lc_namespace) && "content" in piece;
}

/** Only the model's own messages: LangGraph also streams those of tools and users. */
function ofMessage(message: Fields | undefined): Piece[] {
  if (message === undefined || !isOfModel(message)) return [];
  const { content, tool_call_chunks: chunks, tool_calls: whole } = message;
  const text = listOf(content).flatMap((block) => (block.type === "text" ? textOf(block.text) : []));
  const pieces = listOf(chunks).flatMap(({ name, id, args }) => toolOf(name, id, parsed(args)));
  const calls = listOf(whole).flatMap(({ name, id, args }) => toolOf(name, id, args));
  return [...textOf(content), ...text, ...(Array.isArray(chunks) ? pieces : calls)];
}

function isOfModel(message: Fields): boolean {
  const { type, _getType: typeOf } = message;
  return type === "ai" || (typeof typeOf === "function" && typeOf.call(message) === "ai");
}

/** An event of LangChain's `streamEvents`. Chains and parsers repeat what the model said, so only models count. */
function ofLangChainEvent(name: string, event: Fields): Piece[] | undefined {
  const chunk = fields(event.data)?.chunk;
  if (name === "on_chat_model_stream") return ofMessage(fields(chunk));
  if (name === "on_llm_stream") return textOf(fields(chunk)?.text ?? chunk);
  if (name === "content-block-delta") return textOf(fields(event.delta)?.text);
  if (name === "content-block-start") {
    const block = fields(event.content);
    return block?.type === "tool_call_chunk" ? toolOf(block.name, block.id, undefined) : [];
  }
  if (name === "error") throw errorOf(event);
  return /^(?:on_\w+|message-(?:start|finish)|content-block-finish|usage|provider)$/.test(name) ? [] : undefined;
}

/** A part of a chunk of Genkit. A tool request that is still being written comes again when it is whole. */
function ofGenkit({ text, toolRequest }: Fields): Piece[] {
  const { name, ref, input, partial } = fields(toolRequest) ?? {};
  return [...textOf(text), ...(partial === true ? [] : toolOf(name, ref, input))];
}

function isGenkitRole(role: unknown): boolean {
  return role === undefined || role === "model" || role === "tool";
}

/** A response of Gemini: one without candidates has feedback or usage alone. */
function isGemini({ candidates, promptFeedback, usageMetadata }: Fields): boolean {
  return Array.isArray(candidates) || fields(promptFeedback ?? usageMetadata) !== undefined;
}

/** Read from the parts: the getter `text` of `@google/genai` prints warnings, and `text()` of the older library throws. */
function ofGemini({ candidates, promptFeedback }: Fields): Piece[] {
  const reason = fields(promptFeedback)?.blockReason;
  if (reason !== undefined) throw new Error(`The model refused the prompt: ${String(reason)}.`);
  return listOf(fields(listOf(candidates)[0]?.content)?.parts).flatMap(({ text, thought, functionCall }) => {
    const { name, id, args } = fields(functionCall) ?? {};
    return [...(thought === true ? [] : textOf(text)), ...toolOf(name, id, args)];
  });
}

/** An event of Gemini's interactions. */
function ofInteraction(name: string, event: Fields): Piece[] | undefined {
  const [delta, step] = [fields(event.delta), fields(event.step)];
  if (name === "step.delta") return delta?.type === "text" ? textOf(delta.text) : [];
  if (name === "step.start") return step?.type === "function_call" ? toolOf(step.name, step.id, undefined) : [];
  if (name === "error") throw errorOf(event);
  return /^(?:step|interaction)\./.test(name) ? [] : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? (value as Fields) : undefined;
}

/** The objects of a list; none of anything else. */
function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter((each): each is Fields => fields(each) !== undefined) : [];
}

function textOf(value: unknown): Piece[] {
  return typeof value === "string" && value !== "" ? [{ kind: "text", text: value }] : [];
}

function toolOf(name: unknown, id: unknown, input: unknown): Piece[] {
  if (typeof name !== "string" || name === "") return [];
  const tool = { name, id: typeof id === "string" ? id : undefined, input: input as JsonValue | undefined };
  return [{ kind: "tool", tool }];
}

function parsed(json: unknown): unknown {
  try {
    return typeof json === "string" ? JSON.parse(json) : undefined;
  } catch {
    return undefined;
  }
}

function errorOf(event: Fields): Error {
  const { error, response, message } = event;
  const inner = error ?? fields(response)?.error;
  if (inner instanceof Error) return inner;
  const said = fields(inner)?.message ?? message ?? inner;
  return new Error(typeof said === "string" ? said : "The model's stream ended with an error.", { cause: event });
}
