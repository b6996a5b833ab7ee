import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import probe from "../../examples/probe/agent.js";
import { A2AService, type Message, type Part, Role, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2A, createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";

let a2a: A2A;
let client: Client<typeof A2AService>;
beforeEach(() => {
  a2a = createA2A({ agent: probe, store: memoryStore() });
  client = createClient(A2AService, createRouterTransport(a2a.connect.routes));
});
afterEach(() => a2a.close({ graceMs: 0 }));

let messages = 0;
const message = (text: string, taskId = ""): { messageId: string; role: Role; taskId: string; parts: object[] } => ({
  messageId: `m${++messages}`,
  role: Role.USER,
  taskId,
  parts: text === "" ? [] : [{ content: { case: "text", value: text } }],
});

async function say(text: string, taskId?: string): Promise<Task> {
  const { payload } = await client.sendMessage({ message: message(text, taskId) });
  if (payload.case !== "task") throw new Error(`a ${payload.case} and no task`);
  return payload.value;
}

const textOf = (of: Message | { parts: Part[] } | undefined): string =>
  of?.parts.map(({ content }) => (content.case === "text" ? content.value : `(${content.case})`)).join("") ?? "";

const outcome = ({ status, artifacts }: Task): unknown => [
  TaskState[status?.state ?? 0],
  textOf(status?.message),
  artifacts.map(textOf),
];

const json = (part: Part | undefined): unknown =>
  part?.content.case === "data" ? toJson(ValueSchema, part.content.value) : part?.content.case;

describe("the probe", () => {
  it.each([
    ["echo hello world", "COMPLETED", "", ["hello world"]],
    ["anything else", "COMPLETED", "", ["anything else"]],
    ["stream 3 4", "COMPLETED", "", ["1 ..2 ..3 .."]],
    ["stream", "COMPLETED", "", [expect.stringMatching(/^1 \.{14}2 .*10 \.{13}$/)]],
    ["wait 1", "COMPLETED", "Waited for 1 ms.", []],
    ["ask Which colour?", "INPUT_REQUIRED", "Which colour?", []],
    ["auth", "AUTH_REQUIRED", "Say when you have authorized the agent.", []],
    ["reject Not today.", "REJECTED", "Not today.", []],
    ["fail On fire.", "FAILED", "On fire.", []],
    ["crash", "FAILED", expect.stringMatching(/^The agent failed unexpectedly\. Reference: /), []],
    ["file a.bin 3", "COMPLETED", "", ["(raw)"]],
    ["url https://example.org/", "COMPLETED", "", ["(url)"]],
  ])("does as it is told: %s", async (text, state, said, artifacts) => {
    expect(outcome(await say(text))).toEqual([state, said, artifacts]);
  });

  it.each([
    "stream 0",
    "stream many",
    "stream 100001",
    "stream 1 0",
    "stream 1 1 60001",
    "stream 100000 1000000",
    "wait -1",
    "wait 600001",
    "file x 0",
    "url nowhere",
    "data {",
  ])("refuses nonsense in words: %s", async (text) => {
    const [state, said] = outcome(await say(text)) as [string, string];
    expect(state).toBe("FAILED");
    expect(said).not.toContain("unexpectedly");
  });

  it("says something without a task", async () => {
    const { payload } = await client.sendMessage({ message: message("say hello") });
    expect(payload.case === "message" && textOf(payload.value)).toBe("hello");
  });

  it.each(["ask Which colour?", "auth"])("goes on with the message that follows up: %s", async (text) => {
    const { id } = await say(text);
    expect(outcome(await say("blue", id))).toEqual(["COMPLETED", "", ["blue"]]);
  });

  it("answers with files, data and the ids of earlier messages", async () => {
    const file = (await say("file a.bin 300")).artifacts[0]?.parts[0];
    expect(file).toMatchObject({ filename: "a.bin", mediaType: "application/octet-stream" });
    expect(file?.content.case === "raw" && file.content.value.length).toBe(300);
    expect(json((await say('data {"a":[1]}')).artifacts[0]?.parts[0])).toEqual({ a: [1] });
    const ids = json((await say("history")).artifacts[0]?.parts[0]);
    expect(ids).toEqual([]);
  });

  it("echoes what is no text", async () => {
    const parts = [
      { content: { case: "data" as const, value: { kind: { case: "numberValue" as const, value: 5 } } } },
      { content: { case: "raw" as const, value: Uint8Array.of(1) }, mediaType: "image/png", filename: "a.png" },
      { content: { case: "url" as const, value: "https://example.org/" } },
    ];
    const { payload } = await client.sendMessage({ message: { ...message(""), parts } });
    const echoed = payload.case === "task" ? payload.value.artifacts[0]?.parts : [];
    expect(echoed?.map(({ content }) => content.case)).toEqual(["data", "raw", "url"]);
    expect(json(echoed?.[0])).toBe(5);
    expect(echoed?.[1]).toMatchObject({ mediaType: "image/png", filename: "a.png" });
  });

  it("takes the types it names and no other", async () => {
    const part = { content: { case: "text" as const, value: "echo a" }, mediaType: "video/mp4" };
    const sent = client.sendMessage({ message: { ...message(""), parts: [part] } });
    expect(ConnectError.from(await sent.catch((error: unknown) => error)).code).toBe(Code.InvalidArgument);
  });

  it("sends its chunks one by one, the last one marked", async () => {
    const seen: boolean[] = [];
    for await (const { payload } of client.sendStreamingMessage({ message: message("stream 3 2 1") })) {
      if (payload.case === "artifactUpdate") seen.push(payload.value.append, payload.value.lastChunk);
    }
    expect(seen).toEqual([false, false, true, false, true, true]);
  });

  it.each(["wait 60000", "stream 100 1 1000"])("can be canceled: %s", async (text) => {
    const sent = await client.sendMessage({ message: message(text), configuration: { returnImmediately: true } });
    const id = sent.payload.case === "task" ? sent.payload.value.id : "";
    expect(outcome(await client.cancelTask({ id }))).toEqual(["CANCELED", "", expect.anything()]);
  });

  it("has an example for every skill", () => {
    expect(a2a.card().skills.map(({ id, examples }) => examples[0]?.startsWith(id))).not.toContain(false);
    expect(a2a.card().skills).toHaveLength(13);
  });
});
