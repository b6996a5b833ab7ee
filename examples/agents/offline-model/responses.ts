import { type Answer, type Chat, type ChatMessage, chatOf, type Json, parsed } from "./rules.js";

// OpenAI's responses API: POST /v1/responses.

interface Request {
  readonly model: string;
  readonly instructions?: string | null;
  readonly input: string | readonly Item[];
  readonly tools?: readonly { readonly name?: string; readonly parameters?: Json }[];
  readonly text?: { readonly format?: { readonly name?: string } };
}

/** An item of a conversation. */
interface Item {
  readonly type?: string;
  readonly id?: string;
  readonly role?: "assistant" | "developer" | "system" | "user";
  readonly content?: string | readonly Part[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: string | readonly Part[];
}

interface Part {
  readonly text?: string;
  readonly image_url?: string;
  readonly file_data?: string;
  readonly file_url?: string;
}

/** Reads a request. */
export function chatOfResponse(body: unknown): Chat {
  const { model, instructions, input, tools = [], text } = body as Request;
  const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input.map(referenced);
  const isSystem = ({ role }: Item): boolean => role === "system" || role === "developer";
  return chatOf({
    model,
    system: [instructions ?? "", ...items.filter(isSystem).map(({ content }) => textOf(content))]
      .filter((line) => line !== "")
      .join("\n"),
    messages: items.filter((item) => !isSystem(item)).flatMap(messageOf),
    tools: tools.flatMap(({ name, parameters = {} }) => (name === undefined ? [] : { name, parameters })),
    schema: text?.format?.name,
  });
}

function messageOf({ type = "message", role, content, name = "", ...item }: Item): ChatMessage[] {
  const message = { role: "assistant", text: "", files: [], calls: [], callId: undefined } as const;
  if (type === "function_call") {
    return [{ ...message, calls: [{ id: item.call_id ?? "", name, input: parsed(item.arguments ?? "{}") }] }];
  }
  if (type === "function_call_output") {
    return [{ ...message, role: "tool", text: textOf(item.output), callId: item.call_id }];
  }
  if (type !== "message") return [];
  const parts = typeof content === "string" ? [] : (content ?? []);
  const files = parts.flatMap(({ image_url, file_data, file_url }) => image_url ?? file_data ?? file_url ?? []);
  return [{ ...message, role: role === "assistant" ? role : "user", text: textOf(content), files }];
}

function textOf(content: string | readonly Part[] | undefined): string {
  return typeof content === "string" ? content : (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}

/** Items of an earlier answer may be sent by their ids, which here contain the item: the server keeps nothing. */
function idOf(prefix: string, item: object): string {
  return `${prefix}_${Buffer.from(JSON.stringify(item)).toString("base64url")}`;
}

function referenced(item: Item): Item {
  if (item.type !== "item_reference") return item;
  return JSON.parse(Buffer.from(item.id?.replace(/^[a-z]+_/, "") ?? "", "base64url").toString()) as Item;
}

interface MessageItem {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly content: readonly {
    readonly type: "output_text";
    readonly text: string;
    readonly annotations: readonly [];
  }[];
}

interface CallItem {
  readonly id: string;
  readonly type: "function_call";
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

function outputOf({ text, calls }: Answer): readonly (MessageItem | CallItem)[] {
  const content = [{ type: "output_text", text, annotations: [] }] as const;
  const message = { type: "message", role: "assistant", content } as const;
  return [
    ...(text === "" && calls.length > 0 ? [] : [{ ...message, id: idOf("msg", message) }]),
    ...calls.map(({ id, name, input }) => {
      const call = { type: "function_call", call_id: id, name, arguments: input } as const;
      return { ...call, id: idOf("fc", call) };
    }),
  ];
}

/** Returns the answer as one object. */
export function responseOf(answer: Answer): object {
  const output = outputOf(answer).map((item) => ({ ...item, status: "completed" }));
  return { ...envelope(answer), status: "completed", output, usage: tokens(answer.usage) };
}

function envelope({ id, model }: Answer): object {
  return {
    ...{ id: `resp_${id}`, object: "response", created_at: 0, model, error: null, incomplete_details: null },
    ...{ instructions: null, metadata: {}, parallel_tool_calls: true, temperature: 1, top_p: 1 },
    ...{ tool_choice: "auto", tools: [], output: [], usage: null },
  };
}

/** Returns the answer as the events of a stream. */
export function* responseEvents(answer: Answer): Generator<{ readonly type: string }> {
  let number = 0;
  const event = (type: string, members: object) => ({ type, sequence_number: number++, ...members });
  const begun = { ...envelope(answer), status: "in_progress" };
  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  for (const [output_index, item] of outputOf(answer).entries()) {
    const place = { item_id: item.id, output_index };
    const isCall = item.type === "function_call";
    const empty = isCall ? { ...item, arguments: "" } : { ...item, content: [] };
    yield event("response.output_item.added", { output_index, item: { ...empty, status: "in_progress" } });
    if (isCall) {
      yield event("response.function_call_arguments.delta", { ...place, delta: item.arguments });
      yield event("response.function_call_arguments.done", { ...place, name: item.name, arguments: item.arguments });
    } else {
      const [part] = item.content;
      const at = { ...place, content_index: 0 };
      yield event("response.content_part.added", { ...at, part: { ...part, text: "" } });
      for (const delta of answer.pieces) yield event("response.output_text.delta", { ...at, delta, logprobs: [] });
      yield event("response.output_text.done", { ...at, text: answer.text, logprobs: [] });
      yield event("response.content_part.done", { ...at, part });
    }
    yield event("response.output_item.done", { output_index, item: { ...item, status: "completed" } });
  }
  yield event("response.completed", { response: responseOf(answer) });
}

const tokens = ({ input, output }: Answer["usage"]): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
});
