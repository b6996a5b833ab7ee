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

/** A source that says what it is told to, when it is told. */
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

  it("refuses what is no stream", async () => {
    expect((await hear({} as TextStream)).error).toBeInstanceOf(TypeError);
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
