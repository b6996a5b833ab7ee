import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { A2AService, Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { bearer } from "../../../src/client/credentials/bearer.js";
import type { A2AError } from "../../../src/client/index.js";
import { createTransport } from "../../../src/client/index.js";
import { atEnd, connect, proxyTo } from "../world.js";
import { type V01Options, V01Server } from "./v01-server.js";

async function serve(options?: V01Options): Promise<V01Server> {
  const server = await V01Server.start(options);
  atEnd(() => server.stop());
  return server;
}

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

describe("an agent that speaks A2A 0.1 alone", () => {
  it("is found at its place, and sent to with ids that the client makes", async () => {
    const server = await serve();
    const client = await connect(server.url);
    expect(client.interface).toMatchObject({ protocolBinding: "JSONRPC", protocolVersion: "0.1", url: server.url });
    expect(client.card.defaultInputModes).toEqual(["text/plain"]);
    const answer = await client.send({ parts: [{ text: "echo hello" }], metadata: { a: 1 } });
    expect(answer.state).toBe(TaskState.COMPLETED);
    expect(answer.text).toContain("hello");
    expect(answer.task?.artifacts.map(({ artifactId, name }) => [artifactId, name])).toEqual([
      ["artifact-0", "first"],
      ["artifact-1", "second"],
    ]);
    const [{ method, params, headers } = { method: "", params: {}, headers: {} }] = server.got;
    expect(method).toBe("tasks/send");
    expect(params).toMatchObject({ id: answer.taskId, sessionId: answer.contextId });
    expect(params.message).toEqual({
      role: "user",
      parts: [{ type: "text", text: "echo hello" }],
      metadata: { a: 1 },
    });
    expect(Object.keys(headers).filter((name) => name.includes("a2a"))).toEqual([]);
    expect(answer.task?.history[0]).toMatchObject({ role: Role.USER, taskId: answer.taskId });
    expect(answer.task?.status?.timestamp).toBeDefined();
  });

  it("goes on with a task that asked, in the same session", async () => {
    const server = await serve();
    const client = await connect(server.url);
    const talk = client.conversation();
    expect((await talk.send("ask")).text).toBe("What?");
    const { taskId, contextId } = talk;
    const answer = await talk.send("This.");
    expect([answer.state, answer.taskId]).toEqual([TaskState.COMPLETED, taskId]);
    const next = await talk.send("echo more");
    expect([next.contextId, next.taskId === taskId]).toEqual([contextId, false]);
    expect(server.got.map(({ params }) => params.sessionId)).toEqual([contextId, contextId, contextId]);
  });

  it("is sent the session of a task that a message names alone", async () => {
    const server = await serve();
    const client = await connect(server.url);
    const { taskId = "", contextId } = await client.send("ask");
    const updates: string[] = [];
    for await (const { kind, text } of client.stream({ parts: [{ text: "This." }], taskId }))
      updates.push(`${kind} ${text}`);
    expect(updates).toEqual(["task ", "artifact This.", "status "]);
    const sent = server.got.filter(({ method }) => method !== "tasks/get");
    expect(sent.map(({ params }) => [params.id, params.sessionId])).toEqual([
      [taskId, contextId],
      [taskId, contextId],
    ]);
    // The client may choose the id of a new task.
    const named = await client.send({ parts: [{ text: "echo x" }], taskId: "mine" });
    expect([named.taskId, named.state, named.contextId]).toEqual([
      "mine",
      TaskState.COMPLETED,
      server.got.at(-1)?.params.sessionId,
    ]);
  });

  it("streams, and the first event is the task", async () => {
    const server = await serve();
    const client = await connect(server.url);
    const kinds: string[] = [];
    let text = "";
    let last = TaskState.UNSPECIFIED;
    for await (const update of client.stream("count")) {
      kinds.push(update.kind);
      if (update.kind === "artifact") text += update.text;
      last = update.task?.status?.state ?? last;
    }
    expect(kinds).toEqual(["task", "artifact", "artifact", "artifact", "status"]);
    expect([text, last]).toEqual(["one two three", TaskState.COMPLETED]);
    const asked: string[] = [];
    for await (const update of client.stream("ask")) asked.push(`${update.kind} ${update.text}`);
    expect(asked).toEqual(["task ", "status What?"]);
  });

  it("is followed by looks at its task where it does not stream", async () => {
    const server = await serve({ streaming: false });
    const client = await connect(server.url);
    let last = TaskState.UNSPECIFIED;
    for await (const update of client.stream("count")) last = update.task?.status?.state ?? last;
    expect(last).toBe(TaskState.COMPLETED);
  });

  it("is gone on with after a cut", async () => {
    const server = await serve();
    const proxy = await proxyTo(server.port);
    const client = await connect(`http://${proxy.host}`);
    let update: { text: string; task: unknown } | undefined;
    let cuts = 0;
    let text = "";
    for await (const each of client.stream("count 60")) {
      if (each.kind === "artifact" || each.kind === "snapshot") text += each.text;
      if (each.kind === "artifact" && cuts++ === 0) proxy.cut();
      update = each;
    }
    expect(proxy.connections).toBeGreaterThan(1);
    expect(text).toBe("one two three");
    expect(update?.task).toMatchObject({ status: { state: TaskState.COMPLETED } });
    expect(server.got.map(({ method }) => method)).toContain("tasks/resubscribe");
  });

  it("cancels, and a follower sees it", async () => {
    const server = await serve();
    const client = await connect(server.url);
    const states: (TaskState | undefined)[] = [];
    for await (const { task } of client.stream("wait")) {
      states.push(task?.status?.state);
      if (task !== undefined && states.length === 1) await client.cancelTask({ id: task.id });
    }
    expect(states.at(-1)).toBe(TaskState.CANCELED);
  });

  it("says what is wrong in the reasons of 1.0", async () => {
    const server = await serve({ push: false });
    const client = await connect(server.url);
    const { taskId = "", contextId } = await client.send("echo x");
    expect((await failure(client.getTask({ id: "none" }))).reason).toBe("TASK_NOT_FOUND");
    expect((await failure(client.cancelTask({ id: taskId }))).reason).toBe("TASK_NOT_CANCELABLE");
    // The server answers -32009, which means VERSION_NOT_SUPPORTED in 1.0.
    const more = client.send({ parts: [{ text: "more" }], taskId, contextId });
    expect((await failure(more)).reason).toBe("UNSUPPORTED_OPERATION");
    const push = client.createTaskPushNotificationConfig({ taskId, url: "http://127.0.0.1:1/" });
    expect((await failure(push)).reason).toBe("PUSH_NOTIFICATION_NOT_SUPPORTED");
  });

  it("is not asked for what its version does not have", async () => {
    const server = await serve();
    const client = await connect(server.url);
    for (const call of [client.listTasks({}), client.deleteTaskPushNotificationConfig({ taskId: "t", id: "p" })]) {
      expect(await failure(call)).toMatchObject({ reason: "UNSUPPORTED_OPERATION", metadata: { version: "0.1" } });
    }
    expect((await failure(client.extendedCard())).reason).toBe("UNSUPPORTED_OPERATION");
    expect(server.got).toEqual([]);
  });

  it("keeps one push config for each task, and reports to it", async () => {
    const server = await serve();
    const client = await connect(server.url);
    const told: unknown[] = [];
    const hook = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += String(chunk);
      });
      request.on("end", () => {
        told.push([request.headers["x-a2a-notification-token"], JSON.parse(body).status.state]);
        response.end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    atEnd(() => hook.close());
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
    const { taskId = "" } = await client.send("ask", { pushNotification: { url, token: "s3" } });
    await expect.poll(() => told).toContainEqual(["s3", "input-required"]);
    const changed = { taskId, url: `${url}other`, authentication: { scheme: "Bearer", credentials: "c" } };
    expect(await client.createTaskPushNotificationConfig(changed)).toMatchObject(changed);
    expect(await client.getTaskPushNotificationConfig({ taskId, id: taskId })).toMatchObject(changed);
    // In 0.1 this call would remove the task's config.
    expect((await failure(client.createTaskPushNotificationConfig({ taskId }))).reason).toBe("INVALID_PARAMS");
    expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toHaveLength(1);
    const { taskId: other = "" } = await client.send("echo x");
    expect((await client.listTaskPushNotificationConfigs({ taskId: other })).configs).toEqual([]);
    const none = client.getTaskPushNotificationConfig({ taskId: other, id: "p" });
    expect((await failure(none)).reason).toBe("TASK_NOT_FOUND");
  });

  it("gets the credentials that its card asks for", async () => {
    const server = await serve({ token: "secret" });
    const client = await connect(server.url, { credentials: bearer("secret") });
    expect((await client.send("echo x")).state).toBe(TaskState.COMPLETED);
    const stranger = await connect(server.url, { credentials: bearer("wrong") });
    expect((await failure(stranger.send("echo x"))).reason).toBe("UNAUTHENTICATED");
  });

  it("is called by the methods of the contract over a raw transport", async () => {
    const server = await serve();
    const transport = createTransport("JSONRPC", server.url, { version: "0.1" });
    atEnd(() => transport.close());
    const rpc = createClient(A2AService, transport);
    const message = {
      messageId: "m",
      role: Role.USER,
      parts: [{ content: { case: "text" as const, value: "echo hi" } }],
    };
    const cases: (string | undefined)[] = [];
    for await (const { payload } of rpc.sendStreamingMessage({ message })) cases.push(payload.case);
    expect(cases).toEqual(["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    const { payload } = await rpc.sendMessage({ message, configuration: { historyLength: 0 } });
    const task = payload.case === "task" ? payload.value : expect.fail("no task");
    expect(task.history).toEqual([]);
    expect((await rpc.getTask({ id: task.id })).history).toHaveLength(1);
  });
});
