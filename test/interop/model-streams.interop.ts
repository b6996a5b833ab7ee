import { cpSync } from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Agent, completed, createServer, type Server, text } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { root } from "../e2e/support/build.js";
import { bindingOf } from "../support/drivers.js";
import { installed, succeed } from "./support/tool.js";

/* The AI SDK, LangChain, Genkit and the clients of OpenAI and Google from npm, with local models. */

interface Ai {
  streamText(options: object): {
    readonly textStream: AsyncIterable<string>;
    readonly fullStream: AsyncIterable<unknown>;
  };
  simulateReadableStream(options: object): ReadableStream<unknown>;
}

const words = Array.from({ length: 200 }, (_, index) => `word${index} `);
const whole = words.join("");

let folder: string;
let model: HttpServer;

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(join(folder, "node_modules", file)).href)) as T;
}

beforeAll(async () => {
  folder = await installed({
    name: "model-streams-2",
    needs: "npm and access to its registry",
    install: async (into) => {
      for (const file of ["package.json", "package-lock.json"])
        cpSync(join(root, "test/interop/models", file), join(into, file));
      await succeed("npm", ["ci", "--omit=optional", "--no-audit", "--no-fund"], { cwd: into });
    },
  });
  model = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (request.url?.includes(":streamGenerateContent")) {
      const gemini = (...parts: object[]): string =>
        `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts } }] })}\n\n`;
      response.write(gemini({ text: "thinking", thought: true }));
      for (const word of words.slice(0, 100)) response.write(gemini({ text: word }));
      response.write(gemini({ functionCall: { name: "search", args: {} } }));
      for (const word of words.slice(100)) response.write(gemini({ text: word }));
      return response.end();
    }
    const chunk = (delta: object): string =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "local", choices: [{ index: 0, delta }] })}\n\n`;
    const call = { index: 0, id: "call-1", type: "function", function: { name: "search", arguments: "{}" } };
    response.write(chunk({ role: "assistant", content: "" }));
    for (const word of words.slice(0, 100)) response.write(chunk({ content: word }));
    response.write(chunk({ tool_calls: [call] }));
    for (const word of words.slice(100)) response.write(chunk({ content: word }));
    return response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
});

afterAll(() => model?.close());

/** The events of a stream from an agent's answer. */
async function answered(execute: Agent["execute"]): Promise<readonly Record<string, never>[]> {
  const agent: Agent = {
    card: {
      name: "Writer",
      description: "Writes.",
      version: "1",
      skills: [{ id: "w", name: "W", description: "W.", tags: ["w"] }],
    },
    execute,
  };
  const server: Server = await createServer({
    agent,
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: false,
  });
  const driver = bindingOf("jsonrpc").connect({ url: `http://127.0.0.1:${server.port}`, grpcPort: 0 });
  try {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "write" }] };
    const stream = await driver.stream("SendStreamingMessage", { message });
    return (await stream.rest()).messages as readonly Record<string, never>[];
  } finally {
    driver.close();
    await server.close();
  }
}

const textsOf = (events: readonly object[]): string[] =>
  events.flatMap((event) => {
    const { artifactUpdate } = event as { artifactUpdate?: { artifact: { parts: { text: string }[] } } };
    return artifactUpdate?.artifact.parts.map((part) => part.text) ?? [];
  });

describe("text() with real packages", () => {
  it.each(["textStream", "fullStream"] as const)("takes the AI SDK's %s", async (kind) => {
    const { streamText, simulateReadableStream } = await load<Ai>("ai/dist/index.mjs");
    const { MockLanguageModelV3 } = await load<{ MockLanguageModelV3: new (options: object) => object }>(
      "ai/dist/test/index.mjs",
    );
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const chunks = [
      { type: "text-start", id: "1" },
      ...words.map((delta) => ({ type: "text-delta", id: "1", delta })),
      { type: "text-end", id: "1" },
      { type: "finish", finishReason: { unified: "stop" }, usage },
    ];
    const local = new MockLanguageModelV3({
      doStream: async () => ({ stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) }),
    });
    const events = await answered(async function* (turn) {
      const result = streamText({ model: local, prompt: turn.text, abortSignal: turn.signal });
      const said = yield* text(result[kind], { name: "answer", windowMs: 1_000, signal: turn.signal });
      yield completed(`${said.length} characters`);
    });
    const texts = textsOf(events);
    expect(texts.join("")).toBe(whole);
    expect(texts.length).toBeLessThan(words.length / 10);
    expect(JSON.stringify(events.at(-1))).toContain(`${whole.length} characters`);
  });

  it("takes a stream of OpenAI's client, and tells of its tools", async () => {
    const { OpenAI } = await load<{
      OpenAI: new (
        options: object,
      ) => { chat: { completions: { create(request: object, options: object): Promise<AsyncIterable<unknown>> } } };
    }>("openai/index.mjs");
    const { port } = model.address() as AddressInfo;
    const client = new OpenAI({ apiKey: "none", baseURL: `http://127.0.0.1:${port}/v1` });
    const events = await answered(async function* (turn) {
      const request = { model: "local", stream: true, messages: [{ role: "user", content: turn.text }] };
      const stream = await client.chat.completions.create(request, { signal: turn.signal });
      yield* text(stream, { windowMs: 1_000, toolCalls: true, signal: turn.signal });
    });
    expect(textsOf(events).join("")).toBe(whole);
    expect(JSON.stringify(events)).toContain("Calling search.");
  });

  const placeOf = (): string => `http://127.0.0.1:${(model.address() as AddressInfo).port}`;

  const libraries: Readonly<Record<string, () => Promise<AsyncIterable<unknown>>>> = {
    "LangChain's chunks": async () => {
      const { FakeListChatModel } = await load<FakeModels>("@langchain/core/dist/utils/testing/index.js");
      return new FakeListChatModel({ responses: [whole] }).stream("write");
    },
    "LangChain's events": async () => {
      const { FakeListChatModel } = await load<FakeModels>("@langchain/core/dist/utils/testing/index.js");
      return new FakeListChatModel({ responses: [whole] }).streamEvents("write", { version: "v2" });
    },
    "LangChain's content blocks": async () => {
      const { AIMessageChunk } = await load<{ AIMessageChunk: new (fields: object) => object }>(
        "@langchain/core/dist/messages/index.js",
      );
      return ofPieces((word) => new AIMessageChunk({ content: [{ type: "text", text: word }] }));
    },
    "Genkit's chunks": async () => {
      const { GenerateResponseChunk } = await load<{ GenerateResponseChunk: new (...given: object[]) => object }>(
        "@genkit-ai/ai/lib/index.mjs",
      );
      return ofPieces((word) => new GenerateResponseChunk({ content: [{ text: word }] }, { index: 0, role: "model" }));
    },
    "Gemini's responses": async () => {
      const { GoogleGenAI } = await load<{ GoogleGenAI: new (options: object) => GoogleModels }>(
        "@google/genai/dist/node/index.mjs",
      );
      const { models } = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: placeOf() } });
      return models.generateContentStream({ model: "local", contents: "write" });
    },
    "the responses of Gemini's older client": async () => {
      const { GoogleGenerativeAI } = await load<{ GoogleGenerativeAI: new (key: string) => OlderGoogle }>(
        "@google/generative-ai/dist/index.mjs",
      );
      const options = { baseUrl: placeOf() };
      const local = new GoogleGenerativeAI("none").getGenerativeModel({ model: "local" }, options);
      return (await local.generateContentStream("write")).stream;
    },
  };

  it.each(Object.entries(libraries))("takes %s", async (_name, open) => {
    const events = await answered(async function* (turn) {
      yield* text(await open(), { windowMs: 1_000, toolCalls: true, signal: turn.signal });
    });
    expect(textsOf(events).join("")).toBe(whole);
  });

  it.each(Object.keys(libraries).filter((name) => name.includes("Gemini")))("names tools of %s", async (name) => {
    const events = await answered(async function* (turn) {
      yield* text((await libraries[name]?.()) ?? ofPieces(String), { toolCalls: true, signal: turn.signal });
    });
    expect(JSON.stringify(events)).toContain("Calling search.");
  });
});

async function* ofPieces(pieceOf: (word: string) => unknown): AsyncGenerator<unknown> {
  for (const word of words) yield pieceOf(word);
}

interface FakeModels {
  readonly FakeListChatModel: new (
    options: object,
  ) => {
    stream(input: string): Promise<AsyncIterable<unknown>>;
    streamEvents(input: string, options: object): AsyncIterable<unknown>;
  };
}

interface GoogleModels {
  readonly models: { generateContentStream(request: object): Promise<AsyncIterable<unknown>> };
}

interface OlderGoogle {
  getGenerativeModel(
    model: object,
    options: object,
  ): { generateContentStream(prompt: string): Promise<{ readonly stream: AsyncIterable<unknown> }> };
}
