/*
 * A stand-in for the part of the AI SDK that agents of a model use, because `npm ci` does not install the SDK. The
 * tests in test/interop run the same cases with the AI SDK itself.
 */

interface Chunk {
  readonly type: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: string;
  readonly data?: Uint8Array;
  readonly mediaType?: string;
  readonly error?: unknown;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly object[];
}

interface Model {
  doStream(options: object): Promise<{ readonly stream: AsyncIterable<Chunk> }>;
}

interface Options {
  readonly model: Model;
  readonly system?: string;
  readonly messages: readonly Message[];
  readonly tools: Readonly<Record<string, object>>;
  readonly abortSignal: AbortSignal;
}

export const tool = <T>(given: T): T => given;
export const jsonSchema = <T>(schema: T): T => schema;

export function streamText({ model, system, messages, tools, abortSignal }: Options): {
  readonly fullStream: AsyncGenerator<object>;
  readonly response: Promise<{ readonly messages: readonly Message[] }>;
} {
  const content: object[] = [];
  const results: object[] = [];
  const prompt = [...(system === undefined ? [] : [{ role: "system", content: system }]), ...messages];
  async function* read(): AsyncGenerator<object> {
    const names = Object.keys(tools).map((name) => ({ name }));
    const { stream } = await model.doStream({ prompt, tools: names, abortSignal });
    for await (const chunk of stream) {
      const { type, toolCallId, toolName = "", data, mediaType } = chunk;
      if (type === "text-delta") content.push({ type: "text", text: chunk.delta });
      if (type === "file") content.push({ type: "file", mediaType });
      if (type === "tool-call") content.push({ type, toolCallId, toolName, input: JSON.parse(chunk.input ?? "") });
      if (type === "tool-call" && tools[toolName] === undefined) {
        const output = { type: "error-text", value: `There is no tool ${toolName}.` };
        results.push({ type: "tool-result", toolCallId, toolName, output });
      }
      yield type === "file" ? { type, file: { uint8Array: data, mediaType } } : chunk;
    }
  }
  const all = (): Message[] => [
    { role: "assistant", content: joined(content) },
    ...(results.length === 0 ? [] : [{ role: "tool", content: results }]),
  ];
  return {
    fullStream: read(),
    get response() {
      return Promise.resolve({ messages: all() });
    },
  };
}

/** Joins the pieces of a text. */
function joined(parts: readonly object[]): object[] {
  const result: object[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (last !== undefined && "text" in last && "text" in part) {
      result.splice(-1, 1, { type: "text", text: `${last.text}${part.text}` });
    } else result.push(part);
  }
  return result;
}

export class MockLanguageModelV3 {
  readonly doStream: Model["doStream"];

  constructor({ doStream }: Model) {
    this.doStream = doStream;
  }
}

export function simulateReadableStream<T>({ chunks }: { readonly chunks: readonly T[] }): ReadableStream<T> {
  return ReadableStream.from(chunks) as ReadableStream<T>;
}
