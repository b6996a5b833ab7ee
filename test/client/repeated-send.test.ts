import { describe, expect, it } from "vitest";
import type { A2AClient } from "../../src/client/client.js";
import type { A2AError } from "../../src/core/error.js";
import type { Update } from "../../src/task/answer.js";
import { connect, serve } from "./world.js";

interface Options {
  readonly idempotencyKey: string;
}

async function taskOf(updates: AsyncIterable<Update>): Promise<string | undefined> {
  let id: string | undefined;
  for await (const { task } of updates) id = task?.id;
  return id;
}

/** Ways to send a text. Each returns the id of its task. */
const sends = {
  send: async (client, text, options) => (await client.send(text, options)).taskId,
  stream: (client, text, options) => taskOf(client.stream(text, options)),
  "send of a conversation": async (client, text, options) => (await client.conversation().send(text, options)).taskId,
  "stream of a conversation": (client, text, options) => taskOf(client.conversation().stream(text, options)),
} satisfies Record<string, (client: A2AClient, text: string, options: Options) => Promise<string | undefined>>;

describe("a text that is sent again", () => {
  it.each(Object.entries(sends))("is one task under the key of its caller: %s", async (_name, send) => {
    const client = await connect((await serve()).url);
    const options = { idempotencyKey: "mine" };
    const first = await send(client, "task x", options);
    expect(first).toMatch(/./);
    expect(await send(client, "task x", options)).toBe(first);
    await expect(send(client, "task y", options)).rejects.toMatchObject({ reason: "IDEMPOTENCY_KEY_REUSED" });
  });

  it("is one task under the key of an error", async () => {
    const client = await connect((await serve()).url);
    const lost = await client.send("wait", { timeoutMs: 300 }).catch((error: A2AError) => error.metadata);
    expect(lost).toMatchObject({ arrival: "unknown", idempotencyKey: expect.stringMatching(/./) });
    const { idempotencyKey = "" } = lost as Record<string, string>;
    const { taskId } = await client.send("wait", { idempotencyKey, returnImmediately: true });
    expect((await client.listTasks({})).tasks.map(({ id }) => id)).toEqual([taskId]);
  });

  it("keeps the id that its caller chose", async () => {
    const client = await connect((await serve()).url);
    const message = { parts: "task x", messageId: "chosen" };
    const { task } = await client.send(message, { idempotencyKey: "mine" });
    expect(task?.history.map(({ messageId }) => messageId)).toContain("chosen");
    expect((await client.send(message, { idempotencyKey: "mine" })).taskId).toBe(task?.id);
  });
});

describe("an idempotency key that no header can carry", () => {
  it.each(["", " ", "key ", "ключ", "a\nb", "k".repeat(257), 5])(
    "is refused before anything is sent: %j",
    async (key) => {
      const client = await connect((await serve()).url);
      const refused = { reason: "INVALID_PARAMS", violations: [{ field: "idempotencyKey" }] };
      await expect(client.send("task x", { idempotencyKey: key as string })).rejects.toMatchObject(refused);
      expect((await client.listTasks({})).tasks).toEqual([]);
    },
  );
});
