/** A JSON value, as tools take and return it. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A call of a tool that the model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}

/** The result of a tool call, as the caller of the model sent it. */
export interface ToolResult extends ToolCall {
  /** Parsed if it is JSON, otherwise the text. */
  readonly output: Json;
}

/** A message to the model, the same for both APIs. */
export interface ChatMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** Images and files, as URLs; bytes are `data:` URLs. */
  readonly files: readonly string[];
  /** Tool calls of an assistant's message. */
  readonly calls: readonly ToolCall[];
  /** Call that a tool's message answers. */
  readonly callId: string | undefined;
}

/** A request to the model, as rules see it. */
export interface Chat {
  readonly model: string;
  /** System and developer messages, joined by line feeds. */
  readonly system: string;
  /** The other messages, oldest first. */
  readonly messages: readonly ChatMessage[];
  /** Text of the newest message of the user. */
  readonly text: string;
  /** Texts of all messages of the user, oldest first. */
  readonly texts: readonly string[];
  /** Results of the tools that were called since that message. */
  readonly results: readonly ToolResult[];
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** JSON schemas of the tools' inputs, by name. */
  readonly parameters: Readonly<Record<string, Json>>;
  /** Name of the JSON schema that the answer has to follow; undefined if the answer is a text. */
  readonly schema: string | undefined;
}

/** An answer of the model: a text, a value as structured output, calls of tools, or an error of the API. */
export interface Reply {
  readonly text?: string;
  readonly data?: Json;
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  readonly error?: { readonly status: number; readonly message: string };
}

/** An answer in the terms that both APIs share. */
export interface Answer {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  /** The text in pieces of about a word, for streams. */
  readonly pieces: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  readonly usage: { readonly input: number; readonly output: number };
}

/** Answers a request, or leaves it to the next rule. Has no state: the same request always gets the same answer. */
export type Rule = (chat: Chat) => Reply | undefined;

/** Returns the answer of the first rule that has one. */
export function answerOf(rules: readonly Rule[], chat: Chat): Reply {
  for (const rule of rules) {
    const reply = rule(chat);
    if (reply !== undefined) return reply;
  }
  return { text: "I am an offline model with a few rules, and none of them has an answer to this." };
}

/** Parts of a request that both APIs read. */
export interface RequestParts extends Pick<Chat, "messages" | "model" | "schema" | "system"> {
  readonly tools: readonly { readonly name: string; readonly parameters?: Json }[];
}

/** Adds to a request's messages what rules ask for most. */
export function chatOf({ tools, ...request }: RequestParts): Chat {
  const { messages } = request;
  const users = messages.filter(({ role }) => role === "user");
  const texts = users.map(({ text }) => text);
  const newest = messages.findLastIndex(({ role }) => role === "user");
  const calls = messages.flatMap((message) => message.calls);
  const results = messages.slice(newest + 1).flatMap(({ role, text, callId }): ToolResult[] => {
    const call = role === "tool" ? calls.find(({ id }) => id === callId) : undefined;
    return call === undefined ? [] : [{ ...call, output: parsed(text) }];
  });
  const parameters = Object.fromEntries(tools.map((tool) => [tool.name, tool.parameters ?? {}]));
  return { ...request, texts, text: texts.at(-1) ?? "", results, tools: Object.keys(parameters), parameters };
}

/** Returns the members of an object. Any other value has none. */
export function membersOf(value: Json): { readonly [name: string]: Json | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Returns the value of a JSON text, or the text itself if it is not JSON. */
export function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
