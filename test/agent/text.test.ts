import v8 from "node:v8";
import vm from "node:vm";
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/agent/event.js";
import { type TextOptions, type TextStream, text } from "../../src/agent/text.js";
import { testAgent, textOf } from "../../src/testing/index.js";

interface Heard {
  readonly events: readonly AgentEvent[];
  readonly whole: string | undefined;
  readonly error: unknown;
}

async function hear(stream: TextStream, options?: TextOptions): Promise<Heard> {
  const events: AgentEvent[] = [];
  const generator = text(stream, options);
  try {
    for (;;) {
      const { done, value } = await generator.next();
      if (done === true) return { events, whole: value, error: undefined };
      events.push(value);
    }
  } catch (error) {
    return { events, whole: undefined, error };
  }
}

const textsOf = ({ events }: Heard): (string | undefined)[] =>
  events.map((event) => (event.kind === "artifact" ? event.text : undefined));

async function* of(...pieces: readonly unknown[]): AsyncGenerator<unknown> {
  yield* pieces;
}

/** A message in the form of LangChain's classes: an own field `lc_namespace`, and inherited methods. */
function langChain(type: string, more: object): object {
  const message = Object.create({ _getType: () => type });
  return Object.assign(message, { lc_namespace: ["langchain_core", "messages"], tool_calls: [], ...more });
}

/** A chunk in the form of Genkit's class. */
class GenkitChunk {
  readonly index = 0;
  constructor(
    readonly content: readonly object[],
    readonly role = "model",
  ) {}
  get accumulatedText(): string {
    throw new Error("Cannot compose accumulated text without previous chunks.");
  }
}

/** A response in the form of the class of `@google/genai`. Its getter prints warnings. */
class GeminiResponse {
  readonly candidates: readonly object[];
  constructor(parts: readonly object[]) {
    this.candidates = [{ content: { role: "model", parts } }];
  }
  get text(): string {
    throw new Error("prints a warning");
  }
}

/** A source of texts that the test sends one by one. */
function spoken(): {
  readonly stream: AsyncIterable<string>;
  say(piece: string): void;
  end(): void;
  isClosed(): boolean;
} {
  const waiting: string[] = [];
  let wake = (): void => {};
  let over = false;
  let closed = false;
  async function* run(): AsyncGenerator<string> {
    try {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (over) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      closed = true;
    }
  }
  return {
    stream: run(),
    say(piece) {
      waiting.push(piece);
      wake();
    },
    end() {
      over = true;
      wake();
    },
    isClosed: () => closed,
  };
}

describe("text()", () => {
  it("joins what comes within the window into one piece of an artifact, and returns the whole", async () => {
    const heard = await hear(of("Hel", "lo ", "", "world"), { name: "answer", windowMs: 10_000 });
    expect(heard).toEqual({
      events: [{ kind: "artifact", name: "answer", text: "Hello world", append: true, lastChunk: true }],
      whole: "Hello world",
      error: undefined,
    });
  });

  it("gives a piece up when its window is over, though nothing more comes", async () => {
    const source = spoken();
    const generator = text(source.stream, { windowMs: 1 });
    source.say("one");
    source.say(" two");
    expect((await generator.next()).value).toMatchObject({ text: "one two", append: true });
    source.say(" three");
    source.end();
    expect((await generator.next()).value).toMatchObject({ text: " three" });
    expect(await generator.next()).toMatchObject({ done: true, value: "one two three" });
  });

  it("gives a piece up when it is large enough", async () => {
    const heard = await hear(of("aaaa", "bbbb", "cccc"), { windowMs: 10_000, maxChars: 8 });
    expect(textsOf(heard)).toEqual(["aaaabbbb", "cccc"]);
  });

  it("joins nothing with a window of 0, and keeps surrogate pairs together", async () => {
    const heard = await hear(of("a", "b\ud83e", "\udd16c"), { windowMs: 0 });
    expect(textsOf(heard)).toEqual(["a", "b", "\u{1f916}c"]);
    expect(textsOf(await hear(of("half \ud83e"), { windowMs: 0 }))).toEqual(["half ", "\ud83e"]);
  });

  it("begins an artifact anew with its first piece, where it is told to", async () => {
    const { events } = await hear(of("One. ", "Two."), { id: "answer", append: false, windowMs: 0 });
    expect(events.map((event) => event.kind === "artifact" && [event.id, event.append, event.text])).toEqual([
      ["answer", false, "One. "],
      ["answer", true, "Two."],
    ]);
  });

  it("has a turn that runs again replace what the one before it said", async () => {
    const first = spoken();
    first.say("One. ");
    await using t = testAgent({
      card: { name: "Speaker", description: "Speaks.", version: "1.0.0" },
      recover: "restart",
      async *execute({ attempt }) {
        const model = attempt === 1 ? first.stream : of("One. ", "Two.");
        yield* text(model, { id: "answer", append: false, windowMs: 0 });
      },
    });
    let taskId = "";
    for await (const { payload } of t.stream("Speak.")) {
      if (payload.case === "task") taskId = payload.value.id;
      if (payload.case === "artifactUpdate") break;
    }
    await t.crash();
    expect(textOf(await t.settled(taskId))).toBe("One. Two.");
  });

  it("says nothing of an empty stream", async () => {
    expect(await hear(of())).toEqual({ events: [], whole: "", error: undefined });
  });

  it("reads web streams, also where they are not iterable by themselves", async () => {
    const web = (): ReadableStream<string> =>
      new ReadableStream({
        start(controller) {
          controller.enqueue("from ");
          controller.enqueue("the web");
          controller.close();
        },
      });
    expect((await hear(web())).whole).toBe("from the web");
    const stream = web();
    const plain = { getReader: () => stream.getReader() } as ReadableStream<string>;
    expect((await hear(plain)).whole).toBe("from the web");
  });

  it.each<readonly [string, readonly unknown[]]>([
    [
      "AI SDK",
      [
        { type: "start" },
        { type: "reasoning-delta", id: "0", text: "hm" },
        { type: "text-delta", id: "1", text: "one " },
        { type: "tool-call", toolCallId: "c1", toolName: "search", input: { q: "x" } },
        { type: "text-delta", id: "1", text: "two" },
        { type: "finish", finishReason: "stop" },
      ],
    ],
    [
      "chat completions",
      [
        { choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
        { choices: [{ index: 0, delta: { content: "one " } }] },
        {
          choices: [
            { index: 0, delta: { tool_calls: [{ index: 0, id: "c1", function: { name: "search", arguments: "" } }] } },
          ],
        },
        { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{"q"' } }] } }] },
        { choices: [{ index: 0, delta: { content: "two" } }] },
        { choices: [], usage: { total_tokens: 3 } },
      ],
    ],
    [
      "responses",
      [
        { type: "response.created", response: {} },
        { type: "response.output_text.delta", delta: "one " },
        {
          type: "response.output_item.done",
          item: { type: "function_call", name: "search", call_id: "c1", arguments: '{"q":"x"}' },
        },
        { type: "response.output_text.delta", delta: "two" },
        { type: "response.completed", response: {} },
      ],
    ],
    [
      "messages",
      [
        { type: "message_start", message: {} },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "one " } },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "c1", name: "search", input: {} },
        },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"q"' } },
        { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "two" } },
        { type: "message_stop" },
      ],
    ],
    [
      "LangChain, as messages with text",
      [
        langChain("ai", { content: "" }),
        langChain("ai", { content: "one " }),
        langChain("ai", { content: "", tool_call_chunks: [{ name: "search", args: "", id: "c1", index: 0 }] }),
        langChain("ai", { content: "", tool_call_chunks: [{ args: '{"q"', index: 0 }] }),
        langChain("tool", { content: "not the model's" }),
        langChain("ai", { content: "two" }),
      ],
    ],
    [
      "LangChain, as messages with blocks",
      [
        langChain("ai", { content: [{ type: "reasoning", reasoning: "hm" }] }),
        langChain("ai", { content: [{ type: "text", text: "one ", index: 0 }] }),
        langChain("ai", { content: [{ type: "tool_use" }], tool_calls: [{ name: "search", args: {}, id: "c1" }] }),
        langChain("ai", { content: [{ type: "text", text: "two", index: 1 }] }),
      ],
    ],
    [
      "LangGraph's mode messages",
      [
        [langChain("ai", { content: "one " }), { langgraph_node: "model" }],
        [langChain("ai", { content: "", tool_calls: [{ name: "search", args: {}, id: "c1" }] }), {}],
        [langChain("tool", { content: "not the model's" }), {}],
        [langChain("ai", { content: "two" }), {}],
      ],
    ],
    [
      "streamEvents",
      [
        { event: "on_chain_start", data: { input: "x" } },
        { event: "on_chat_model_stream", data: { chunk: langChain("ai", { content: "one " }) } },
        { event: "on_parser_stream", data: { chunk: "one " } },
        {
          event: "on_chat_model_stream",
          data: {
            chunk: langChain("ai", { content: "", tool_call_chunks: [{ name: "search", args: "{}", id: "c1" }] }),
          },
        },
        { event: "on_llm_stream", data: { chunk: { text: "two" } } },
        { event: "on_chain_end", data: { output: "one two" } },
      ],
    ],
    [
      "LangChain's content blocks",
      [
        { event: "message-start" },
        { event: "content-block-start", index: 0, content: { type: "text", text: "" } },
        { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "one " } },
        { event: "content-block-start", index: 1, content: { type: "tool_call_chunk", id: "c1", name: "search" } },
        { event: "content-block-delta", index: 1, delta: { type: "tool-call-delta", args: "{}" } },
        { event: "content-block-delta", index: 2, delta: { type: "text-delta", text: "two" } },
        { event: "content-block-finish", index: 2, content: { type: "text", text: "two" } },
      ],
    ],
    [
      "Genkit",
      [
        new GenkitChunk([{ reasoning: "hm" }, { text: "one " }]),
        new GenkitChunk([{ toolRequest: { name: "search", partial: true } }]),
        new GenkitChunk([{ toolRequest: { name: "search", ref: "c1", input: { q: "x" } } }]),
        new GenkitChunk([{ toolResponse: { name: "search", ref: "c1", output: "x" } }], "tool"),
        new GenkitChunk([{ text: "two" }]),
      ],
    ],
    [
      "Gemini",
      [
        new GeminiResponse([{ text: "hm", thought: true }]),
        new GeminiResponse([{ text: "one " }]),
        new GeminiResponse([{ functionCall: { id: "c1", name: "search", args: { q: "x" } } }]),
        new GeminiResponse([{ text: "two" }]),
        { usageMetadata: { totalTokenCount: 3 } },
      ],
    ],
    [
      "Gemini's interactions",
      [
        { event_type: "interaction.created", interaction: {} },
        { event_type: "step.delta", index: 0, delta: { type: "thought_summary", content: { text: "hm" } } },
        { event_type: "step.delta", index: 1, delta: { type: "text", text: "one " } },
        { event_type: "step.start", index: 2, step: { type: "function_call", id: "c1", name: "search" } },
        { event_type: "step.delta", index: 3, delta: { type: "text", text: "two" } },
        { event_type: "interaction.completed", interaction: {} },
      ],
    ],
  ])("understands the events of %s, with tools as status messages where that is wanted", async (_name, events) => {
    const silent = await hear(of(...events), { windowMs: 10_000 });
    expect(textsOf(silent)).toEqual(["one two"]);
    const calls: string[] = [];
    const heard = await hear(of(...events), {
      windowMs: 10_000,
      toolCalls: ({ id, name }) => {
        calls.push(`${id} ${name}`);
        return `Looking: ${name}.`;
      },
    });
    expect(calls).toEqual(["c1 search"]);
    expect(heard.events).toMatchObject([
      { kind: "artifact", text: "one " },
      { kind: "status", content: "Looking: search." },
      { kind: "artifact", text: "two", lastChunk: true },
    ]);
  });

  it.each([
    { type: "error", error: new Error("overloaded") },
    { type: "error", error: { message: "overloaded" } },
    { type: "response.failed", response: { error: { message: "overloaded" } } },
    { type: "error", message: "overloaded" },
    { event: "error", message: "overloaded" },
    { event_type: "error", error: { message: "overloaded" } },
  ])("throws the error that a stream carries", async (event) => {
    const { error } = await hear(of("half", event));
    expect(error).toMatchObject({ message: "overloaded" });
  });

  it("throws what the stream throws", async () => {
    const failure = new Error("lost");
    async function* fails(): AsyncGenerator<string> {
      yield "half";
      throw failure;
    }
    expect((await hear(fails())).error).toBe(failure);
  });

  it("stops waiting when its signal fires, and lets the source go", async () => {
    const abort = new AbortController();
    const source = spoken();
    source.say("begun");
    const generator = text(source.stream, { windowMs: 1, signal: abort.signal });
    expect((await generator.next()).value).toMatchObject({ text: "begun" });
    const next = generator.next();
    abort.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    source.end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(source.isClosed()).toBe(true);
  });

  it("lets the source go when the agent is left, and does not wait for one that is silent", async () => {
    let closed = 0;
    const pieces = [Promise.resolve({ done: false, value: "begun" }), new Promise<never>(() => {})];
    const stream: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => pieces.shift() ?? new Promise<never>(() => {}),
        return: () => {
          closed++;
          return new Promise<never>(() => {});
        },
      }),
    };
    const generator = text(stream, { windowMs: 1 });
    await generator.next();
    await generator.return("");
    expect(closed).toBe(1);
  });

  it.each([
    [{}, "not an object without members."],
    [Promise.resolve(of("a")), "not a value of Promise: await it."],
    [{ stream: of("a"), response: Promise.resolve() }, "with the members stream, response: pass its member stream."],
  ])("rejects a value that is not a stream", async (value, why) => {
    const { error } = await hear(value as unknown as TextStream);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(why);
  });

  it.each<readonly [readonly unknown[], string]>([
    [[{ message: { content: "one" }, done: false }], "an object with the members message, done"],
    [
      [
        { type: "text", text: "secret" },
        { type: "text", text: "two" },
      ],
      "an object with the members type, text",
    ],
    [[{ type: "assistant", message: {} }], "an object with the members type, message"],
    [[{ event: "token", data: "one" }], "an object with the members event, data"],
    [[{ event_type: "token" }], "an object with the members event_type"],
    [[["values", {}]], "a list that begins with a text of 6 characters"],
    [[new Uint8Array(0)], "a value of Uint8Array"],
    [[null, 1], "null"],
  ])("throws at the end of a stream of which it understands nothing", async (pieces, what) => {
    const { events, error } = await hear(of(...pieces));
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(`the first one is ${what}.`);
    expect((error as Error).message).not.toContain("secret");
  });

  it("skips pieces of no known kind among others", async () => {
    expect((await hear(of({ type: "custom" }, "one", null))).whole).toBe("one");
  });

  it("throws where Gemini refuses the prompt", async () => {
    const { error } = await hear(of({ promptFeedback: { blockReason: "SAFETY" } }));
    expect(error).toMatchObject({ message: "The model refused the prompt: SAFETY." });
  });

  it("hands on what came before an error, and then throws that", async () => {
    async function* breaking(): AsyncGenerator<unknown> {
      yield "so ";
      yield "far";
      throw new Error("the model broke");
    }
    const heard = await hear(breaking());
    expect(textsOf(heard)).toEqual(["so far"]);
    expect(heard.error).toMatchObject({ message: "the model broke" });
    const told = await hear(of("a", { type: "error", error: { message: "overloaded" } }));
    expect([textsOf(told), told.error]).toEqual([["a"], expect.objectContaining({ message: "overloaded" })]);
  });

  it("ends with an error where the source gives no results", async () => {
    const broken = { [Symbol.asyncIterator]: () => ({ next: () => undefined }) } as unknown as TextStream;
    expect((await hear(broken)).error).toBeInstanceOf(TypeError);
  });

  it("lets others run while a source is never silent", async () => {
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, 1);
    async function* pings(): AsyncGenerator<unknown> {
      while (!isOver) yield { type: "ping" };
      yield "at last";
    }
    expect((await hear(pings())).whole).toBe("at last");
  });

  it("keeps nothing of the pieces that are handed on, however long the stream is", async () => {
    v8.setFlagsFromString("--expose-gc");
    const collect = vm.runInNewContext("gc") as () => void;
    const seen: WeakRef<object>[] = [];
    let kept = -1;
    async function* events(): AsyncGenerator<unknown> {
      for (let i = 0; i < 100; i++) {
        const event = { type: "text-delta", text: `${i} ` };
        seen.push(new WeakRef(event));
        yield event;
      }
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      kept = seen.filter((each) => each.deref() !== undefined).length;
    }
    await hear(events(), { signal: new AbortController().signal });
    expect(kept).toBeLessThan(10);
  });
});
