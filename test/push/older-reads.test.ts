import { describe, expect, it, onTestFinished, vi } from "vitest";
import { working } from "../../src/agent/event.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Served, said } from "../version/served.js";
import { receive, refuse } from "./receiver.js";

/** Reads of the store while a webhook of 0.3 gets that many events of a task that has already ended. */
async function readsFor(events: number): Promise<{ readonly loads: number; readonly pages: number }> {
  const store = memoryStore();
  const receiver = await receive();
  // Delays the first notification until the task has ended, so that its states are found in the log alone.
  receiver.answer = (hit, response, request) =>
    receiver.hits.length === 1 ? refuse(503)(hit, response, request) : response.writeHead(204).end();
  const served = new Served({
    store,
    push: { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] },
    agent: {
      card: { name: "Counter", description: "Counts.", version: "1.0.0" },
      async *execute() {
        for (let i = 2; i < events; i++) yield working(String(i));
      },
    },
  });
  onTestFinished(() => served.close());
  const load = vi.spyOn(store, "load");
  const read = vi.spyOn(store, "read");
  const configuration = { blocking: false, pushNotificationConfig: { url: receiver.url("/old") } };
  await served.rpc("message/send", { ...said("count"), configuration });
  const sent = (): string[] => receiver.hits.slice(1).map(({ body }) => JSON.parse(body).status.state);
  await expect.poll(() => sent().at(-1), { timeout: 20_000 }).toBe("completed");
  expect(sent()).toHaveLength(events);
  return { loads: load.mock.calls.length, pages: read.mock.calls.length };
}

describe("notifications of 0.3", () => {
  it("fold a task once for all of its events, and read its log by pages", async () => {
    const few = await readsFor(10);
    const many = await readsFor(50);
    expect(many.loads).toBe(few.loads);
    expect(many.pages).toBeLessThanOrEqual(few.pages + 4);
  });
});
