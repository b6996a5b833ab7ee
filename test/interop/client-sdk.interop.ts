import { randomUUID } from "node:crypto";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentCard, type Artifact, type Message, type Part, Role, TaskState, type TaskStatus } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { UserBuilder as HttpUser, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUser, grpcService } from "@a2a-js/sdk/server/grpc";
import { clone } from "@bufbuild/protobuf";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState as Done, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { conversation } from "../../src/client/follow/conversation.js";
import { follow, send, stream } from "../../src/client/follow/send.js";
import type { Update } from "../../src/task/answer.js";
import { type ClientBinding, coreOver } from "../client/cores.js";
import { CuttingProxy } from "../support/cutting-proxy.js";

/*
 * Parley's client with a server of the JavaScript SDK, which has no exact resume. The client has no workaround for
 * these peculiarities that would affect other servers:
 *
 * - A subscription attaches to the events before it reads the task, and events are sent before they are stored. So the
 *   first task of a subscription may contain events that are sent again, and may lack events that are never sent. The
 *   client therefore reads the task again at the end.
 * - The history already contains the message of the current status.
 */

const CUTS = 100;
const stories = new Map<string, () => boolean>();

const part = (value: string): Part => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});

const textOf = ({ parts }: Message): string => {
  const content = parts[0]?.content;
  return content?.$case === "text" ? content.value : "";
};

function messageOf(context: RequestContext, text: string): Message {
  const { contextId, taskId } = context;
  const rest = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [part(text)], ...rest };
}

const statusOf = (state: TaskState, message?: Message): TaskStatus => ({
  state,
  message,
  timestamp: new Date().toISOString(),
});

function artifactOf(artifactId: string, text: string): Artifact {
  return { artifactId, name: "result", description: "", parts: [part(text)], metadata: undefined, extensions: [] };
}

/** Answers `say …` with a message and `ask` with a question. Other texts stream until their story ends. */
const executor: AgentExecutor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const text = textOf(userMessage);
    const place = { taskId, contextId, metadata: undefined };
    if (text.startsWith("say ")) return bus.publish(AgentEvent.message(messageOf(context, text.slice(4))));
    const status = statusOf(TaskState.TASK_STATE_SUBMITTED);
    const task = { id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined };
    // The SDK's server requires a task first, even when it continues one.
    bus.publish(AgentEvent.task(context.task ?? task));
    const say = (state: TaskState, said?: string): void => {
      const message = said === undefined ? undefined : messageOf(context, said);
      bus.publish(AgentEvent.statusUpdate({ ...place, status: statusOf(state, message) }));
    };
    if (text === "ask") return say(TaskState.TASK_STATE_INPUT_REQUIRED, "Which one?");
    await story(stories.get(text) ?? (() => true), bus, place, say);
  },
  async cancelTask() {},
};

type Place = { taskId: string; contextId: string; metadata: undefined };

async function story(
  isOver: () => boolean,
  bus: ExecutionEventBus,
  place: Place,
  say: (state: TaskState, said?: string) => void,
): Promise<void> {
  say(TaskState.TASK_STATE_WORKING, "Begun.");
  for (let index = 0; index === 0 || !isOver(); index++) {
    const artifact = artifactOf("all", `${index} `);
    bus.publish(AgentEvent.artifactUpdate({ ...place, artifact, append: index > 0, lastChunk: false }));
    if (index % 20 === 0) say(TaskState.TASK_STATE_WORKING, `${index} done.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  say(TaskState.TASK_STATE_COMPLETED, "Done.");
}

const card: AgentCard = {
  name: "Other",
  description: "Another server.",
  version: "1.0.0",
  // The client finds the supported versions here.
  supportedInterfaces: ["JSONRPC", "HTTP+JSON", "GRPC"].map((protocolBinding) => ({
    url: "http://127.0.0.1",
    protocolBinding,
    tenant: "",
    protocolVersion: "1.0",
  })),
  provider: undefined,
  capabilities: { streaming: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};

const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
let http: HttpServer;
const grpc = new Server();
let grpcPort = 0;

beforeAll(async () => {
  const app = express();
  app.use("/rpc", jsonRpcHandler({ requestHandler: handler, userBuilder: HttpUser.noAuthentication }));
  app.use("/rest", restHandler({ requestHandler: handler, userBuilder: HttpUser.noAuthentication }));
  http = createServer(app);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  grpc.addService(A2AService, grpcService({ requestHandler: handler, userBuilder: GrpcUser.noAuthentication }));
  grpcPort = await new Promise<number>((resolve, reject) => {
    const done = (error: Error | null, port: number): void => (error === null ? resolve(port) : reject(error));
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
  });
});

afterAll(async () => {
  grpc.forceShutdown();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
const paths: Partial<Record<ClientBinding, string>> = { JSONRPC: "/rpc", "HTTP+JSON": "/rest" };
const other = { canResume: false, idempotent: false };

const portOf = (binding: ClientBinding): number =>
  binding === "GRPC" ? grpcPort : (http.address() as AddressInfo).port;

const urlOf = (binding: ClientBinding, port: number): string =>
  binding === "GRPC" ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}${paths[binding]}`;

async function seen(updates: AsyncIterable<Update>, onTask: (id: string) => void = () => {}) {
  const kinds: Update["kind"][] = [];
  let text = "";
  let task: Task | undefined;
  for await (const update of updates) {
    if (kinds.push(update.kind) === 1) onTask(update.task?.id ?? "");
    if (update.kind === "artifact") text += update.text;
    task = update.task;
  }
  return { kinds, text, task: task === undefined ? undefined : clone(TaskSchema, task) };
}

describe.each(bindings)("Parley's client with the SDK's server over %s", (binding) => {
  const core = () => coreOver(binding, urlOf(binding, portOf(binding)), other);

  it("streams a task, with its text as it grows", async () => {
    const client = core();
    let left = 5;
    stories.set(`count ${binding}`, () => --left <= 0);
    const { kinds, text, task } = await seen(stream(client, `count ${binding}`));
    expect(kinds[0]).toBe("task");
    expect(text).toBe("0 1 2 3 4 ");
    expect(task?.status?.state).toBe(Done.COMPLETED);
    await client.close();
  });

  it("gets a direct answer, at once and as a stream", async () => {
    const client = core();
    expect(await send(client, "say Hello.")).toMatchObject({ text: "Hello.", task: undefined });
    expect((await seen(stream(client, "say Hello."))).kinds).toEqual(["message"]);
    await client.close();
  });

  it("answers a question in a conversation", async () => {
    const client = core();
    const talk = conversation(client);
    expect(await talk.send("ask")).toMatchObject({ text: "Which one?" });
    const asked = talk.taskId;
    expect(asked).toBeDefined();
    const { task } = await seen(talk.stream("that one"));
    expect(task).toMatchObject({ id: asked, status: { state: Done.COMPLETED } });
    expect(talk.taskId).toBeUndefined();
    await client.close();
  });

  it("ends with the task that one who was never cut has, after a hundred cuts", { timeout: 180_000 }, async () => {
    const plan = (nth: number) => ({ ms: nth === 1 ? 300 : 10 + Math.random() * 60 });
    const proxy = await CuttingProxy.open(portOf(binding), { plan, most: CUTS, refuseEvery: 10 });
    const client = coreOver(binding, urlOf(binding, proxy.port), other);
    const whole = core();
    stories.set(`cut ${binding}`, () => proxy.cuts >= CUTS);
    let uncut: ReturnType<typeof seen> | undefined;
    const cut = await seen(stream(client, `cut ${binding}`), (id) => {
      uncut = seen(follow(whole, id));
    });
    expect(proxy.cuts).toBe(CUTS);
    expect(cut.kinds).toContain("snapshot");
    expect(cut.task).toEqual((await uncut)?.task);
    await Promise.all([client.close(), whole.close(), proxy.close()]);
  });
});
