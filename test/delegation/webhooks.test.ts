import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import type { A2AError } from "../../src/core/error.js";
import type { ServerOptions } from "../../src/index.js";
import { Receiver } from "../push/receiver.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0).reverse()) await clean();
  await servers.close();
});

async function clientOf(url: string): Promise<A2AClient> {
  const client = await connect(url);
  cleanup.push(() => client.close());
  return client;
}

async function receiving(): Promise<Receiver> {
  const receiver = await Receiver.start();
  cleanup.push(() => receiver.stop());
  return receiver;
}

const pushTo = (receiver: Receiver): Pick<ServerOptions, "push"> => ({
  push: { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] },
});

/** An agent that asks once and then completes. */
const other = agentOf("Other", async function* (turn) {
  if (turn.text === "ask") return yield inputRequired("Which?");
  yield artifact({ id: "a", text: `made ${turn.text}` });
  yield completed();
});

const front = agentOf("Front", async function* (turn) {
  const { text } = yield* turn.delegate("other");
  yield completed(text);
});

const config = (url: string) => ({ url, token: "the-token", authentication: { scheme: "Bearer", credentials: "it" } });

describe("the webhook of a task that is delegated", () => {
  it("gets each event of the task, and the other agent hears nothing of it", async () => {
    const receiver = await receiving();
    const remote = await servers.serve(other, pushTo(receiver));
    const { url } = await servers.serve(front, { remoteAgents: { other: remote.url }, ...pushTo(receiver) });
    const client = await clientOf(url);
    const taskPushNotificationConfig = config(receiver.url("/hook"));
    const asked = await client.sendMessage({
      message: { messageId: "1", role: 1, parts: [{ content: { case: "text", value: "ask" } }] },
      configuration: { taskPushNotificationConfig },
    });
    const { id: taskId = "", contextId = "" } = asked.payload.case === "task" ? asked.payload.value : {};
    const ended = await client.conversation({ contextId, taskId }).send("this");
    expect([ended.taskId, ended.state, ended.text]).toEqual([taskId, TaskState.COMPLETED, "made this"]);
    const states = () => receiver.hits.map(({ body }) => /TASK_STATE_(\w+)/.exec(body)?.[1]).filter(Boolean);
    await expect.poll(states, { timeout: 20_000 }).toContain("COMPLETED");
    expect(states()).toContain("INPUT_REQUIRED");
    const generations = receiver.hits.map(({ generation }) => generation);
    expect(generations).toEqual([...new Set(generations)].toSorted((a, b) => a - b));
    for (const { body, headers } of receiver.hits) {
      expect(body).toContain(taskId);
      expect(headers).toMatchObject({ authorization: "Bearer it", "x-a2a-notification-token": "the-token" });
    }
    expect(receiver.hits.some(({ body }) => body.includes("made this"))).toBe(true);
    const { tasks } = await (await clientOf(remote.url)).listTasks({});
    expect(tasks).toHaveLength(1);
    const { configs } = await (await clientOf(remote.url)).listTaskPushNotificationConfigs({
      taskId: tasks[0]?.id ?? "",
    });
    expect(configs).toEqual([]);
  });

  it.each(["http://127.0.0.2/hook", "http://169.254.169.254/latest", "http://localhost./hook"])(
    "is refused before anything is delegated where it may not be reached: %s",
    async (target) => {
      const receiver = await receiving();
      const remote = await servers.serve(other);
      const { url } = await servers.serve(front, { remoteAgents: { other: remote.url }, ...pushTo(receiver) });
      const client = await clientOf(url);
      const sent = client.sendMessage({
        message: { messageId: "1", role: 1, parts: [{ content: { case: "text", value: "go" } }] },
        configuration: { taskPushNotificationConfig: config(target) },
      });
      await expect(sent).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
      expect((await (await clientOf(remote.url)).listTasks({})).tasks).toEqual([]);
    },
  );
});

describe("a webhook that an agent sets at another agent", () => {
  it.each([
    ["may not be reached from there", "http://127.0.0.2/hook", "INVALID_PARAMS"],
    ["may be reached", undefined, "set"],
  ])("is judged by the other one's rules: %s", async (_, target, outcome) => {
    const receiver = await receiving();
    const remote = await servers.serve(other, pushTo(receiver));
    const setting = agentOf("Setting", async function* (turn) {
      const client = await turn.call("other");
      const { taskId = "" } = await client.send("ask");
      const set = await client
        .createTaskPushNotificationConfig({ taskId, id: "c", url: target ?? receiver.url("/other") })
        .then(
          () => "set",
          ({ reason }: A2AError) => reason,
        );
      await client.send({ parts: "this", taskId });
      yield completed(set);
    });
    // The server's own rules allow the target, but they do not apply here.
    const { url } = await servers.serve(setting, {
      remoteAgents: { other: remote.url },
      push: { allowHttp: true, ports: [80, receiver.port], allow: ["127.0.0.0/8"] },
    });
    expect((await (await clientOf(url)).send("go")).text).toBe(outcome);
    if (outcome === "set")
      await expect.poll(() => receiver.of("/other").length, { timeout: 20_000 }).toBeGreaterThan(0);
    else expect(receiver.hits).toEqual([]);
  });
});
