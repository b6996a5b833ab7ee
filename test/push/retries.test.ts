import { afterEach, describe, expect, it } from "vitest";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

let server: Server | undefined;
afterEach(() => server?.close());

/** A server whose name service can be asked so many times, and then knows nothing any more. */
async function started(lookups: number): Promise<{ readonly asked: () => number }> {
  let asked = 0;
  const lookup = async () => (++asked > lookups ? [] : [{ address: "127.0.0.1", family: 4 as const }]);
  server = await createServer({
    agent: obedient("retried"),
    store: memoryStore(),
    push: { allow: ["hooks.example.com"], lookup },
    limits: { shutdownGraceMs: 50 },
    port: 0,
    grpcPort: false,
  });
  return { asked: () => asked };
}

async function send(key: string): Promise<{ status: number; task?: { id: string } }> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", "idempotency-key": key };
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "ask x" }] };
  const configuration = { taskPushNotificationConfig: { url: "https://hooks.example.com/a" } };
  const body = JSON.stringify({ message, configuration });
  const response = await fetch(`${server?.url}/message:send`, { method: "POST", headers, body });
  return { status: response.status, ...((await response.json()) as { task?: { id: string } }) };
}

describe("a retry of a message with a push notification configuration", () => {
  it("is answered like the first try, whatever became of the webhook's name meanwhile", async () => {
    const { asked } = await started(1);
    const first = await send("one");
    expect(first.status).toBe(200);
    const again = await send("one");
    expect([again.status, again.task?.id]).toEqual([200, first.task?.id]);
    expect(asked()).toBeGreaterThanOrEqual(1);
    // A new message is refused, and its idempotency key stays free.
    expect((await send("two")).status).toBe(400);
    const { tasks } = (await (await fetch(`${server?.url}/tasks`)).json()) as { tasks: unknown[] };
    expect(tasks).toHaveLength(1);
  });
});
