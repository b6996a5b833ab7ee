import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, completed, inputRequired } from "../../src/agent/event.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { createServer, type Server, type Turn } from "../../src/index.js";
import { clients, type Operator, stores } from "./task-world.js";
import { operators } from "./world.js";

/** Answers of operators to tasks that wait for a person. */

const refusal = (promise: Promise<unknown>): Promise<{ code: Code | undefined; text: string }> =>
  promise.then(
    () => ({ code: undefined, text: "" }),
    (error) => ({ code: ConnectError.from(error).code, text: ConnectError.from(error).rawMessage }),
  );
const textPart = (value: string) => ({ content: { case: "text", value } }) as const;

/** A turn as the agent received it: its caller and its message. */
interface Heard {
  readonly owner: string;
  readonly scopes: readonly string[];
  readonly text: string;
  readonly data: unknown;
  readonly metadata: unknown;
}

describe.each(Object.keys(stores))("answerTask() in %s", (store) => {
  const heard: Heard[] = [];
  let server: Server;
  let admin: Operator;
  beforeAll(async () => {
    const skill = { id: "ask", name: "Ask", description: "Asks.", tags: ["ask"] };
    server = await createServer({
      agent: {
        card: { name: "asker", description: "Asks.", version: "1", skills: [skill], defaultInputModes: ["text/plain"] },
        async *execute(turn: Turn): AsyncGenerator<AgentEvent> {
          const { owner, scopes } = turn.caller;
          const { metadata, parts } = turn.message;
          const data = parts.flatMap(({ content }) => (content.case === "data" ? [content.value] : []));
          heard.push({ owner, scopes, text: turn.text, data, metadata });
          yield turn.text === "begin" ? inputRequired("Which colour?") : completed();
        },
        security: {
          schemes: {
            key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ owner: "alice", key: "k".repeat(32) }] }),
          },
        },
      },
      store: stores[store as keyof typeof stores](),
      port: 0,
      grpcPort: 0,
      limits: { maxParts: 3, shutdownGraceMs: 50 },
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
    admin = clients.connect(server.adminUrl?.replace("http://", "") ?? "");
  });
  afterAll(() => server.close());

  /** Begins a task of alice, which asks. */
  async function asked(): Promise<string> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "begin" }] };
    const answer = await fetch(`http://127.0.0.1:${server.port}/message:send`, {
      method: "POST",
      headers: { "x-key": "k".repeat(32), "a2a-version": "1.0", "content-type": "application/json" },
      body: JSON.stringify({ message }),
    });
    const { task } = (await answer.json()) as { task: { id: string; status: { state: string } } };
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    return task.id;
  }
  const ended = (taskId: string): Promise<void> =>
    expect.poll(async () => (await admin.getTask({ taskId })).summary?.state).toBe(TaskState.COMPLETED);

  it("lets the agent go on with a message of the task's owner, marked as sent by an operator", async () => {
    const taskId = await asked();
    const data = { content: { case: "data", value: { kind: { case: "boolValue", value: true } } } } as const;
    const { task } = await admin.answerTask({ taskId, parts: [textPart("blue"), data] });
    expect(task).toMatchObject({ taskId, owner: "alice" });
    await ended(taskId);
    expect(heard.at(-1)).toMatchObject({ owner: "alice", scopes: [], text: "blue", data: [expect.anything()] });
    expect(heard.at(-1)?.metadata).toEqual({ "parley.sentBy": "operator" });
    const { entries } = await admin.listEntries({ taskId });
    const messages = entries.flatMap(({ entry }) => (entry?.event.case === "message" ? [entry.event.value] : []));
    expect(messages.map(({ metadata }) => metadata)).toEqual([{ "parley.sentBy": "operator" }]);
  });

  it("refuses an answer to a task that does not wait, that has changed, or that has been answered", async () => {
    const taskId = await asked();
    const { summary } = await admin.getTask({ taskId });
    const { generation = 0 } = summary ?? {};
    const no = { code: Code.FailedPrecondition, text: "The task does not wait for this answer." };
    expect(await refusal(admin.answerTask({ taskId, parts: [textPart("red")], generation: generation + 1 }))).toEqual(
      no,
    );
    // Two operators answer at the same time, and the server accepts one answer.
    const both = await Promise.all(
      ["red", "green"].map((colour) => refusal(admin.answerTask({ taskId, parts: [textPart(colour)], generation }))),
    );
    expect(both.filter(({ code }) => code === undefined)).toHaveLength(1);
    expect(both).toContainEqual(no);
    await ended(taskId);
    expect(await refusal(admin.answerTask({ taskId, parts: [textPart("red")] }))).toEqual(no);
    expect(await refusal(admin.answerTask({ taskId: "nowhere", parts: [textPart("red")] }))).toMatchObject({
      code: Code.NotFound,
    });
  });

  it("holds an answer to the rules of a message", async () => {
    const taskId = await asked();
    for (const [parts, field] of [
      [[], "parts"],
      [[{ content: { case: undefined } }], "parts[0]"],
      [[1, 2, 3, 4].map((each) => textPart(String(each))), "parts: must have at most 3 items"],
    ] as const) {
      const { code, text } = await refusal(admin.answerTask({ taskId, parts: [...parts] }));
      expect([code, text]).toEqual([Code.InvalidArgument, expect.stringContaining(field)]);
    }
    const image = { ...textPart("x"), mediaType: "image/png" };
    expect(await refusal(admin.answerTask({ taskId, parts: [image] }))).toMatchObject({ code: Code.InvalidArgument });
    // A text may be as long as the text of a message, which is longer than a filter may be.
    await admin.answerTask({ taskId, parts: [textPart("x".repeat(10_000))] });
    await ended(taskId);
  });
});
