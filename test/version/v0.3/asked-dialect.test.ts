import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed } from "../../../src/agent/event.js";
import { createServer } from "../../../src/server/create-server.js";
import { memoryStore } from "../../../src/store/memory/index.js";

const agent: Agent = {
  card: { name: "Echo", description: "Echoes.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    yield artifact({ name: "echo", text: turn.text });
    yield completed("done");
  },
};

const schema = { kind: "message", role: "user", messageId: "m", parts: [{ kind: "text", text: "x" }] };
const proto = { role: "ROLE_USER", messageId: "m", content: [{ text: "x" }] };

describe("HTTP+JSON of 0.3", () => {
  let server: Awaited<ReturnType<typeof createServer>>;
  beforeEach(async () => {
    server = await createServer({ agent, store: memoryStore(), host: "127.0.0.1", port: 0, grpcPort: false });
  });
  afterEach(() => server.close());

  const post = async (verb: string, message: object): Promise<string> => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ message });
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/message:${verb}`, {
      method: "POST",
      headers,
      body,
    });
    expect(response.status).toBe(200);
    return await response.text();
  };
  const events = (text: string): unknown[] =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string));

  it("answers in the dialect that it is asked in, in the same wrappers", async () => {
    const { task } = JSON.parse(await post("send", schema));
    expect(task).toMatchObject({
      kind: "task",
      status: {
        state: "completed",
        message: { kind: "message", role: "agent", parts: [{ kind: "text", text: "done" }] },
      },
      artifacts: [{ parts: [{ kind: "text", text: "x" }] }],
      history: [{ kind: "message", role: "user" }],
    });
    const { task: other } = JSON.parse(await post("send", { ...proto, messageId: "m2" }));
    expect(other).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" }, history: [{ role: "ROLE_USER" }] });
    expect(other).not.toHaveProperty("kind");
  });

  it("streams in it as well, with the positions to go on from", async () => {
    const texts = [await post("stream", schema), await post("stream", { ...proto, messageId: "m2" })] as const;
    const [ours, theirs] = texts.map(events) as [Record<string, { kind?: string }>[], Record<string, object>[]];
    expect(ours.map((event) => Object.entries(event).map(([name, { kind }]) => [name, kind])[0])).toEqual([
      ["task", "task"],
      ["artifactUpdate", "artifact-update"],
      ["statusUpdate", "status-update"],
    ]);
    expect(ours.at(-1)).toMatchObject({ statusUpdate: { status: { state: "completed" }, final: true } });
    expect(theirs.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" }, final: true } });
    const ids = texts.map((text) => text.match(/^id: .*$/gm));
    expect(ids[0]).toEqual(ids[1]);
    expect(ids[0]).not.toBe(null);
  });
});
