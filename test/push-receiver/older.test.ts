import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Update } from "../../src/client/index.js";
import { V01Server } from "../client/older/v01-server.js";
import { atEnd, connect } from "../client/world.js";
import { webhook } from "./world.js";

const token = "a-token-of-sixteen-characters";
const options = { tokens: [token], acceptUnsigned: true } as const;
const headers = { "content-type": "application/json", "x-a2a-notification-token": token };

/** A task as 0.3 and 0.2 send it. */
const bare = {
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state: "input-required", timestamp: "2025-08-01T10:00:00Z" },
  artifacts: [{ artifactId: "a", parts: [{ kind: "text", text: "x" }] }],
};

describe("notifications of versions before 1.0", () => {
  it("are what they would be in 1.0", async () => {
    const { events, post } = await webhook(options);
    const update = {
      kind: "status-update",
      taskId: "t1",
      contextId: "c1",
      status: { state: "completed" },
      final: true,
    };
    for (const body of [bare, update, { id: "t2", sessionId: "s2", status: { state: "working" }, artifacts: null }]) {
      expect((await post({ headers, body: JSON.stringify(body) })).status).toBeLessThan(300);
    }
    expect(events.map(({ response: { payload }, taskId, contextId }) => [payload.case, taskId, contextId])).toEqual([
      ["task", "t1", "c1"],
      ["statusUpdate", "t1", "c1"],
      ["task", "t2", "s2"],
    ]);
    expect(events[0]?.response.payload.value).toMatchObject({
      status: { state: TaskState.INPUT_REQUIRED },
      artifacts: [{ parts: [{ content: { case: "text", value: "x" } }] }],
    });
  });

  it.each([
    { kind: "nothing", id: "t1" },
    { kind: "task", id: 1, status: {} },
    { kind: "task", id: "t1", contextId: "c1", status: "none" },
    { status: {}, id: {} },
    {},
  ])("are refused where they are none: %j", async (body) => {
    const { events, post } = await webhook(options);
    expect((await post({ headers, body: JSON.stringify(body) })).status).toBe(400);
    expect(events).toEqual([]);
  });

  it("of an agent that speaks 0.1 alone are updates of its task", async () => {
    const server = await V01Server.start();
    atEnd(() => server.stop());
    const client = await connect(server.url);
    const tasks = client.notified();
    const updates: Update[] = [];
    const { url } = await webhook(options, async (event) => {
      const update = await tasks.take(event);
      if (update !== undefined) updates.push(update);
    });
    const { taskId } = await client.send("echo hello", { pushNotification: { url, token } });
    await expect.poll(() => updates.at(-1)?.task?.status?.state).toBe(TaskState.COMPLETED);
    expect(updates.at(-1)?.task).toMatchObject({ id: taskId, artifacts: [{ artifactId: "artifact-0" }, {}] });
  });
});
