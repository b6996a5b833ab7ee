import { type Answer, type Chat, type ChatMessage, chatOf, type Json, parsed } from "./rules.js";

// OpenAI's chat completions API: POST /v1/chat/completions.

interface Request {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function?: { readonly name: string; readonly parameters?: Json } }[];
  readonly response_format?: { readonly json_schema?: { readonly name: string } };
  readonly stream_options?: { readonly include_usage?: boolean };
}

interface Message {
  readonly role: "assistant" | "developer" | "system" | "tool" | "user";
  readonly content?: string | readonly Part[] | null;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
  readonly file?: { readonly file_data?: string };
}

/** Reads a request. */
export function chatOfCompletion(body: unknown): Chat {
  const { model, messages, tools = [], response_format } = body as Request;
  const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer";
  return chatOf({
    model,
    system: messages.filter(isSystem).map(textOf).join("\n"),
    messages: messages.filter((message) => !isSystem(message)).map(messageOf),
    tools: tools.flatMap((tool) => tool.function ?? []),
    schema: response_format?.json_schema?.name,
  });
}

function messageOf(message: Message): ChatMessage {
  const { role, content, tool_calls = [], tool_call_id } = message;
  const parts = typeof content === "string" ? [] : (content ?? []);
  return {
    role: role === "tool" || role === "assistant" ? role : "user",
    text: textOf(message),
    files: parts.flatMap(({ image_url, file }) => image_url?.url ?? file?.file_data ?? []),
    calls: tool_calls.map(({ id, function: { name, arguments: input } }) => ({ id, name, input: parsed(input) })),
    callId: tool_call_id,
  };
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}

/** Returns the answer as one object. */
export function completionOf(answer: Answer): object {
  const { id, model, text, calls, usage } = answer;
  const tool_calls = calls.map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: input },
  }));
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls } : {}),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(answer) };
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [choice],
    usage: tokens(usage),
  };
}

/** Returns the answer as the events of a stream. */
export function* completionChunks(answer: Answer, body: unknown): Generator<object> {
  const { id, model, pieces, calls, usage } = answer;
  const withUsage = (body as Request).stream_options?.include_usage === true;
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    ...{ id: `chatcmpl-${id}`, object: "chat.completion.chunk", created: 0, model },
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(withUsage ? { usage: null } : {}),
  });
  yield chunk({ role: "assistant", content: "" });
  for (const content of pieces) yield chunk({ content });
  for (const [index, { id: callId, name, input }] of calls.entries()) {
    yield chunk({ tool_calls: [{ index, id: callId, type: "function", function: { name, arguments: "" } }] });
    yield chunk({ tool_calls: [{ index, function: { arguments: input } }] });
  }
  yield chunk({}, finishOf(answer));
  if (withUsage) yield { ...chunk({}), choices: [], usage: tokens(usage) };
}

const finishOf = ({ calls }: Answer): string => (calls.length > 0 ? "tool_calls" : "stop");

const tokens = ({ input, output }: Answer["usage"]): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
});
