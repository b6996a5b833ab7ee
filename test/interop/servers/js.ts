/**
 * An agent served with the published JavaScript library over all of its bindings: JSON-RPC, HTTP+JSON and gRPC.
 *
 * Prints the URL of its HTTP server when it is ready. The first word of a message selects the action. An argument is
 * the key that callers need. With it, the agent also sends push notifications and has a card for callers with the key.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentCard, type Message, type Part, Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, UserBuilder as HttpUser, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUser, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials, ServerInterceptingCall, status } from "@grpc/grpc-js";
import express from "express";

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

/** Ids of canceled tasks. */
const canceled = new Set<string>();

/** Publishes the events of a task. */
class Work {
  readonly #bus: ExecutionEventBus;
  readonly #place: { taskId: string; contextId: string; metadata: undefined };

  constructor({ taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
    this.#bus = bus;
    this.#place = { taskId, contextId, metadata: undefined };
  }

  message(text: string, taskId = this.#place.taskId): Message {
    return {
      messageId: randomUUID(),
      contextId: this.#place.contextId,
      taskId,
      role: Role.ROLE_AGENT,
      parts: [part(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  status(state: TaskState, text?: string): void {
    const message = text === undefined ? undefined : this.message(text);
    const status = { state, message, timestamp: new Date().toISOString() };
    this.#bus.publish(AgentEvent.statusUpdate({ ...this.#place, status }));
  }

  artifact(
    name: string,
    text: string,
    more: { artifactId?: string; append?: boolean; lastChunk?: boolean } = {},
  ): void {
    const { artifactId = randomUUID(), append = false, lastChunk = true } = more;
    const artifact = { artifactId, name, description: "", parts: [part(text)], metadata: undefined, extensions: [] };
    this.#bus.publish(AgentEvent.artifactUpdate({ ...this.#place, artifact, append, lastChunk }));
  }

  create(message: Message): void {
    const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
    const { taskId: id, contextId } = this.#place;
    this.#bus.publish(
      AgentEvent.task({ id, contextId, status, artifacts: [], history: [message], metadata: undefined }),
    );
  }

  /** Waits unless the task is canceled. Returns false if it was. */
  async pause(ms: number): Promise<boolean> {
    for (let waited = 0; waited < ms && !canceled.has(this.#place.taskId); waited += 10) await sleep(Math.min(10, ms));
    return !canceled.has(this.#place.taskId);
  }
}

const executor: AgentExecutor = {
  async execute(context, bus) {
    const { userMessage, task } = context;
    const work = new Work(context, bus);
    const [first, ...rest] = textOf(userMessage).split(" ");
    if (first === "say" && task === undefined) return bus.publish(AgentEvent.message(work.message(rest.join(" "), "")));
    if (task !== undefined) {
      // In a stream the library requires a task first, even when it continues one.
      bus.publish(AgentEvent.task(task));
      work.artifact("answer", textOf(userMessage));
      return work.status(TaskState.TASK_STATE_COMPLETED);
    }
    work.create(userMessage);
    if (first === "ask") return work.status(TaskState.TASK_STATE_INPUT_REQUIRED, "What do you mean?");
    if (first === "fail") return work.status(TaskState.TASK_STATE_FAILED, "It did not work.");
    work.status(TaskState.TASK_STATE_WORKING);
    if (first === "stream") {
      const [count, ms] = rest.map(Number) as [number, number];
      for (let i = 0; i < count; i++) {
        if (!(await work.pause(ms))) return;
        work.artifact("pieces", `${i + 1} `, { artifactId: "pieces", append: i > 0, lastChunk: i + 1 === count });
      }
    } else if (first === "wait") {
      if (!(await work.pause(Number(rest[0])))) return;
    } else {
      work.artifact("echo", rest.join(" "));
    }
    work.status(TaskState.TASK_STATE_COMPLETED);
  },
  async cancelTask(taskId, bus) {
    canceled.add(taskId);
    const status = { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: "", metadata: undefined, status }));
  },
};

const key = process.argv[2];

const app = express();
const http = createServer(app);
await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

const grpc = new Server({
  interceptors: [
    (_, call) =>
      new ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata: (metadata, pass) => {
              if (key === undefined || metadata.get("x-api-key")[0] === key) return pass(metadata);
              call.sendStatus({ code: status.UNAUTHENTICATED, details: "There is no key." });
            },
          }),
      }),
  ],
});
const bound = new Promise<number>((resolve, reject) => {
  const done = (error: Error | null, port: number): void => (error === null ? resolve(port) : reject(error));
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
});
const port = await bound;

const binding = (protocolBinding: string, url: string) => ({
  protocolBinding,
  url,
  tenant: "",
  protocolVersion: "1.0",
});
const card: AgentCard = {
  name: "Foreign",
  description: "Does what the first word says.",
  version: "1.0.0",
  supportedInterfaces: [
    binding("JSONRPC", `${url}/rpc`),
    binding("HTTP+JSON", `${url}/rest`),
    binding("GRPC", `127.0.0.1:${port}`),
  ],
  provider: undefined,
  capabilities: {
    streaming: true,
    pushNotifications: key !== undefined,
    extendedAgentCard: key !== undefined,
    extensions: [],
  },
  securitySchemes:
    key === undefined
      ? {}
      : {
          key: {
            scheme: {
              $case: "apiKeySecurityScheme",
              value: { description: "", location: "header", name: "X-Api-Key" },
            },
          },
        },
  securityRequirements: key === undefined ? [] : [{ schemes: { key: { list: [] } } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};
const configs = key === undefined ? undefined : new InMemoryPushNotificationStore();
const sender = configs && new DefaultPushNotificationSender(configs);
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  executor,
  undefined,
  configs,
  sender,
  key === undefined ? undefined : async () => ({ ...card, name: "Foreign, and more" }),
);
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use(["/rpc", "/rest"], (request, response, next) => {
  if (key === undefined || request.headers["x-api-key"] === key) return next();
  response.status(401).json({ error: { code: 401, status: "UNAUTHENTICATED", message: "There is no key." } });
});
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: HttpUser.noAuthentication }));
app.use("/rest", restHandler({ requestHandler, userBuilder: HttpUser.noAuthentication }));
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUser.noAuthentication }));
process.stdout.write(`${url}\n`);
