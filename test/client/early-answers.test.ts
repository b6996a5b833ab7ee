import type { Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { type SendMessageRequest, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../src/client/client.js";
import { A2AError } from "../../src/core/error.js";
import { type ClientBinding, clientBindings } from "./cores.js";
import { connect, serve } from "./world.js";

/** Methods that a client calls. */
type Calls = string[];

/** Simulates a server that answers before the task ends, and that may lack subscriptions and reads. */
const early =
  (calls: Calls, without: readonly string[]): Interceptor =>
  (next) =>
  async (request) => {
    calls.push(request.method.name);
    if (request.method.name === "SendMessage") {
      const { configuration } = request.message as SendMessageRequest;
      if (configuration !== undefined) configuration.returnImmediately = true;
    }
    if (without.includes(request.method.name)) throw new A2AError("METHOD_NOT_FOUND", "There is no such method.");
    return next(request);
  };

interface World {
  readonly binding?: ClientBinding;
  readonly without?: readonly string[];
  readonly streaming?: boolean;
}

async function clientOf({ binding = "JSONRPC", without = [], streaming = true }: World) {
  const server = await serve();
  const calls: Calls = [];
  const card = (await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()) as Record<string, object>;
  const client = await connect(
    { ...card, capabilities: { ...card.capabilities, streaming } },
    { bindings: [binding], interceptors: [early(calls, without)], plaintextGrpc: true },
  );
  return { client, calls };
}

const worlds: readonly World[] = [
  ...clientBindings.map((binding) => ({ binding })),
  { streaming: false },
  { without: ["SubscribeToTask"] },
];

describe("a send to a server that does not wait", () => {
  it.each(worlds)("waits for the end of its task itself (%o)", async (world) => {
    const { client } = await clientOf(world);
    const answer = await client.send("count");
    expect([answer.state, answer.text]).toEqual([TaskState.COMPLETED, "one two three"]);
    expect(answer.task?.history.length).toBe(1);
    expect((await client.send("count", { historyLength: 0 })).task?.history).toEqual([]);
  });

  it.each(worlds)("waits for the question of its task itself (%o)", async (world) => {
    const { client } = await clientOf(world);
    const talk = client.conversation();
    expect(await talk.send("ask")).toMatchObject({ state: TaskState.INPUT_REQUIRED, text: "What?" });
    expect(talk.taskId).toMatch(/./);
  });

  it("answers at once where it was asked to", async () => {
    const { client, calls } = await clientOf({});
    const { state } = await client.send("wait", { returnImmediately: true });
    expect([TaskState.SUBMITTED, TaskState.WORKING]).toContain(state);
    expect(calls).toEqual(["SendMessage"]);
  });

  it("answers as the server did where it can be neither followed nor read", async () => {
    const { client } = await clientOf({ without: ["SubscribeToTask", "GetTask"] });
    expect([TaskState.SUBMITTED, TaskState.WORKING]).toContain((await client.send("wait")).state);
  });

  const ends: Readonly<Record<string, (client: A2AClient) => Promise<unknown>>> = {
    DEADLINE_EXCEEDED: (client) => client.send("wait", { timeoutMs: 300 }),
    CANCELLED: (client) => client.send("wait", { signal: aborted() }),
  };

  it.each(Object.entries(ends))("ends by %s as any send, and names the task", async (reason, call) => {
    const { client } = await clientOf({});
    const error = await call(client).then(
      () => expect.fail("It did not fail."),
      (thrown: A2AError) => thrown,
    );
    expect(error).toMatchObject({ reason, metadata: { taskId: expect.any(String) } });
    expect(error.metadata.arrival).toBeUndefined();
    const { taskId = "" } = error.metadata;
    expect((await client.getTask({ id: taskId })).id).toBe(taskId);
  });

  it("ends by the client's own time for sends", async () => {
    const server = await serve();
    const client = await connect(server.url, { interceptors: [early([], [])], limits: { sendTimeoutMs: 300 } });
    await expect(client.send("wait")).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  });
});

function aborted(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 300);
  return controller.signal;
}
