import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import * as node from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  A2AService,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";

/** Every protocol of the libraries, all of them on the HTTP port. Those of the web library use fetch. */
const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect, binary, HTTP/1.1": (baseUrl) =>
    node.createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
  "Connect, JSON, HTTP/1.1": (baseUrl) =>
    node.createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect, binary, HTTP/2": (baseUrl) =>
    node.createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }),
  "gRPC-Web, binary, HTTP/1.1": (baseUrl) => node.createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "gRPC-Web, JSON, HTTP/1.1": (baseUrl) =>
    node.createGrpcWebTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "gRPC-Web, binary, HTTP/2": (baseUrl) => node.createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "gRPC, binary, HTTP/2": (baseUrl) => node.createGrpcTransport({ baseUrl }),
  "Connect, JSON, fetch": (baseUrl) => web.createConnectTransport({ baseUrl }),
  "Connect, binary, fetch": (baseUrl) => web.createConnectTransport({ baseUrl, useBinaryFormat: true }),
  "gRPC-Web, binary, fetch": (baseUrl) => web.createGrpcWebTransport({ baseUrl }),
};

const home = new Home();
let server: ServerProcess;

beforeAll(async () => {
  server = await home.start();
});

afterAll(() => home.leave());

type MessageInit = NonNullable<MessageInitShape<typeof SendMessageRequestSchema>["message"]>;

/** A request that waits for the agent, unless `returnImmediately`. */
function say(text: string, more: Omit<MessageInit, "$typeName"> = {}, returnImmediately = false): SendMessageRequest {
  const parts = [{ content: { case: "text", value: text } as const }];
  const message = { messageId: text, role: Role.USER, parts, ...more };
  return create(SendMessageRequestSchema, { message, configuration: { returnImmediately } });
}

describe.each(Object.keys(transports))("a client of Connect's libraries over %s", (name) => {
  let client: Client<typeof A2AService>;

  beforeAll(() => {
    client = createClient(A2AService, (transports[name] as (baseUrl: string) => Transport)(server.url));
  });

  /** Sends a request. Returns its task; the agent could also answer with a message. */
  async function send(request: SendMessageRequest): Promise<Task> {
    const { payload } = await client.sendMessage(request);
    if (payload.case !== "task") throw new Error("The answer is a message.");
    return payload.value;
  }

  it("sends messages", async () => {
    const task = await send(say("echo hello"));
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ case: "text", value: "hello" });
    const { payload } = await client.sendMessage(say("say hi"));
    expect(payload.case).toBe("message");
  });

  it("carries every kind of part", async () => {
    const parts: NonNullable<MessageInit["parts"]> = [
      { content: { case: "raw", value: Uint8Array.from([0, 1, 254, 255]) }, mediaType: "application/octet-stream" },
      { content: { case: "url", value: "https://example.org/ü" }, filename: "ü" },
    ];
    const [artifact] = (await send(say("", { messageId: "parts", parts }))).artifacts;
    expect(artifact?.parts).toMatchObject(parts);
  });

  it("streams, and reads headers and trailers", async () => {
    const events: StreamResponse[] = [];
    let requestId: string | null = null;
    const headers = { "X-Request-Id": "from-connect" };
    const onHeader = (header: Headers): void => {
      requestId = header.get("x-request-id");
    };
    for await (const event of client.sendStreamingMessage(say("stream 3 4"), { headers, onHeader })) events.push(event);
    const [update, piece] = ["statusUpdate", "artifactUpdate"];
    expect(events.map(({ payload }) => payload.case)).toEqual(["task", update, piece, piece, piece, update]);
    expect(requestId).toBe("from-connect");
  });

  it("gets, lists and cancels tasks, and is told of it where it subscribes", async () => {
    const { id } = await send(say("wait 20000", { contextId: name }, true));
    expect((await client.getTask({ id })).contextId).toBe(name);
    expect(await client.listTasks({ contextId: name })).toMatchObject({ totalSize: 1, tasks: [{ id }] });
    const states: (TaskState | undefined)[] = [];
    for await (const { payload } of client.subscribeToTask({ id })) {
      if (payload.case === "task") {
        const canceled = await client.cancelTask({ id });
        expect(canceled.status?.state).toBe(TaskState.CANCELED);
      }
      if (payload.case === "statusUpdate") states.push(payload.value.status?.state);
    }
    expect(states.at(-1)).toBe(TaskState.CANCELED);
  });

  it("leaves a stream in its middle without stopping the task", async () => {
    let id = "";
    for await (const { payload } of client.sendStreamingMessage(say("stream 1000 4 5"))) {
      if (payload.case === "task") id = payload.value.id;
      if (payload.case === "artifactUpdate") break;
    }
    expect((await client.getTask({ id })).status?.state).toBe(TaskState.WORKING);
  });

  it("reads the details of errors, of a call and of a stream", async () => {
    const failure = await failed(client.getTask({ id: "nobody" }));
    expect(failure.code).toBe(Code.NotFound);
    expect(failure.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "TASK_NOT_FOUND", metadata: { taskId: "nobody" } },
    ]);
    const invalid = await failed(client.sendMessage({ message: { role: Role.USER } }));
    const [violations] = invalid.findDetails(BadRequestSchema);
    expect(violations?.fieldViolations.map(({ field }) => field).toSorted()).toEqual([
      "message.messageId",
      "message.parts",
    ]);
    const streamed = await failed(readAll(client.subscribeToTask({ id: "nobody" })));
    expect(streamed.code).toBe(Code.NotFound);
    expect(streamed.findDetails(ErrorInfoSchema)).toMatchObject([{ domain: "a2a-protocol.org" }]);
  });

  it("has its deadline kept", async () => {
    const failure = await failed(client.sendMessage(say("wait 20000"), { timeoutMs: 300 }));
    expect(failure.code).toBe(Code.DeadlineExceeded);
  });
});

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

async function failed(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectError) return error;
  throw new Error(`The call did not fail as it should: ${String(error)}`);
}
