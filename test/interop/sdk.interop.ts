import { SendMessageRequest, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, ClientFactoryOptions, withA2AExtensions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import {
  A2AError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";

/*
 * Peculiarities of the SDK's client, for which the server has no workaround:
 *
 * - Its default factory supports JSON-RPC and HTTP+JSON. gRPC has to be added, and is dialled without TLS.
 * - Another code generator generates its messages: every field is required, and a one-of is a `$case`.
 *   `SendMessageRequest.fromJSON` fills in the fields, so requests are written as JSON here.
 * - It always sends `A2A-Version: 1.0`, and `configuration` even if the caller gave none.
 * - Over HTTP+JSON it subscribes with POST (the contract says GET), cancels with POST, a content type and no body, and
 *   sends a content type with GET too.
 * - Its methods for push notifications check the card first and do not call an agent without them.
 * - Over HTTP+JSON it recognizes an error in a stream only in a frame of the type `error`. The specification names no
 *   such type, so our last frame with an `error` object arrives as an event without a payload.
 * - Its calls have no deadlines, only an AbortSignal.
 */

const home = new Home();
let server: ServerProcess;

beforeAll(async () => {
  server = await home.start();
});

afterAll(() => home.leave());

const resume = "urn:parley:ext:resume:v1";

function say(text: string, more: object = {}, configuration: object = {}): SendMessageRequest {
  const message = { messageId: text, role: "ROLE_USER", parts: [{ text }], ...more };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** Creates a client from the agent's URL, with a binding that the card declares. */
async function discover(binding: string): Promise<Client> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new GrpcTransportFactory()],
    preferredTransports: [binding],
  });
  return new ClientFactory(options).createFromUrl(server.url);
}

/** Sends a request. Returns its task; the agent could also answer with a message. */
async function send(client: Client, request: SendMessageRequest): Promise<Task> {
  const sent = await client.sendMessage(request);
  if ("messageId" in sent) throw new Error("The answer is a message.");
  return sent;
}

async function collect(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const cases = (events: readonly StreamResponse[]) => events.map(({ payload }) => payload?.$case);

describe("the SDK's own choice", () => {
  it("finds the card and takes the binding that the card prefers of those it knows", async () => {
    const client = await new ClientFactory().createFromUrl(server.url);
    expect(["JSONRPC", "HTTP+JSON"]).toContain(client.transport.protocolName);
    expect(await client.getAgentCard()).toMatchObject({ name: "Probe", capabilities: { streaming: true } });
  });
});

describe.each(["JSONRPC", "HTTP+JSON", "GRPC"])("the SDK's client over %s", (binding) => {
  let client: Client;

  beforeAll(async () => {
    client = await discover(binding);
    expect(client.transport.protocolName).toBe(binding);
  });

  it("sends a message and gets a task", async () => {
    const task = await send(client, say("echo hello", { contextId: binding }));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.contextId).toBe(binding);
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: "text", value: "hello" });
    expect(task.history.map(({ messageId }) => messageId)).toEqual(["echo hello"]);
  });

  it("gets a direct message", async () => {
    const sent = await client.sendMessage(say("say hi"));
    expect(sent).toMatchObject({ parts: [{ content: { $case: "text", value: "hi" } }] });
    expect(sent).toHaveProperty("messageId");
  });

  it("carries bytes and data both ways", async () => {
    const raw = Buffer.from([0, 1, 254, 255]);
    const data = { number: 1.5, nested: [null, true, { deep: "ü" }] };
    const parts = [{ raw: raw.toString("base64"), mediaType: "application/octet-stream" }, { data }];
    const task = await send(client, say("", { messageId: "parts", parts }));
    const [bytes, json] = task.artifacts[0]?.parts ?? [];
    expect(bytes?.content?.$case).toBe("raw");
    expect(Buffer.compare(bytes?.content?.value, raw)).toBe(0);
    expect(json?.content).toEqual({ $case: "data", value: data });
  });

  it("streams", async () => {
    const events = await collect(client.sendMessageStream(say("stream 3 4")));
    const [update, piece] = ["statusUpdate", "artifactUpdate"];
    expect(cases(events)).toEqual(["task", update, piece, piece, piece, update]);
    expect(events.at(-1)?.payload?.value).toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } });
  });

  it("leaves a stream in its middle without stopping the task", async () => {
    let id = "";
    for await (const { payload } of client.sendMessageStream(say("stream 1000 4 5"))) {
      if (payload?.$case === "task") id = payload.value.id;
      else break;
    }
    const { status } = await client.getTask({ tenant: "", id });
    expect(status?.state).toBe(TaskState.TASK_STATE_WORKING);
  });

  it("gets and lists tasks", async () => {
    const task = await send(client, say("echo listed", { contextId: `list ${binding}` }));
    expect(await client.getTask({ tenant: "", id: task.id })).toEqual(task);
    const { history } = await client.getTask({ tenant: "", id: task.id, historyLength: 0 });
    expect(history).toEqual([]);
    const page = await client.listTasks({
      tenant: "",
      contextId: task.contextId,
      status: TaskState.TASK_STATE_COMPLETED,
      pageSize: 1,
      pageToken: "",
      statusTimestampAfter: task.status?.timestamp,
      includeArtifacts: true,
    });
    expect(page).toMatchObject({ tasks: [task], pageSize: 1, totalSize: 1, nextPageToken: "" });
  });

  it("goes on with a task that asks", async () => {
    const asked = await send(client, say("ask Which colour?"));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const answered = await send(client, say("Blue.", { taskId: asked.id, contextId: asked.contextId }));
    expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answered.history).toHaveLength(3);
  });

  it("cancels a task that it is subscribed to", async () => {
    const { id } = await send(client, say("wait 20000", {}, { returnImmediately: true }));
    const events: StreamResponse[] = [];
    for await (const event of client.resubscribeTask({ tenant: "", id })) {
      events.push(event);
      if (events.length > 1) continue;
      const canceled = await client.cancelTask({ tenant: "", id, metadata: undefined });
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    }
    expect(cases(events)[0]).toBe("task");
    expect(events.at(-1)?.payload?.value).toMatchObject({ status: { state: TaskState.TASK_STATE_CANCELED } });
  });

  it("subscribes again exactly where it stopped, by the extension", async () => {
    const serviceParameters = { "Parley-After-Generation": "3" };
    withA2AExtensions(resume)(serviceParameters);
    const { id } = await send(client, say("stream 3 4"));
    const events = await collect(client.resubscribeTask({ tenant: "", id }, { serviceParameters }));
    expect(cases(events)).toEqual(["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    expect(events[1]?.payload?.value).toMatchObject({ metadata: { [resume]: { generation: 4 } } });
  });

  it("tells errors apart", async () => {
    await expect(client.getTask({ tenant: "", id: "nobody" })).rejects.toSatisfy(is(TaskNotFoundError));
    const { id } = await send(client, say("echo over"));
    const cancel = client.cancelTask({ tenant: "", id, metadata: undefined });
    await expect(cancel).rejects.toSatisfy(is(TaskNotCancelableError));
    const subscription = collect(client.resubscribeTask({ tenant: "", id }));
    await expect(subscription).rejects.toSatisfy(is(UnsupportedOperationError));
    await expect(client.sendMessage(say("more", { taskId: id }))).rejects.toSatisfy(is(UnsupportedOperationError));
    const malformed = client.sendMessage(say("x", { messageId: "" }));
    await expect(malformed).rejects.toThrow("message.messageId");
    await expect(malformed).rejects.toSatisfy(is(RequestMalformedError));
  });

  it("gives up a call", async () => {
    const call = client.sendMessage(say("wait 20000"), { signal: AbortSignal.timeout(300) });
    await expect(call).rejects.toThrow();
  });
});

/** Returns a check for errors of a kind by their name, because a transport may use another class. */
function is(kind: new () => A2AError): (error: unknown) => boolean {
  return (error) => error instanceof A2AError && error.name.endsWith(kind.name);
}
