import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { reply } from "../../src/agent/event.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { createServer } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";

const card = { name: "Direct", description: "Answers without a task.", version: "1.0.0" };

function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve = (_: T): void => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const requestTo = (url: string): Request =>
  new Request(new URL("/message:send", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } }),
  });

/** Agents that wait without a task, and go on when they may. */
const waiting: [name: string, make: (wait: (turn: Pick<Turn, "signal">) => Promise<unknown>) => Agent][] = [
  [
    "that answers directly",
    (wait) => ({
      card,
      responds: "message",
      async *execute(turn) {
        await wait(turn);
        yield reply("done");
      },
    }),
  ],
  [
    "that has not decided yet",
    (wait) => ({
      card,
      responds: "either",
      async *execute(turn) {
        await wait(turn);
        yield reply("done");
      },
    }),
  ],
  [
    "that is asked whether it takes the message",
    (wait) => ({
      card,
      responds: "message",
      accept: async (turn) => void (await wait(turn)),
      async *execute() {
        yield reply("done");
      },
    }),
  ],
];

describe("a call to an agent", () => {
  it.each(waiting.slice(0, 2))("%s has the grace of the end", async (_name, make) => {
    const begun = deferred();
    const mayGoOn = deferred();
    const agent = make(() => {
      begun.resolve();
      return mayGoOn.promise;
    });
    const server = await createServer({ agent, store: memoryStore(), host: "127.0.0.1", port: 0, grpcPort: 0 });
    const answered = fetch(requestTo(server.url)).then(async (response) => [response.status, await response.text()]);
    await begun.promise;
    const closed = server.close({ graceMs: 20_000 });
    // The connection of a call that is not waited for would be cut off by then.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    mayGoOn.resolve();
    expect(await answered).toEqual([200, expect.stringContaining("done")]);
    await closed;
  });

  it.each(waiting)("%s is refused when the grace is over, and its signal says why", async (_name, make) => {
    const begun = deferred();
    const fired = deferred<unknown>();
    const agent = make(({ signal }) => {
      signal.addEventListener("abort", () => fired.resolve((signal.reason as Error).cause));
      begun.resolve();
      return new Promise(() => {});
    });
    const a2a = createA2A({ agent, store: memoryStore(), limits: { shutdownGraceMs: 50, cancelGraceMs: 50 } });
    const answered = a2a.fetch(requestTo("http://localhost"));
    await begun.promise;
    await a2a.close();
    expect(await fired.promise).toBe("shutdown");
    const response = await answered;
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("shutting down")]);
  });
});
