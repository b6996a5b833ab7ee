import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Agent, createServer, type ServerOptions } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { bindingOf } from "../../../test/support/drivers.js";
import { HttpClient } from "../../../test/support/http.js";
import { furtherSpeakers, type Said, type Speaker, speakers } from "../../../test/version/across/speakers.js";
import { exchange } from "../../../test/version/cases/exchange.js";
import { GrpcClient } from "../../../test/version/cases/grpc-client.js";
import { FirstJavaScriptClient, pythonParams } from "../../../test/version/v0.1/first-clients.js";

/** A served agent, and connections of clients to it. */
export interface Served {
  readonly url: string;
  readonly grpcPort: number;
  readonly http: HttpClient;
  readonly grpc: GrpcClient;
  close(): Promise<void>;
}

/** Serves an agent on free ports, with its tasks in memory. */
export async function serve(agent: Agent, options: Partial<ServerOptions> = {}): Promise<Served> {
  const server = await createServer({
    ...{ agent, store: memoryStore(), host: "127.0.0.1", port: 0, grpcPort: 0 },
    ...options,
  });
  const grpcPort = server.grpcPort ?? 0;
  const http = new HttpClient();
  const grpc = new GrpcClient(`127.0.0.1:${grpcPort}`);
  const close = async (): Promise<void> => {
    http.close();
    grpc.close();
    await server.close();
  };
  return { url: `http://127.0.0.1:${server.port}`, grpcPort, http, grpc, close };
}

/** A task as a client of any version sees it. */
export interface SeenTask {
  readonly id: string;
  readonly contextId: string;
  /** In the words of 0.3, such as `input-required`. */
  readonly state: string;
  /** Text of the status. */
  readonly text: string;
  readonly artifacts: readonly SeenArtifact[];
}

/** An artifact, or a piece of one. */
export interface SeenArtifact {
  /** Its id, or in 0.1 its index. */
  readonly id: string;
  /** Pieces after the first one may have none. */
  readonly name: string;
  readonly text: string;
}

/** Statuses and pieces of artifacts that a client has received from a stream. */
export interface SeenStream {
  readonly taskId: string;
  readonly statuses: readonly { readonly state: string; readonly text: string }[];
  readonly pieces: readonly SeenArtifact[];
}

/** A client of one version over one binding. */
export interface TestCaller {
  readonly name: string;
  send(served: Served, said: Said): Promise<SeenTask>;
  stream(served: Served, said: Said): Promise<SeenStream>;
}

/** Clients of 1.0 over the five bindings, and of 0.3, 0.2 and 0.1 over those that they have; and the first two of 0.1. */
export const callers: readonly TestCaller[] = [
  ...speakers.map(callerOf),
  ...furtherSpeakers.filter(({ binding }) => binding === "CONNECT").map(callerOf),
  {
    name: "1.0 over gRPC-Web",
    send: async ({ url, grpcPort }, said) => {
      const driver = bindingOf("grpc-web").connect({ url, grpcPort });
      const { message, error } = await driver.call("SendMessage", { message: messageOf(said) });
      driver.close();
      if (message === undefined) throw new Error(JSON.stringify(error));
      return taskIn(message);
    },
    stream: async ({ url, grpcPort }, said) => {
      const driver = bindingOf("grpc-web").connect({ url, grpcPort });
      const { messages } = await driver.stream("SendStreamingMessage", { message: messageOf(said) }).rest();
      driver.close();
      return streamIn(messages);
    },
  },
  firstClient("the first JavaScript client", (id, { text, contextId }) => ({
    ...{ id, sessionId: contextId, acceptedOutputModes: ["text"] },
    message: { role: "user", parts: [{ type: "text", text }] },
  })),
  firstClient("the first Python client", (id, { text, contextId }) => pythonParams(id, text, { sessionId: contextId })),
];

/** A client of 0.1 as it was published, which names its tasks itself. */
function firstClient(name: string, paramsOf: (id: string, said: Said) => Record<string, unknown>): TestCaller {
  return {
    name: `0.1 as ${name}`,
    send: async ({ url }, said) => {
      const params = paramsOf(said.taskId ?? randomUUID(), said);
      return taskIn((await new FirstJavaScriptClient(url).call("tasks/send", params)) as JsonObject);
    },
    stream: async ({ url }, said) => {
      const events: JsonObject[] = [];
      const params = paramsOf(said.taskId ?? randomUUID(), said);
      const stream = new FirstJavaScriptClient(url).stream("tasks/sendSubscribe", params);
      for await (const event of stream) events.push(event as JsonObject);
      return streamIn(events);
    },
  };
}

function callerOf(speaker: Speaker): TestCaller {
  return {
    name: speaker.name,
    send: async (served, said) => {
      const outcome = await exchange(speaker.send(said), served);
      if (outcome.body === undefined) throw new Error(JSON.stringify(outcome));
      return taskIn(outcome.body);
    },
    stream: async (served, said) => {
      const { events, ...outcome } = await exchange(speaker.stream(said), served);
      if (events === undefined) throw new Error(JSON.stringify(outcome));
      return streamIn(events);
    },
  };
}

function messageOf({ text, ...ids }: Said): JsonObject {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...defined(ids) };
}

function defined(values: Partial<Said>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as JsonObject;
}

type Members = Readonly<Record<string, JsonValue | undefined>>;

const membersOf = (value: JsonValue | undefined): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

/** Reads the task of an answer of any version. */
export function taskIn(answer: JsonValue): SeenTask {
  const result = membersOf(membersOf(answer).result ?? answer);
  const { id, contextId, sessionId, status, artifacts } = membersOf(result.task ?? (result as JsonObject));
  if (typeof id !== "string") throw new Error(`Not a task: ${JSON.stringify(answer)}`);
  return {
    id,
    contextId: String(contextId ?? sessionId),
    ...statusIn(status),
    artifacts: listOf(artifacts).map(artifactIn),
  };
}

function statusIn(status: JsonValue | undefined): { readonly state: string; readonly text: string } {
  const { state, message, update } = membersOf(status);
  const word = String(state).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
  return { state: word, text: textIn(message ?? update) };
}

function artifactIn(artifact: JsonValue): SeenArtifact {
  const { artifactId, index, name } = membersOf(artifact);
  return { id: String(artifactId ?? index ?? 0), name: String(name ?? ""), text: textIn(artifact, "") };
}

/** Joins the text parts of a message or artifact; gRPC of 0.3 calls the parts of a message its content. */
function textIn(value: JsonValue | undefined, separator = "\n"): string {
  const { parts, content } = membersOf(value);
  const texts = listOf(parts ?? content).map((part) => membersOf(part).text);
  return texts.filter((text) => typeof text === "string").join(separator);
}

/** Reads the events of a stream of any version. */
export function streamIn(events: readonly JsonValue[]): SeenStream {
  const statuses: { state: string; text: string }[] = [];
  const pieces: SeenArtifact[] = [];
  let taskId = "";
  for (const event of events) {
    const result = membersOf(membersOf(event).result ?? event);
    const inner = membersOf(result.task ?? result.statusUpdate ?? result.artifactUpdate ?? (result as JsonObject));
    taskId ||= String(inner.taskId ?? inner.id ?? "");
    if (inner.status !== undefined) statuses.push(statusIn(inner.status));
    if (inner.artifact !== undefined) pieces.push(artifactIn(inner.artifact));
  }
  return { taskId, statuses, pieces };
}
