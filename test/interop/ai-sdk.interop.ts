import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  AbstractChat,
  type ChatState,
  type ChatTransport,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from "ai";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chatTransport, uiMessageStream } from "../../src/client/ai-sdk/index.js";
import { follow, stream } from "../../src/client/follow/send.js";
import { failed } from "../../src/events.js";
import { type Agent, artifact, completed, createServer, inputRequired, type Server, working } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { coreOver, type TestCore } from "../client/cores.js";
import { blocksOf, root } from "../docs/pages.js";
import { CuttingProxy } from "../support/cutting-proxy.js";

/*
 * The stream of an agent in the AI SDK. The SDK's reader builds a message from the chunks, its chat class sends
 * messages through the transport, and its types accept both.
 */

let isReleased = true;

const agent: Agent = {
  card: { name: "Talker", description: "Talks.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    const { text } = turn;
    yield working("Thinking.");
    if (text === "ask") return yield inputRequired("Which one?");
    if (text === "fail") return yield failed("It cannot be done.");
    for (let index = 0; index < 20; index++)
      yield artifact({ id: `a${turn.history.length}`, text: `${index} `, append: index > 0 });
    while (!isReleased) {
      turn.signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield artifact({ name: "more", data: { rows: [1, 2] } });
    yield artifact({ name: "file", parts: [{ raw: new Uint8Array([1, 2, 3]), mediaType: "image/png" }] });
    yield completed(`That was ${text}.`);
  },
};

const words = Array.from({ length: 20 }, (_, index) => `${index} `).join("");

/** The state of a chat without a page. */
class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

class Chat extends AbstractChat<UIMessage> {
  constructor(transport: ChatTransport<UIMessage>, state: State = new State()) {
    super({ transport, state });
  }
}

let server: Server;
let proxy: CuttingProxy;
let core: TestCore;

const client = () => ({
  stream: (...[message, options]: [Parameters<typeof stream>[1], Parameters<typeof stream>[2]?]) =>
    stream(core, message, options),
  follow: (id: string, options?: Parameters<typeof follow>[2]) => follow(core, id, options),
  cancelTask: (request: { id: string }) => core.rpc.cancelTask(request),
});

/** The SDK's types accept the transport. */
const transport = (): ChatTransport<UIMessage> => chatTransport(client());

const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("|");

beforeAll(async () => {
  server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false, host: "127.0.0.1" });
  proxy = await CuttingProxy.open(Number(new URL(server.url).port));
});

beforeEach(() => {
  core = coreOver("JSONRPC", proxy.url);
  isReleased = true;
});

afterEach(() => core.close());

afterAll(async () => {
  await proxy.close();
  await server.close();
});

describe("uiMessageStream()", () => {
  it("has chunks that the SDK knows, of which it makes the message", async () => {
    const chunks: ReadableStream<UIMessageChunk> = uiMessageStream(stream(core, "hello"));
    const [one, two] = chunks.tee();
    const { validate } = uiMessageChunkSchema();
    for await (const chunk of one) expect(await validate?.(chunk)).toMatchObject({ success: true });
    let message: UIMessage | undefined;
    for await (const state of readUIMessageStream({ stream: two })) message = state;
    expect(textOf(message)).toBe(`${words}|||That was hello.`);
    expect(message?.parts.map(({ type }) => type)).toEqual(["text", "data-artifact", "file", "text"]);
    expect(message?.parts[1]).toMatchObject({ data: { name: "more", values: [{ rows: [1, 2] }] } });
    expect(message?.parts[2]).toMatchObject({ url: "data:image/png;base64,AQID", mediaType: "image/png" });
    expect(message?.metadata).toMatchObject({ a2a: { state: "TASK_STATE_COMPLETED" } });
  });

  it("has all text once where the connection was cut, with exact resume and by snapshot", async () => {
    for (const canResume of [true, false]) {
      isReleased = false;
      const updates = stream({ ...core, canResume }, "hello");
      const [one, two] = uiMessageStream(updates).tee();
      const watched = (async () => {
        for await (const chunk of one) {
          if (chunk.type !== "text-delta" || isReleased) continue;
          proxy.cutAll();
          isReleased = true;
        }
      })();
      let message: UIMessage | undefined;
      for await (const state of readUIMessageStream({ stream: two })) message = state;
      await watched;
      expect(textOf(message)).toBe(`${words}|||That was hello.`);
    }
  });

  it("ends the call when it is cancelled", async () => {
    isReleased = false;
    const controller = new AbortController();
    const updates = stream(core, "hello", { signal: controller.signal });
    const reader = uiMessageStream(updates).getReader();
    await reader.read();
    await reader.cancel();
    expect(await updates.next()).toMatchObject({ done: true });
  });

  it("has an error where the task failed", async () => {
    const errors: unknown[] = [];
    const chunks: ReadableStream<UIMessageChunk> = uiMessageStream(stream(core, "fail"));
    for await (const _ of readUIMessageStream({ stream: chunks, onError: (error) => errors.push(error) }));
    expect(errors.map(String)).toEqual(["Error: It cannot be done."]);
  });
});

describe("chatTransport()", () => {
  it("keeps a conversation, and answers a question in its task", async () => {
    const state = new State();
    const chat = new Chat(transport(), state);
    await chat.sendMessage({ text: "ask" });
    expect(textOf(chat.lastMessage)).toBe("Which one?");
    // A reloaded chat. The metadata of its messages contain the conversation's position.
    const again = new State();
    again.messages = structuredClone(state.messages);
    const later = new Chat(transport(), again);
    await later.sendMessage({ text: "this one" });
    expect(textOf(later.lastMessage)).toBe(`${words}|||That was this one.`);
    const [first, second] = later.messages.filter(({ role }) => role === "assistant").map(({ metadata }) => metadata);
    expect(second).toMatchObject({ a2a: { taskId: (first as { a2a: { taskId: string } }).a2a.taskId } });
    await later.sendMessage({ text: "more" });
    const { tasks } = await core.rpc.listTasks({
      contextId: (first as { a2a: { contextId: string } }).a2a.contextId,
    });
    expect(tasks).toHaveLength(2);
    expect(textOf(later.lastMessage)).toBe(`${words}|||That was more.`);
  });

  it("cancels the task of a chat that is stopped", async () => {
    isReleased = false;
    const chat = new Chat(transport());
    const sent = chat.sendMessage({ text: "no end" });
    await expect.poll(() => textOf(chat.lastMessage)).toBe(words);
    await chat.stop();
    await sent;
    expect(chat.status).toBe("ready");
    const { a2a } = (chat.lastMessage as UIMessage).metadata as { a2a: { taskId: string } };
    // TASK_STATE_CANCELED
    await expect.poll(async () => (await core.rpc.getTask({ id: a2a.taskId })).status?.state).toBe(5);
  });

  it("goes on with a stream that was left", async () => {
    isReleased = false;
    const state = new State();
    const way = transport();
    const chat = new Chat(way, state);
    const sent = chat.sendMessage({ text: "hello" });
    await expect.poll(() => textOf(chat.lastMessage)).toBe(words);
    const stream = (await way.reconnectToStream({ chatId: chat.id })) as ReadableStream<UIMessageChunk>;
    isReleased = true;
    let message: UIMessage | undefined;
    for await (const next of readUIMessageStream({ stream })) message = next;
    expect(textOf(message)).toBe(`${words}|||That was hello.`);
    await sent;
    expect(chat.status).toBe("ready");
    expect(await way.reconnectToStream({ chatId: chat.id })).toBeNull();
  });
});

describe("docs/client-pages.md", () => {
  it("shows how a server answers its own pages", async () => {
    const [block] = blocksOf("docs/client-pages.md").filter(({ language }) => language === "js");
    const file = join(root, "test", "interop", ".answer.mjs");
    const alias = { "parley-a2a/client/ai-sdk": join(root, "src/client/ai-sdk/index.ts") };
    await build({
      stdin: { contents: block?.text ?? "", resolveDir: root },
      alias,
      external: ["ai"],
      bundle: true,
      format: "esm",
      outfile: file,
    });
    try {
      const { answer } = await import(pathToFileURL(file).href);
      const response: Response = answer(client(), "hello");
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      expect(await response.text()).toContain('"delta":"That was hello."');
    } finally {
      rmSync(file);
    }
  });
});
