import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { A2AService, Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/agent/event.js";
import {
  type A2AClient,
  type A2AError,
  type Binding,
  createTransport,
  type Update,
} from "../../../src/client/index.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { atEnd, connect, echo, proxyTo, serve } from "../world.js";

/** Every way to call a version before 1.0, all of which our own server supports. */
const ways: readonly (readonly [version: string, binding: Binding])[] = [
  ["0.3", "JSONRPC"],
  ["0.3", "HTTP+JSON"],
  ["0.3", "GRPC"],
  ["0.2", "JSONRPC"],
  ["0.1", "JSONRPC"],
];

/** Each of three turns adds an artifact in two chunks. Two of the turns ask. */
const asking: Agent = {
  card: { name: "Asking", description: "Asks twice.", version: "1.0.0" },
  async *execute({ text, task }) {
    const id = `n${text}`;
    yield working();
    yield artifact({ id, text: `${text}a` });
    yield artifact({ id, text: `${text}b`, append: true });
    yield (task?.artifacts.length ?? 0) < 2 ? inputRequired("Which?") : completed();
  },
};

/** A card with a single interface of the version. */
function cardOf(version: string, binding: Binding, url: string, pushNotifications = false): object {
  return {
    name: "Older",
    description: "",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version }],
    capabilities: { streaming: true, pushNotifications },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

/** Starts a task that does not end. A send of 0.1 always waits for the end, so there the task is streamed. */
async function begun(client: A2AClient): Promise<string> {
  if (client.interface?.protocolVersion !== "0.1") {
    const { taskId = "", state } = await client.send("wait", { returnImmediately: true });
    expect([TaskState.SUBMITTED, TaskState.WORKING]).toContain(state);
    return taskId;
  }
  for await (const { task } of client.stream("wait")) if (task !== undefined) return task.id;
  return expect.fail("The stream has no task.");
}

describe.each(ways)("A2A %s over %s", (version, binding) => {
  const urlOf = async (options?: Partial<ServerOptions>): Promise<string> => {
    const server = await serve(options);
    return binding === "GRPC" ? `127.0.0.1:${server.grpcPort}` : `http://127.0.0.1:${server.port}`;
  };

  it("sends, streams, asks and reads as 1.0 does", async () => {
    const client = await connect(cardOf(version, binding, await urlOf()));
    const { task, taskId = "", state } = await client.send({ parts: [{ text: "task x" }, { data: [1, { a: "b" }] }] });
    expect([state, task?.artifacts[0]?.parts[0]?.content]).toEqual([
      TaskState.COMPLETED,
      { case: "text", value: "task x" },
    ]);
    const said = await client.send("say hi");
    // An answer of 0.1 is always a task.
    if (version === "0.1") expect([said.state, said.text]).toEqual([TaskState.COMPLETED, "hi"]);
    else expect([said.message?.role, said.text]).toEqual([Role.AGENT, "hi"]);
    const read = await client.getTask({ id: taskId });
    expect(read.history[0]?.parts[1]?.content.case).toBe("data");
    expect((await client.getTask({ id: taskId, historyLength: 0 })).history).toEqual([]);
    const kinds: string[] = [];
    let text = "";
    for await (const update of client.stream("count")) {
      kinds.push(update.kind);
      if (update.kind === "artifact") text += update.text;
    }
    expect([kinds[0], kinds.at(-1), text]).toEqual(["task", "status", "one two three"]);
    const talk = client.conversation();
    expect((await talk.send("ask")).state).toBe(TaskState.INPUT_REQUIRED);
    expect((await talk.send("this")).taskId).toBeDefined();
  });

  it("continues a task by its id alone", async () => {
    const client = await connect(cardOf(version, binding, await urlOf({ agent: asking })));
    const { taskId = "", contextId } = await client.send("1");
    const answer = await client.send({ parts: [{ text: "2" }], taskId });
    expect([answer.state, answer.taskId, answer.contextId]).toEqual([TaskState.INPUT_REQUIRED, taskId, contextId]);
    let last: Update | undefined;
    for await (const update of client.stream({ parts: [{ text: "3" }], taskId })) last = update;
    expect([last?.task?.status?.state, last?.task?.id, last?.task?.contextId]).toEqual([
      TaskState.COMPLETED,
      taskId,
      contextId,
    ]);
  });

  it("streams in later turns only what they add", async () => {
    const client = await connect(cardOf(version, binding, await urlOf({ agent: asking })));
    const talk = client.conversation();
    for (const [turn, end] of [TaskState.INPUT_REQUIRED, TaskState.INPUT_REQUIRED, TaskState.COMPLETED].entries()) {
      const kinds: string[] = [];
      let [text, last]: [string, Update | undefined] = ["", undefined];
      for await (const update of talk.stream(`${turn}`)) {
        kinds.push(update.kind);
        if (update.kind === "artifact") text += update.text;
        else if (update.kind === "task") expect(update.text).toBe("");
        last = update;
      }
      expect(kinds.filter((kind, i) => kind !== "status" || i === kinds.length - 1)).toEqual([
        "task",
        "artifact",
        "artifact",
        "status",
      ]);
      expect([text, last?.task?.status?.state, last?.task?.artifacts.length]).toEqual([
        `${turn}a${turn}b`,
        end,
        turn + 1,
      ]);
    }
  });

  it("answers at once where it is asked to, and is followed to its end", async () => {
    const client = await connect(cardOf(version, binding, await urlOf()));
    const taskId = await begun(client);
    const states: (TaskState | undefined)[] = [];
    for await (const { task } of client.follow(taskId)) {
      states.push(task?.status?.state);
      if (states.length === 1) await client.cancelTask({ id: taskId });
    }
    expect(states.at(-1)).toBe(TaskState.CANCELED);
  });

  it("is gone on with after a cut", async () => {
    const [host = "", port = ""] = (await urlOf()).replace("http://", "").split(":");
    expect(host).toBe("127.0.0.1");
    const proxy = await proxyTo(Number(port));
    const client = await connect(cardOf(version, binding, binding === "GRPC" ? proxy.host : `http://${proxy.host}`));
    let last: TaskState | undefined;
    let id = "";
    let cuts = 0;
    for await (const { task } of client.stream("wait")) {
      last = task?.status?.state;
      id = task?.id ?? id;
      if (last === TaskState.WORKING && cuts++ === 0) proxy.cut();
      if (proxy.connections > 1 && last === TaskState.WORKING && cuts === 1) {
        cuts += 1;
        await client.cancelTask({ id });
      } else if (cuts === 1) {
        setTimeout(() => void client.cancelTask({ id }).catch(() => {}), 300);
      }
    }
    expect(last).toBe(TaskState.CANCELED);
    expect(proxy.connections).toBeGreaterThan(1);
  });

  it("says what is wrong in the reasons of 1.0, and refuses what it does not have", async () => {
    const client = await connect(cardOf(version, binding, await urlOf()));
    const { taskId = "", contextId } = await client.send("task x");
    const more = (): Promise<unknown> => client.send({ parts: [{ text: "more" }], taskId, contextId });
    // Callers of 0.1 may continue a completed task until the server's limit.
    if (version === "0.1") for (let times = 0; times < 64; times++) await more();
    const reasons = await Promise.all([
      failure(client.getTask({ id: "none" })),
      failure(client.cancelTask({ id: taskId })),
      failure(more()),
      failure(client.createTaskPushNotificationConfig({ taskId, url: "https://example.com/" })),
      failure(client.listTasks({})),
    ]);
    expect(reasons.map(({ reason }) => reason)).toEqual([
      "TASK_NOT_FOUND",
      "TASK_NOT_CANCELABLE",
      "UNSUPPORTED_OPERATION",
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
      "UNSUPPORTED_OPERATION",
    ]);
  });

  it("keeps push configurations, which are found, listed and deleted", async () => {
    const push = { allow: ["127.0.0.1"], allowHttp: true, ports: [9] };
    const capabilities = { pushNotifications: true };
    const agent = { ...echo, card: { name: "Echo", description: "Echoes.", version: "1.0.0", capabilities } };
    const client = await connect(cardOf(version, binding, await urlOf({ agent, push }), true));
    const { taskId = "" } = await client.send("ask");
    const url = "http://127.0.0.1:9/hook";
    const config = {
      taskId,
      id: "a",
      url,
      token: "token",
      authentication: { scheme: "Bearer", credentials: "secret" },
    };
    const [own, shown] = version === "0.1" ? [taskId, { taskId, url }] : ["a", { taskId, id: "a", url }];
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject({ ...shown, token: "token" });
    expect(await client.getTaskPushNotificationConfig({ taskId, id: own })).toMatchObject(shown);
    expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toMatchObject([shown]);
    const removed = client.deleteTaskPushNotificationConfig({ taskId, id: own });
    if (version === "0.1") return expect((await failure(removed)).reason).toBe("UNSUPPORTED_OPERATION");
    await removed;
    expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([]);
    expect((await failure(client.getTaskPushNotificationConfig({ taskId, id: "a" }))).reason).toBe("TASK_NOT_FOUND");
    // A configuration without an id takes the default one of the task.
    const { taskId: other = "" } = await client.send("ask", { pushNotification: { url } });
    await client.createTaskPushNotificationConfig({ taskId: other, url: `${url}/later` });
    const { configs } = await client.listTaskPushNotificationConfigs({ taskId: other });
    expect(configs.map((each) => each.url)).toEqual([`${url}/later`]);
  });

  it("is spoken by a raw transport", async () => {
    const transport = createTransport(binding, await urlOf(), { version });
    atEnd(() => transport.close());
    const rpc = createClient(A2AService, transport);
    const message = {
      messageId: "m",
      role: Role.USER,
      parts: [{ content: { case: "text" as const, value: "task x" } }],
    };
    const cases: (string | undefined)[] = [];
    for await (const { payload } of rpc.sendStreamingMessage({ message })) cases.push(payload.case);
    expect([cases[0], cases.at(-1)]).toEqual(["task", "statusUpdate"]);
  });
});

it("a raw transport refuses a version that it does not speak", () => {
  expect(() => createTransport("GRPC", "127.0.0.1:1", { version: "0.1" })).toThrow(/A2A 0\.1 over GRPC/);
  expect(() => createTransport("JSONRPC", "http://127.0.0.1:1", { version: "7" })).toThrow(/A2A 7/);
});
