import type { LanguageModel, ModelMessage } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

type Prompt = Parameters<MockLanguageModelV3["doStream"]>[0]["prompt"];
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

/** An answer of a scripted model. */
export interface Scripted {
  /** Pieces of its text. */
  readonly text?: readonly string[];
  readonly calls?: readonly { readonly name: string; readonly input: object; readonly id?: string }[];
  readonly image?: Uint8Array;
  readonly error?: unknown;
}

/** A call of a scripted model. */
export interface Asked {
  readonly prompt: Prompt;
  /** Number of this call, from 1. */
  readonly number: number;
  readonly tools: readonly string[];
  readonly signal: AbortSignal | undefined;
}

/** A model for the AI SDK that answers with a function and records its calls. */
export function scriptedModel(answer: (asked: Asked) => Scripted | Promise<Scripted>): {
  readonly model: LanguageModel;
  readonly asked: Asked[];
} {
  const asked: Asked[] = [];
  const model = new MockLanguageModelV3({
    doStream: async ({ prompt, tools = [], abortSignal }) => {
      const call = { prompt, number: asked.length + 1, tools: tools.map(({ name }) => name), signal: abortSignal };
      asked.push(call);
      const scripted = await answer(call);
      return { stream: simulateReadableStream({ chunks: [...chunksOf(scripted, call.number)] }) };
    },
  });
  return { model, asked };
}

function* chunksOf({ text = [], calls = [], image, error }: Scripted, number: number): Generator<StreamPart> {
  yield { type: "stream-start", warnings: [] };
  if (text.length > 0) yield { type: "text-start", id: "1" };
  for (const delta of text) yield { type: "text-delta", id: "1", delta };
  if (text.length > 0) yield { type: "text-end", id: "1" };
  if (image !== undefined) yield { type: "file", mediaType: "image/png", data: image };
  for (const [index, { name, input, id }] of calls.entries()) {
    const toolCallId = id ?? `call-${number}-${index + 1}`;
    yield { type: "tool-call", toolCallId, toolName: name, input: JSON.stringify(input) };
  }
  if (error !== undefined) yield { type: "error", error };
  yield {
    type: "finish",
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: undefined, reasoning: undefined },
    },
  };
}

/** A prompt as short lines, such as `user: Hello.` and `tool: search=3`. */
export function linesOf(prompt: Prompt | readonly ModelMessage[]): string[] {
  return prompt.flatMap(({ role, content }) => {
    if (typeof content === "string") return [`${role}: ${content}`];
    return content.map((part) => {
      if (part.type === "text") return `${role}: ${part.text}`;
      if (part.type === "tool-call") return `${role}: ${part.toolName}(${JSON.stringify(part.input)})`;
      if (part.type === "tool-result") return `${role}: ${part.toolName}=${outputOf(part.output)}`;
      return `${role}: [${part.type}]`;
    });
  });
}

function outputOf(output: { readonly type: string; readonly value?: unknown }): string {
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value ?? output.type);
}
