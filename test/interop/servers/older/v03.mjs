// An agent served with the published JavaScript library for A2A 0.3: JSON-RPC, HTTP+JSON and gRPC.
//
// The file has to be in the library's folder. Prints the URL of its HTTP server when it is ready. The first word of a
// message selects the action.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUser, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";

const textOf = ({ parts }) => parts[0]?.text ?? "";

/** Ids of canceled tasks. */
const canceled = new Set();

/** Publishes the events of a task. */
class Work {
  constructor({ taskId, contextId }, bus) {
    this.place = { taskId, contextId };
    this.bus = bus;
  }

  message(text, taskId = this.place.taskId) {
    const { contextId } = this.place;
    const parts = [{ kind: "text", text }];
    return { kind: "message", messageId: randomUUID(), role: "agent", parts, contextId, ...(taskId && { taskId }) };
  }

  status(state, text, final = false) {
    const message = text === undefined ? {} : { message: this.message(text) };
    const status = { state, ...message, timestamp: new Date().toISOString() };
    this.bus.publish({ kind: "status-update", ...this.place, status, final });
  }

  artifact(name, text, { artifactId = randomUUID(), append = false, lastChunk = true } = {}) {
    const artifact = { artifactId, name, parts: [{ kind: "text", text }] };
    this.bus.publish({ kind: "artifact-update", ...this.place, artifact, append, lastChunk });
  }

  create(message) {
    const { taskId: id, contextId } = this.place;
    const status = { state: "submitted", timestamp: new Date().toISOString() };
    this.bus.publish({ kind: "task", id, contextId, status, history: [message], artifacts: [] });
  }

  /** Waits unless the task is canceled. Returns false if it was. */
  async pause(ms) {
    for (let waited = 0; waited < ms && !canceled.has(this.place.taskId); waited += 10) await sleep(Math.min(10, ms));
    return !canceled.has(this.place.taskId);
  }
}

const executor = {
  async execute(context, bus) {
    await act(new Work(context, bus), context);
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    canceled.add(taskId);
    const status = { state: "canceled", timestamp: new Date().toISOString() };
    bus.publish({ kind: "status-update", taskId, contextId: contexts.get(taskId) ?? "", status, final: true });
    bus.finished();
  },
};

const contexts = new Map();

async function act(work, { userMessage, task, taskId, contextId }) {
  contexts.set(taskId, contextId);
  const [first, ...rest] = textOf(userMessage).split(" ");
  if (first === "say" && task === undefined) return work.bus.publish(work.message(rest.join(" "), ""));
  if (task !== undefined) {
    work.artifact("answer", textOf(userMessage));
    return work.status("completed", undefined, true);
  }
  work.create(userMessage);
  if (first === "ask") return work.status("input-required", "What do you mean?", true);
  if (first === "fail") return work.status("failed", "It did not work.", true);
  work.status("working");
  if (first === "stream") {
    const [count, ms] = rest.map(Number);
    for (let i = 0; i < count; i++) {
      if (!(await work.pause(ms))) return;
      work.artifact("pieces", `${i + 1} `, { artifactId: "pieces", append: i > 0, lastChunk: i + 1 === count });
    }
  } else if (first === "wait") {
    if (!(await work.pause(Number(rest[0])))) return;
  } else {
    work.artifact("echo", rest.join(" "));
  }
  work.status("completed", undefined, true);
}

const app = express();
const http = createServer(app);
await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${http.address().port}`;

const grpc = new Server();
const port = await new Promise((resolve, reject) => {
  const done = (error, bound) => (error === null ? resolve(bound) : reject(error));
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
});

const card = {
  protocolVersion: "0.3.0",
  name: "Foreign",
  description: "Does what the first word says.",
  version: "1.0.0",
  url: `${url}/rpc`,
  preferredTransport: "JSONRPC",
  additionalInterfaces: [
    { url: `${url}/rest`, transport: "HTTP+JSON" },
    { url: `127.0.0.1:${port}`, transport: "GRPC" },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "do", name: "Do", description: "Does it.", tags: ["test"] }],
  supportsAuthenticatedExtendedCard: true,
};
const extended = async () => ({ ...card, name: "Foreign, and more" });
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  executor,
  undefined,
  undefined,
  undefined,
  extended,
);
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use("/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUser.noAuthentication }));
process.stdout.write(`${url}\n`);
