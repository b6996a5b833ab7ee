import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, failed, inputRequired, reply, working } from "../../src/agent/event.js";
import type { UIMessageLike } from "../../src/client/ai-sdk/index.js";
import { chatTransport, type UIChunk, uiMessageStream } from "../../src/client/ai-sdk/index.js";
import { connect, serve } from "./world.js";

const form = { fields: ["name", "date"] };
const file = { raw: new Uint8Array([1, 2, 3]), mediaType: "image/png" };
const both = [{ data: form }, file];

/** Sends a form and a file in each place of a message. */
const speaker: Agent = {
  card: { name: "Forms", description: "Asks by forms.", version: "1.0.0" },
  responds: "either",
  async *execute(turn) {
    if (turn.text === "direct") return yield reply({ parts: both });
    if (turn.text === "ask") return yield inputRequired({ parts: both });
    if (turn.text === "ask in words") return yield inputRequired({ parts: [{ text: "Which?" }, ...both] });
    if (turn.text === "fail") return yield failed({ parts: both });
    if (turn.text === "progress") yield working({ parts: both });
    if (turn.text === "artifact") yield artifact({ parts: both });
    yield completed(turn.text === "complete" ? { parts: both } : undefined);
  },
};

async function chunksOf(stream: ReadableStream<UIChunk> | null): Promise<UIChunk[]> {
  const chunks: UIChunk[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}

/** The forms and files in a list of chunks. */
function partsOf(chunks: readonly UIChunk[]): unknown[] {
  return chunks.flatMap((chunk): unknown[] => {
    if (chunk.type === "file") return [chunk.url];
    if (chunk.type !== "data-message" && chunk.type !== "data-artifact" && chunk.type !== "data-status") return [];
    return chunk.data.values;
  });
}

const url = "data:image/png;base64,AQID";

function user(text: string): UIMessageLike {
  const part = { type: "text", text };
  return { id: text, role: "user", parts: [part] };
}

/** The message that a page builds from chunks. */
function kept(chunks: readonly UIChunk[]): UIMessageLike {
  const last = chunks.findLast(({ type }) => type === "finish") as { messageMetadata?: unknown };
  return { id: "answer", role: "assistant", metadata: last.messageMetadata, parts: [] };
}

describe("uiMessageStream()", () => {
  for (const streaming of [true, false]) {
    for (const place of ["direct", "ask", "ask in words", "fail", "complete", "artifact"]) {
      it(`has form and file of ${place} once, ${streaming ? "with" : "without"} streams`, async () => {
        const { url: agent } = await serve({ agent: speaker });
        const client = await connect(agent);
        const { card } = client;
        const capabilities = { ...card.capabilities, streaming } as typeof card.capabilities;
        const spoken = await connect({ ...card, ...(capabilities && { capabilities }) });
        const parts = partsOf(await chunksOf(uiMessageStream(spoken.stream(place))));
        expect(parts).toHaveLength(2);
        expect(parts).toEqual(expect.arrayContaining([form, url]));
      });
    }
  }

  it("has form and file of progress", async () => {
    const client = await connect((await serve({ agent: speaker })).url);
    expect(partsOf(await chunksOf(uiMessageStream(client.stream("progress"))))).toEqual([form, url]);
  });
});

/**
 * Streams an artifact in pieces, with a file and data, and then sends it as a whole. The text of the message selects a
 * variation.
 */
const whole: Agent = {
  card: { name: "Whole", description: "Sends all of it again.", version: "1.0.0" },
  async *execute(turn) {
    const rest = [file, { data: form }];
    yield artifact({ id: "a", text: "one " });
    yield artifact({ id: "a", text: "two", append: true });
    yield artifact({ id: "a", parts: rest, append: true, lastChunk: turn.text === "closed" });
    const [text, more] = turn.text === "more" ? ["one two three", [{ data: "more" }]] : ["one two", []];
    yield artifact({ id: "a", parts: turn.text === "other" ? [{ text: "other" }] : [{ text }, ...rest, ...more] });
    yield completed();
  },
};

describe("an artifact that is sent whole after its pieces", () => {
  it.each([
    ["same", ["one two"], [url, form]],
    ["closed", ["one two"], [url, form]],
    ["more", ["one two three"], [url, form, "more"]],
    ["other", ["one two", "other"], [url, form]],
  ])("is shown once (%s)", async (text, texts, parts) => {
    const client = await connect((await serve({ agent: whole })).url);
    const chunks = await chunksOf(uiMessageStream(client.stream(text)));
    const blocks = new Map<string, string>();
    for (const chunk of chunks) {
      if (chunk.type === "text-delta") blocks.set(chunk.id, (blocks.get(chunk.id) ?? "") + chunk.delta);
    }
    expect([...blocks.values()]).toEqual(texts);
    expect(partsOf(chunks)).toEqual(parts);
  });
});

describe("chatTransport()", () => {
  it.each(["ask", "ask in words"])("does not repeat the form of a question that is answered (%s)", async (question) => {
    const client = await connect((await serve({ agent: speaker })).url);
    const transport = chatTransport(client);
    const send = async (messages: UIMessageLike[]) =>
      chunksOf(await transport.sendMessages({ chatId: "c", messages, abortSignal: undefined }));
    const asked = await send([user(question)]);
    expect(partsOf(asked)).toHaveLength(2);
    const again = await send([user(question), kept(asked), user(question)]);
    expect(partsOf(again)).toHaveLength(2);
    expect(kept(again).metadata).toMatchObject({ a2a: { taskId: expect.any(String) } });
    const answered = await send([user(question), kept(asked), user(question), kept(again), user("fine")]);
    expect(partsOf(answered)).toEqual([]);
    expect(kept(answered).metadata).toMatchObject({ a2a: { state: "TASK_STATE_COMPLETED" } });
  });

  it("resumes after a reload what its storage has", async () => {
    const { agent, release } = waiting();
    const client = await connect((await serve({ agent })).url);
    const items = new Map<string, string>();
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    };
    const before = chatTransport(client, { storage });
    const sent = await before.sendMessages({ chatId: "c", messages: [user("go")], abortSignal: undefined });
    const reader = sent.getReader();
    await reader.read();
    const after = chatTransport(client, { storage });
    expect(await chatTransport(client).reconnectToStream({ chatId: "c" })).toBeNull();
    expect(await after.reconnectToStream({ chatId: "other" })).toBeNull();
    const resumed = await after.reconnectToStream({ chatId: "c" });
    release();
    const chunks = await chunksOf(resumed);
    expect(chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : [])).join("")).toBe("All of it.");
    expect(await after.reconnectToStream({ chatId: "c" })).toBeNull();
    expect(items.size).toBe(0);
    await reader.cancel();
    items.set("parley-chat:gone", "no-such-task");
    expect((await chunksOf(await after.reconnectToStream({ chatId: "gone" }))).map(({ type }) => type)).toEqual([
      "error",
    ]);
    expect(await after.reconnectToStream({ chatId: "gone" })).toBeNull();
  });
});

/** An agent that completes when it is released. */
function waiting(): { readonly agent: Agent; readonly release: () => void } {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const agent: Agent = {
    card: { name: "Waits", description: "Waits.", version: "1.0.0" },
    async *execute() {
      yield working();
      await released;
      yield artifact({ text: "All of it." });
      yield completed();
    },
  };
  return { agent, release };
}
