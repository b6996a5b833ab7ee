import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import {
  type Agent,
  type AuditRecord,
  completed,
  createServer,
  type Server,
  type ServerOptions,
} from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

interface Line {
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-request-id": "r-1" };

/** An HTTP server that refuses every request with a status. */
async function refusing(status: number): Promise<number> {
  const server = createHttpServer((_, response) => void response.writeHead(status).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function serve(options: Partial<ServerOptions> & { readonly agent: Agent }): Promise<[Server, Line[]]> {
  const lines: Line[] = [];
  const note = (facts: object, message: string): void => void lines.push({ message, facts: { ...facts } });
  const logger = { debug: note, info: note, warn: note, error: note };
  const server = await createServer({ store: memoryStore(), port: 0, grpcPort: false, logger, ...options });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return [server, lines];
}

/** Sends a traced message and returns the id of its task. */
async function send({ url }: Server, configuration: object): Promise<string> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", ...traced };
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] };
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

it("names task and agent of a sub-task that cannot be canceled", async () => {
  // The other agent answers its card and the message, and fails to cancel.
  const [other] = await serve({
    agent: {
      card: { name: "Other", description: "-", version: "1", skills: [] },
      async *execute({ signal }) {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      },
    },
    interceptors: [
      (next) => (invocation) => {
        if (invocation.method.name === "CancelTask") throw new Error("not now");
        return next(invocation);
      },
    ],
  });
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
  const message = "another agent's task that is left was not canceled";
  const facts = { requestId: "r-1", traceId, taskId, agent: "Front", remote: "other" };
  await expect.poll(() => lines.find((line) => line.message === message)?.facts).toMatchObject(facts);
});
