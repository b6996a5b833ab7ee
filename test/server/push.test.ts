import { expect, it, onTestFinished } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
};

it("A server without the option has no control of push notifications", () => {
  expect(createA2A({ agent, store: memoryStore() }).push).toBeUndefined();
});

it("A server with it says what it delivers, from its start to its end", async () => {
  const a2a = createA2A({ agent, store: memoryStore(), push: true });
  onTestFinished(() => a2a.close());
  const nothing = { working: 0, waiting: 0, sent: 0, failed: 0, givenUp: 0, failingHosts: [] };
  expect(a2a.push?.status()).toEqual(nothing);
  await a2a.start();
  expect(a2a.push?.status()).toEqual(nothing);
  expect(await a2a.push?.deadLetters()).toEqual([]);
  expect(await a2a.push?.redrive()).toBe(0);
  await expect(a2a.push?.deadLetters({ limit: 0 })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
  await a2a.close();
  expect(a2a.push?.status()).toEqual(nothing);
});
