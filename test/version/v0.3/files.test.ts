import { createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, type Part, type Task } from "../../../gen/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed } from "../../../src/agent/event.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import { memoryStore } from "../../../src/store/memory/index.js";

/** A file whose bytes are not valid UTF-8. */
const file = Buffer.from([0, 255, 254, 1, 2]);
const text = Buffer.from(file.toString("base64"));

/** Sends back the file that it was sent, in an artifact and as the last word. */
const received: Buffer[] = [];
const agent: Agent = {
  card: { name: "Files", description: "Sends back files.", version: "1.0.0" },
  async *execute({ message }) {
    const { content } = message.parts[0] as { content: { value: Uint8Array } };
    received.push(Buffer.from(content.value));
    yield artifact({ id: "a", parts: [{ raw: content.value, filename: "f" }] });
    yield completed({ parts: [{ raw: content.value }] });
  },
};

let server: Server;
beforeAll(async () => {
  server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0 });
});
afterAll(() => server.close({ graceMs: 0 }));

interface Files {
  /** Bytes that the agent received. */
  readonly got: Buffer | undefined;
  /** The bytes of all files in the answers. */
  readonly sent: Buffer[];
  readonly streamed: Buffer[];
  readonly read: Buffer[];
}

type Way = (agent: string, bytes: Buffer) => Promise<Files>;

const inParts = (parts: readonly Part[]): Buffer[] =>
  parts.map(({ part }) => Buffer.from((part.value as { file: { value: Uint8Array } }).file.value));
const inTask = ({ history, artifacts, status }: Task): Buffer[] => [
  ...history.flatMap(({ content }) => inParts(content)),
  ...artifacts.flatMap(({ parts }) => inParts(parts)),
  ...inParts(status?.update?.content ?? []),
];

const overGrpc: Way = async (userAgent, bytes) => {
  const named: Interceptor = (next) => (request) => {
    request.header.set("user-agent", userAgent);
    return next(request);
  };
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}`, interceptors: [named] });
  const client = createClient(A2AService, transport);
  const part = { case: "file", value: { file: { case: "fileWithBytes", value: new Uint8Array(bytes) } } } as const;
  const request = () => ({
    request: { messageId: crypto.randomUUID(), role: 1, content: [{ part }] },
    configuration: { blocking: true },
  });
  const { payload } = await client.sendMessage(request());
  const task = payload.value as Task;
  const streamed: Buffer[] = [];
  for await (const { payload: event } of client.sendStreamingMessage(request())) {
    if (event.case === "artifactUpdate") streamed.push(...inParts(event.value.artifact?.parts ?? []));
    if (event.case === "statusUpdate") streamed.push(...inParts(event.value.status?.update?.content ?? []));
  }
  const read = inTask(await client.getTask({ name: `tasks/${task.id}` }));
  return { got: received.at(-1), sent: inTask(task), streamed, read };
};

/** Every file in a text of JSON. */
const inJson = (json: string): Buffer[] =>
  [...json.matchAll(/"fileWithBytes":"([^"]*)"/g)].map(([, bytes = ""]) => Buffer.from(bytes, "base64"));

const overRest: Way = async (userAgent, bytes) => {
  const headers = { "content-type": "application/json", "user-agent": userAgent };
  const call = async (path: string, body?: object): Promise<string> => {
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${server.url}/v1/${path}`, init)).text();
  };
  const request = () => ({
    request: {
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      content: [{ file: { fileWithBytes: bytes.toString("base64") } }],
    },
    configuration: { blocking: true },
  });
  const sent = await call("message:send", request());
  const streamed = await call("message:stream", request());
  const events = streamed.split("\n").filter((line) => /artifactUpdate|statusUpdate/.test(line));
  const { task } = JSON.parse(sent) as { task: { id: string } };
  const read = await call(`tasks/${task.id}`);
  return { got: received.at(-1), sent: inJson(sent), streamed: inJson(events.join("")), read: inJson(read) };
};

describe.each([
  ["gRPC", overGrpc, "grpc-python-asyncio/1.76.0 grpc-c/51.0.0 (linux; chttp2)", "grpc-go/1.76.0"],
  ["HTTP+JSON", overRest, "python-httpx/0.28.1", "Go-http-client/1.1"],
] as const)("a file of 0.3 over %s", (_name, way, python, go) => {
  // In the first answer the file stands in the history, an artifact and the status; in the stream in the last two.
  const all = (bytes: Buffer, count: number): Buffer[] => Array(count).fill(bytes);

  it.each([
    ["the library for Python, as text", python, text, [text, text, text]],
    ["the library for Python, as bytes", python, file, [text, text, text]],
    ["the library for Go, as text", go, text, [text, text, file]],
    ["the library for Go, as bytes", go, file, [file, file, file]],
  ])(
    "of %s, is read as it is meant, and answered as it is read",
    async (_of, userAgent, bytes, [sent, streamed, read]) => {
      const files = await way(userAgent, bytes);
      expect(files.got).toEqual(file);
      expect(files.sent).toEqual(all(sent as Buffer, 3));
      expect(files.streamed).toEqual(all(streamed as Buffer, 2));
      expect(files.read).toEqual(all(read as Buffer, 3));
    },
  );

  it.each(["grpc-node-js/1.14.0", "curl/8.5.0"])("of any other caller is its bytes: %s", async (userAgent) => {
    const files = await way(userAgent, text);
    expect(files.got).toEqual(text);
    expect([...files.sent, ...files.streamed, ...files.read]).toEqual(all(text, 8));
  });

  it("of these libraries is its bytes where they are no base64", async () => {
    const plain = Buffer.from("hello, world");
    expect((await way(python, plain)).got).toEqual(plain);
    expect((await way(go, Buffer.from("abcde"))).got).toEqual(Buffer.from("abcde"));
  });
});
