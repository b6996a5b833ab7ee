import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient, A2AError, Update } from "../../../src/client/index.js";

/** Expected results of the client's operations, with every server. */
export const operations: Readonly<Record<string, (client: A2AClient) => Promise<void>>> = {
  "a send that waits for its task": async (client) => {
    const { task, text, state } = await client.send("echo hello");
    expect([state, text]).toEqual([TaskState.COMPLETED, "hello"]);
    expect(task?.artifacts.map(({ name }) => name)).toEqual(["echo"]);
  },
  "a message without a task": async (client) => {
    const { task, text } = await client.send("say hello");
    expect([task, text]).toEqual([undefined, "hello"]);
  },
  "a task that fails": async (client) => {
    const { state } = await client.send("fail");
    expect(state).toBe(TaskState.FAILED);
  },
  "a stream with pieces of an artifact": async (client) => {
    const { text, last } = await read(client.stream("stream 5 16 5"));
    expect(text).not.toBe("");
    expect(last?.task?.status?.state).toBe(TaskState.COMPLETED);
    expect(textOf(last)).toBe(text);
  },
  "a stream of a message without a task": async (client) => {
    const { last, kinds } = await read(client.stream("say hello"));
    expect([kinds, last?.text]).toEqual([["message"], "hello"]);
  },
  "a question and its answer": async (client) => {
    const asked = await client.send("ask");
    expect(asked.state).toBe(TaskState.INPUT_REQUIRED);
    const { taskId = "", contextId } = asked;
    const answered = await client.send({ parts: [{ text: "This." }], taskId, contextId });
    expect([answered.taskId, answered.state]).toEqual([taskId, TaskState.COMPLETED]);
    expect(answered.task?.artifacts.at(-1)?.parts[0]?.content).toEqual({ case: "text", value: "This." });
  },
  "a conversation": async (client) => {
    const talk = client.conversation();
    await talk.send("ask");
    expect((await talk.send("This.")).state).toBe(TaskState.COMPLETED);
  },
  "reads of a task": async (client) => {
    const { taskId = "" } = await client.send("echo hello");
    const task = await client.getTask({ id: taskId });
    expect([task.id, task.status?.state]).toEqual([taskId, TaskState.COMPLETED]);
    expect(task.history.length).toBeGreaterThan(0);
    expect((await client.getTask({ id: taskId, historyLength: 0 })).history).toEqual([]);
  },
  "a list": async (client) => {
    const { taskId, contextId } = await client.send("echo hello");
    const { tasks } = await client.listTasks({ contextId });
    expect(tasks.map(({ id }) => id)).toEqual([taskId]);
  },
  "a cancel that a follower sees": async (client) => {
    const { taskId = "" } = await client.send("wait 20000", { returnImmediately: true });
    const followed = read(client.follow(taskId));
    followed.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 200));
    const canceled = await client.cancelTask({ id: taskId });
    expect(canceled.status?.state).toBe(TaskState.CANCELED);
    expect((await followed).last?.task?.status?.state).toBe(TaskState.CANCELED);
  },
  "a task that is followed to its end": async (client) => {
    const { taskId = "" } = await client.send("stream 5 60 60", { returnImmediately: true });
    const { last } = await read(client.follow(taskId));
    expect(last?.task?.status?.state).toBe(TaskState.COMPLETED);
    expect(last?.task?.artifacts[0]?.parts.length).toBe(5);
  },
  "a task that is over, followed": async (client) => {
    const { taskId = "" } = await client.send("echo hello");
    const { last } = await read(client.follow(taskId));
    expect(last?.task?.status?.state).toBe(TaskState.COMPLETED);
  },
  "a task that there is not": async (client) => {
    expect((await failure(client.getTask({ id: "nobody" }))).reason).toBe("TASK_NOT_FOUND");
    expect((await failure(client.cancelTask({ id: "nobody" }))).reason).toBe("TASK_NOT_FOUND");
  },
  "a cancel of a task that is over": async (client) => {
    const { taskId = "" } = await client.send("echo hello");
    expect((await failure(client.cancelTask({ id: taskId }))).reason).toBe("TASK_NOT_CANCELABLE");
  },
  "a message to a task that is over": async (client) => {
    const { taskId = "", contextId } = await client.send("echo hello");
    const more = client.send({ parts: [{ text: "more" }], taskId, contextId });
    expect((await failure(more)).reason).toBe("UNSUPPORTED_OPERATION");
  },
  "push notifications that are not supported": async (client) => {
    const { taskId = "" } = await client.send("echo hello");
    const configured = client.createTaskPushNotificationConfig({ taskId, url: "https://example.com/hook" });
    expect((await failure(configured)).reason).toBe("PUSH_NOTIFICATION_NOT_SUPPORTED");
  },
  "a stream that is left": async (client) => {
    for await (const { task } of client.stream("wait 20000")) {
      if (task === undefined) continue;
      await client.cancelTask({ id: task.id });
      break;
    }
  },
};

interface Read {
  readonly text: string;
  readonly kinds: readonly Update["kind"][];
  readonly last: Update | undefined;
}

/** Reads a stream to its end. */
export async function read(updates: AsyncIterable<Update>): Promise<Read> {
  let [text, last]: [string, Update | undefined] = ["", undefined];
  const kinds: Update["kind"][] = [];
  for await (const update of updates) {
    kinds.push(update.kind);
    if (update.kind === "artifact") text += update.text;
    last = update;
  }
  return { text, kinds, last };
}

/** The text of the task's first artifact. */
export function textOf(update: Update | undefined): string {
  const parts = update?.task?.artifacts[0]?.parts ?? [];
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

/** Returns the error of a call. Fails if the call succeeds. */
export async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}
