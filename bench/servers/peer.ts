/** The peer: @a2a-js/sdk over JSON-RPC, REST and gRPC, its tasks in memory. `message` or `task` says what it answers. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
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
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { chunkText, DONE_TEXT, orderOf, RESULT_TEXT, replyTo, WORKING_TEXT } from "./answers.js";
import { serve } from "./child.js";

const card: AgentCard = {
  name: "Bench",
  description: "Answers as fast as it can.",
  version: "1.0.0",
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

const part = (value: string): Part => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});

const message = (contextId: string, taskId: string, text: string): Message => ({
  messageId: randomUUID(),
  contextId,
  taskId,
  role: Role.ROLE_AGENT,
  parts: [part(text)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

const textOf = ({ parts }: Message): string => {
  const content = parts[0]?.content;
  return content?.$case === "text" ? content.value : "";
};

const status = (state: TaskState, text?: Message): TaskStatus => ({
  state,
  message: text,
  timestamp: new Date().toISOString(),
});

const artifact = (artifactId: string, text: string): Artifact => ({
  artifactId,
  name: "result",
  description: "",
  parts: [part(text)],
  metadata: undefined,
  extensions: [],
});

function runTask({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus): void {
  const place = { taskId, contextId, metadata: undefined };
  const say = (state: TaskState, text?: string): void => {
    const said = text === undefined ? undefined : message(contextId, taskId, text);
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(state, said) }));
  };
  const submitted = status(TaskState.TASK_STATE_SUBMITTED);
  const task = { id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: undefined };
  const { chunks } = orderOf(textOf(userMessage));
  const count = chunks?.count ?? 1;
  const artifactId = randomUUID();
  bus.publish(AgentEvent.task(task));
  say(TaskState.TASK_STATE_WORKING, WORKING_TEXT);
  for (let index = 0; index < count; index++) {
    const text = chunks === undefined ? RESULT_TEXT : chunkText(index, chunks.length);
    const lastChunk = index + 1 === count;
    const update = { ...place, artifact: artifact(artifactId, text), append: index > 0, lastChunk };
    bus.publish(AgentEvent.artifactUpdate(update));
  }
  say(TaskState.TASK_STATE_COMPLETED, chunks === undefined ? undefined : DONE_TEXT);
}

const executor: AgentExecutor = {
  async execute(context, bus) {
    if (process.argv[2] === "task") runTask(context, bus);
    else bus.publish(AgentEvent.message(message(context.contextId, "", replyTo(textOf(context.userMessage)))));
  },
  async cancelTask() {},
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);

const app = express();
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: HttpUser.noAuthentication }));
app.use("/rest", restHandler({ requestHandler, userBuilder: HttpUser.noAuthentication }));
const http = createServer(app);
await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));

const grpc = new Server();
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUser.noAuthentication }));
const grpcPort = await new Promise<number>((resolve, reject) => {
  const done = (error: Error | null, port: number): void => (error === null ? resolve(port) : reject(error));
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
});

serve({ http: (http.address() as AddressInfo).port, grpc: grpcPort, rpcPath: "/rpc", restPath: "/rest" });
