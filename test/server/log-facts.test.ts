import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  type Agent,
  type AuditRecord,
  completed,
  createServer,
  inputRequired,
  type Server,
  type ServerOptions,
  working,
} from "../../src/index.js";
import { pushRetry } from "../../src/push/outcome.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { registerRecorder, unregisterRecorder } from "../telemetry/recorder.js";

interface Line {
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-request-id": "r-1" };

/** An HTTP server that answers every request with a status. */
const refusing = (status: number): Promise<number> => answering(() => status);

/** @param statusOf returns the status of the answer to a body */
async function answering(statusOf: (body: string) => number): Promise<number> {
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.writeHead(statusOf(body)).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** An agent that works until it is stopped. */
const waiting = (more: Partial<Agent> = {}): Agent => ({
  card: { name: "Waiting", description: "-", version: "1", skills: [] },
  async *execute({ signal }) {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  },
  ...more,
});

const factsOf = (lines: readonly Line[], message: string): Record<string, unknown> | undefined =>
  lines.find((line) => line.message === message)?.facts;

async function serve(options: Partial<ServerOptions> & { readonly agent: Agent }): Promise<[Server, Line[]]> {
  const lines: Line[] = [];
  const note = (facts: object, message: string): void => void lines.push({ message, facts: { ...facts } });
  const logger = { debug: note, info: note, warn: note, error: note };
  const server = await createServer({ store: memoryStore(), port: 0, grpcPort: false, logger, ...options });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return [server, lines];
}

/** Sends a traced message and returns the id of its task. */
async function send({ url }: Server, configuration: object, more: object = {}, requestId = "r-1"): Promise<string> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", ...traced, "x-request-id": requestId };
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }], ...more };
  const body = JSON.stringify({ message, configuration });
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body });
  const { task } = (await answer.json()) as { task: { id: string } };
  return task.id;
}

it("names request, trace, task and agent of a notification that fails and is given up", async () => {
  const port = await refusing(410);
  const records: AuditRecord[] = [];
  const [server, lines] = await serve({
    agent: {
      card: { name: "Pushing", description: "-", version: "1", skills: [] },
      async *execute() {
        yield completed("done");
      },
    },
    push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] },
    audit: { write: (record) => void records.push(record) },
  });
  const url = `http://127.0.0.1:${port}/hook`;
  const taskId = await send(server, { taskPushNotificationConfig: { id: "c-1", url } });
  const facts = { requestId: "r-1", traceId, taskId, agent: "Pushing" };
  for (const message of ["a push notification was not accepted", "push notifications were given up"]) {
    await expect.poll(() => lines.find((line) => line.message === message)?.facts).toMatchObject(facts);
  }
  const given = (): AuditRecord | undefined => records.find(({ event }) => event === "push.dead-lettered");
  await expect.poll(given).toMatchObject({ ...facts, target: `${taskId}/c-1` });
});

const notAccepted = (lines: Line[]): Record<string, unknown>[] =>
  lines.filter(({ message }) => message === "a push notification was not accepted").map(({ facts }) => facts);

it("names the request whose turn wrote the event of a notification, also after a retry and with messages waiting", async () => {
  setConstants(pushRetry, { firstMs: 20 });
  const answers = new Map([
    ["still the first", [500]],
    ["the second", [500, 410]],
  ]);
  const port = await answering((body) => {
    const next = [...answers].find(([text]) => body.includes(text));
    return next?.[1].shift() ?? 200;
  });
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const [server, lines] = await serve({
    agent: {
      card: { name: "Pushing", description: "-", version: "1", skills: [] },
      async *execute({ text }) {
        if (text === "go") {
          yield working("the first");
          await opened;
          yield working("still the first");
        } else {
          yield working("the second");
          yield completed("done");
        }
      },
    },
    push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] },
  });
  const url = `http://127.0.0.1:${port}/hook`;
  const taskId = await send(server, { returnImmediately: true, taskPushNotificationConfig: { id: "c-1", url } });
  await send(server, { returnImmediately: true }, { taskId, parts: [{ text: "more" }] }, "r-2");
  open();
  const given = (): Line | undefined => lines.find(({ message }) => message === "push notifications were given up");
  await expect.poll(given).toMatchObject({ facts: { requestId: "r-2", traceId, taskId, agent: "Pushing" } });
  expect(notAccepted(lines)).toMatchObject([
    { requestId: "r-1", failure: "the receiver answered 500" },
    { requestId: "r-2", failure: "the receiver answered 500" },
    { requestId: "r-2", failure: "the receiver answered 410" },
  ]);
});

it("names the request of a later turn in another process", async () => {
  setConstants(pushRetry, { firstMs: 20 });
  const path = temporaryFile();
  const port = await answering((body) => (body.includes("again") ? 500 : 200));
  const options = {
    agent: {
      card: { name: "Pushing", description: "-", version: "1", skills: [] },
      async *execute({ text }) {
        yield inputRequired(text === "go" ? "ask" : "again");
      },
    } satisfies Agent,
    push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] },
  };
  const [first, before] = await serve({ ...options, store: sqliteStore(path) });
  const url = `http://127.0.0.1:${port}/hook`;
  const taskId = await send(first, { taskPushNotificationConfig: { id: "c-1", url } });
  await send(first, {}, { taskId, parts: [{ text: "more" }] }, "r-2");
  await expect.poll(() => notAccepted(before)).not.toEqual([]);
  await first.close({ graceMs: 0 });
  const [, after] = await serve({ ...options, store: sqliteStore(path) });
  await expect.poll(() => notAccepted(after)).not.toEqual([]);
  for (const facts of [...notAccepted(before), ...notAccepted(after)]) {
    expect(facts).toMatchObject({ requestId: "r-2", traceId, taskId, agent: "Pushing" });
  }
});

it("names the request whose turn a cancel ended, if the notification of the cancel fails", async () => {
  const port = await answering((body) => (body.includes("CANCELED") ? 410 : 200));
  const [server, lines] = await serve({
    agent: {
      card: { name: "Pushing", description: "-", version: "1", skills: [] },
      async *execute() {
        yield inputRequired("ask");
      },
    },
    push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] },
  });
  const url = `http://127.0.0.1:${port}/hook`;
  const taskId = await send(server, { taskPushNotificationConfig: { id: "c-1", url } });
  await fetch(`${server.url}/tasks/${taskId}:cancel`, { method: "POST", headers: { "a2a-version": "1.0" } });
  await expect.poll(() => notAccepted(lines)).toMatchObject([{ requestId: "r-1", taskId, agent: "Pushing" }]);
});

it("names request, trace, task and agent of a delegation that fails, and the other agent as remote", async () => {
  const port = await refusing(404);
  const [server, lines] = await serve({
    agent: {
      card: { name: "Front", description: "-", version: "1", skills: [] },
      async *execute(turn) {
        yield* turn.delegate("other");
      },
    },
    remoteAgents: { other: `http://127.0.0.1:${port}` },
  });
  const taskId = await send(server, {});
  const failed = lines.find(({ message }) => message === "a delegation failed");
  expect(failed?.facts).toMatchObject({ requestId: "r-1", traceId, taskId, agent: "Front", remote: "other" });
});

/** Another agent that answers its card and the message, and fails to cancel. */
async function uncancelable(): Promise<Server> {
  const [other] = await serve({
    agent: waiting(),
    interceptors: [
      (next) => (invocation) => {
        if (invocation.method.name === "CancelTask") throw new Error("not now");
        return next(invocation);
      },
    ],
  });
  return other;
}

it("names task and agent of a sub-task that cannot be canceled", async () => {
  const other = await uncancelable();
  const [server, lines] = await serve({
    agent: {
      card: { name: "Front", description: "-", version: "1", skills: [] },
      async *execute(turn) {
        await turn.delegate("other").next();
        yield completed("enough");
      },
    },
    remoteAgents: { other: other.url },
  });
  const taskId = await send(server, {});
  const message = "a sub-task could not be canceled at its agent";
  const facts = { requestId: "r-1", traceId, taskId, agent: "Front", remote: "other" };
  await expect.poll(() => lines.find((line) => line.message === message)?.facts).toMatchObject(facts);
});

it("names request, trace, task and agent of a recovery that fails", async () => {
  const path = temporaryFile();
  const agent = waiting({ recover: "restart" });
  const [first] = await serve({ agent, store: sqliteStore(path) });
  const taskId = await send(first, { returnImmediately: true });
  await first.close({ graceMs: 0 });
  const store = sqliteStore(path);
  vi.spyOn(store, "read").mockRejectedValueOnce(new Error("once"));
  const [, lines] = await serve({ agent, store });
  const facts = { requestId: "r-1", traceId, taskId, agent: "Waiting" };
  const line = "a task could not be recovered; retrying later";
  await expect.poll(() => factsOf(lines, line), { timeout: 10_000 }).toMatchObject(facts);
});

it("names request, trace, task and agent of a sub-task that a recovery cannot cancel", async () => {
  const other = await uncancelable();
  const path = temporaryFile();
  let isOver = false;
  let begun = (): void => {};
  const delegated = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const agent = waiting({
    recover: () => (isOver ? "fail" : "restart"),
    async *execute(turn) {
      for await (const event of turn.delegate("other")) {
        yield event;
        begun();
      }
    },
  });
  const remoteAgents = { other: other.url };
  const [first] = await serve({ agent, store: sqliteStore(path), remoteAgents });
  const taskId = await send(first, { returnImmediately: true });
  await delegated;
  await first.close({ graceMs: 0 });
  isOver = true;
  const [, lines] = await serve({ agent, store: sqliteStore(path), remoteAgents });
  const line = "a sub-task could not be canceled at its agent";
  const facts = { requestId: "r-1", traceId, taskId, agent: "Waiting", remote: "other" };
  await expect.poll(() => factsOf(lines, line), { timeout: 10_000 }).toMatchObject(facts);
});

it("names request, trace, task and agent of an agent that is stopped, because its task is not created", async () => {
  const failAtEnd = (): never => {
    throw new Error("a fault at the end");
  };
  const agent = waiting({
    responds: "either",
    async *execute({ signal }) {
      try {
        yield working();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      } finally {
        failAtEnd();
      }
    },
  });
  const [server, lines] = await serve({ agent, limits: { maxOpenTasksPerOwner: 1 } });
  await send(server, { returnImmediately: true });
  await expect(send(server, { returnImmediately: true }, {}, "r-2")).rejects.toThrow();
  const facts = { requestId: "r-2", traceId, taskId: expect.any(String), agent: "Waiting" };
  await expect.poll(() => factsOf(lines, "an agent threw after its last event")).toMatchObject(facts);
});

it("names request, trace, task and agent of an execution that ends in the queue", async () => {
  const [server, lines] = await serve({ agent: waiting(), limits: { maxExecutions: 1 }, accessLog: true });
  await send(server, { returnImmediately: true });
  const taskId = await send(server, { returnImmediately: true }, {}, "r-2");
  await fetch(`${server.url}/tasks/${taskId}:cancel`, { method: "POST", headers: { "a2a-version": "1.0" } });
  const facts = { requestId: "r-2", traceId, taskId, agent: "Waiting" };
  await expect.poll(() => factsOf(lines, "an execution ended")).toMatchObject(facts);
});

it("names task and agent of a task that is canceled because it waited for too long", async () => {
  const agent = waiting({
    async *execute() {
      yield inputRequired("ask");
    },
  });
  const [server, lines] = await serve({ agent, limits: { maxInterruptedMs: 200 } });
  const taskId = await send(server, {});
  const line = "a task that waited for its client for too long is canceled";
  await expect.poll(() => factsOf(lines, line), { timeout: 10_000 }).toMatchObject({ taskId, agent: "Waiting" });
});

it("names the trace that the server begins, for a request without one", async () => {
  const spans = registerRecorder();
  onTestFinished(unregisterRecorder);
  const [{ url }, lines] = await serve({ agent: waiting(), accessLog: true });
  const missing = await fetch(`${url}/tasks/no-such-task`, { headers: { "a2a-version": "1.0" } });
  expect(missing.status).toBe(404);
  const begun = spans.find(({ name }) => name.endsWith("GetTask"))?.spanContext().traceId;
  expect(begun).toMatch(/^[0-9a-f]{32}$/);
  expect(factsOf(lines, "call")).toMatchObject({ traceId: begun, taskId: "no-such-task" });
});
