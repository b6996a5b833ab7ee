import { afterEach, describe, expect, it } from "vitest";
import { artifact, completed } from "../../src/agent/event.js";
import { type A2A, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

const url = "http://other.localhost";

const asking = {
  ...agentOf("Front", async function* (turn) {
    const { text } = yield* turn.delegate("other");
    yield completed(text);
  }),
  recover: "restart" as const,
};

let heard: string[];
let other: A2A;
afterEach(() => other.close({ graceMs: 0 }));

/** A foreign agent whose answers to sends are lost while the line is held. */
function otherAgent({ hasList }: { readonly hasList: boolean }) {
  heard = [];
  other = createA2A({
    agent: agentOf("Other", async function* (turn) {
      heard.push(turn.text);
      yield artifact({ id: "a", text: "do" });
      yield artifact({ id: "a", text: "ne", append: true });
    }),
    store: memoryStore(),
    publicUrl: url,
    cardGrpc: "omit",
  });
  const line = { isHeld: true, arrived: 0 };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.method === "GET") return shown(await other.fetch(request));
    request.headers.delete("idempotency-key");
    const { method } = (await request.clone().json()) as { method: string };
    if (method === "ListTasks" && !hasList) return notThere();
    const answer = await other.fetch(request);
    if (method !== "SendStreamingMessage") return answer;
    line.arrived++;
    if (line.isHeld) await new Promise((_, reject) => init?.signal?.addEventListener("abort", reject));
    return answer;
  };
  return { line, fetch };
}

/** Rewrites the card to one without extensions that offers only JSON-RPC. */
async function shown(answer: Response): Promise<Response> {
  const card = (await answer.json()) as { supportedInterfaces: { protocolBinding: string }[] };
  const supportedInterfaces = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "JSONRPC");
  return Response.json({ ...card, supportedInterfaces, capabilities: { streaming: true } });
}

const notThere = (): Response =>
  Response.json({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "Method not found" } });

/** Crashes the process after its message has arrived and before any answer. Returns the final task. */
async function ended(remote: ReturnType<typeof otherAgent>, meanwhile: () => Promise<void> = async () => {}) {
  await using test = testAgent(asking, { remoteAgents: { other: { url, fetch: remote.fetch } } });
  const task = await test.send("hello", { returnImmediately: true });
  await expect.poll(() => remote.line.arrived).toBe(1);
  remote.line.isHeld = false;
  await meanwhile();
  await test.crash();
  return await test.settled(task);
}

async function tell(text: string): Promise<void> {
  const message = { messageId: text, role: "ROLE_USER", parts: [{ text }] };
  const body = JSON.stringify({ message });
  const headers = { "content-type": "application/json" };
  expect((await other.fetch(new Request(`${url}/message:send`, { method: "POST", headers, body }))).status).toBe(200);
}

describe("a sub-task of which no answer came before a crash, of an agent that keeps no idempotency keys", () => {
  it("is found among its tasks, and gone on with", async () => {
    const task = await ended(otherAgent({ hasList: true }));
    expect(task.artifacts.map(textOf)).toEqual(["done"]);
    expect(textOf(task.status?.message ?? task)).toBe("done");
    expect(heard).toEqual(["hello"]);
  });

  it("is found behind a hundred that are newer", async () => {
    const news = Array.from({ length: 150 }, (_, at) => `news ${at}`);
    const task = await ended(otherAgent({ hasList: true }), async () => {
      for (const text of news) await tell(text);
    });
    expect(textOf(task.status?.message ?? task)).toBe("done");
    expect(heard).toEqual(["hello", ...news]);
  });

  it("is begun once more where it does not list them: nothing could tell", async () => {
    const task = await ended(otherAgent({ hasList: false }));
    expect(textOf(task.status?.message ?? task)).toBe("done");
    expect(heard).toEqual(["hello", "hello"]);
  });
});
