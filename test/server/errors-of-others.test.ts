import { ConnectError, createClient, createRouterTransport, type Interceptor } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { A2AError } from "../../src/core/error.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";

/** The package once more, as an agent has it whose folder has a node_modules of its own. */
// @ts-expect-error: the compiler does not know the query, which makes it another module.
const copy: typeof import("../../src/core/error.js") = await import("../../src/core/error.js?agent");

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

const refusal = (): Error =>
  new copy.A2AError("CONTENT_TYPE_NOT_SUPPORTED", "Only Markdown.", { metadata: { supported: "text/markdown" } });

const card = { name: "Probe", description: "Refuses.", version: "1.0.0" };
const agents: Record<string, Agent> = {
  "accept()": {
    card,
    accept() {
      throw refusal();
    },
    async *execute() {
      yield completed();
    },
  },
  "its first event": {
    card,
    responds: "either",
    // biome-ignore lint/correctness/useYield: it refuses.
    async *execute() {
      throw refusal();
    },
  },
};

function make(agent: Agent) {
  const a2a = createA2A({ agent, store: memoryStore() });
  opened.push(() => a2a.close({ graceMs: 0 }));
  return a2a;
}

const text = { content: { case: "text" as const, value: "hello" } };
const request = { message: { messageId: "m", role: Role.USER, parts: [text] } };

describe("an A2AError of another copy of the package", () => {
  it.each(Object.entries(agents))("is what the caller hears when it is thrown by %s", async (_, agent) => {
    const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } });
    const headers = { "content-type": "application/json" };
    const asked = new Request("http://agent.test/message:send", { method: "POST", headers, body });
    const { error } = (await (await make(agent).fetch(asked)).json()) as { error: { details: unknown[] } };
    expect(error).toMatchObject({ code: 400, message: "Only Markdown." });
    expect(error.details[0]).toMatchObject({
      reason: "CONTENT_TYPE_NOT_SUPPORTED",
      metadata: { supported: "text/markdown" },
    });
  });
});

describe("a Connect router of somebody else", () => {
  it("gets Connect's errors, with their details, and finds ours behind them", async () => {
    const seen: unknown[] = [];
    const watch: Interceptor = (next) => async (call) => {
      try {
        const answer = await next(call);
        if (!answer.stream) return answer;
        return { ...answer, message: watched(answer.message) };
      } catch (error) {
        seen.push(error);
        throw error;
      }
    };
    async function* watched<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
      try {
        yield* messages;
      } catch (error) {
        seen.push(error);
        throw error;
      }
    }
    const { connect } = make(agents["accept()"] as Agent);
    const transport = createRouterTransport(connect.routes, { router: { interceptors: [watch] } });
    const client = createClient(A2AService, transport);
    await expect(client.sendMessage(request)).rejects.toThrow("Only Markdown.");
    await expect(client.sendStreamingMessage(request)[Symbol.asyncIterator]().next()).rejects.toThrow("Only Markdown.");
    expect(seen).toHaveLength(2);
    for (const error of seen as ConnectError[]) {
      expect(Object.getPrototypeOf(error)).toBe(ConnectError.prototype);
      expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }]);
      expect(A2AError.isOwn(error.cause)).toBe(true);
    }
  });
});
