import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { inputRequired, working } from "../../src/agent/event.js";
import { chatTransport, type UIChunk } from "../../src/client/ai-sdk/index.js";
import type { A2AClient } from "../../src/client/client.js";
import { ConversationStore } from "../../src/client/react/conversation-store.js";
import { connect, serve } from "./world.js";

/** Asks if the message is "ask", or else works until it is canceled. */
const busy: Agent = {
  card: { name: "Busy", description: "Works.", version: "1.0.0" },
  async *execute(turn) {
    if (turn.text === "ask") return yield inputRequired("Which one?");
    yield working();
    await sleep(600_000, undefined, { signal: turn.signal });
  },
};

const message = (text: string) => ({ id: text, role: "user", parts: [{ type: "text", text }] });

/** States of all tasks of the agent, the latest first. */
async function statesOf(client: A2AClient): Promise<(TaskState | undefined)[]> {
  const { tasks } = await client.listTasks({});
  return tasks.map(({ status }) => status?.state);
}

const canceled = (client: A2AClient, count = 1) =>
  expect.poll(() => statesOf(client)).toEqual(Array.from({ length: count }, () => TaskState.CANCELED));

async function world(): Promise<A2AClient> {
  const { url } = await serve({ agent: busy });
  return connect(url);
}

/** Reads a stream to its end. */
async function typesOf(stream: ReadableStream<{ type: string }> | null): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of stream ?? []) types.push(type);
  return types;
}

describe("ConversationStore.stop()", () => {
  it("cancels the task of a turn that was stopped before its first event", async () => {
    const client = await world();
    const store = new ConversationStore(client, undefined, "chat");
    store.attach();
    store.send("go");
    store.stop();
    expect(store.view()).toMatchObject({ isStreaming: false, turns: [{ phase: "stopped", taskId: undefined }] });
    await canceled(client);
    const [turn] = store.view().turns;
    expect(turn).toMatchObject({ phase: "stopped", taskId: expect.any(String) });
    expect(store.view().contextId).toEqual(expect.any(String));
  });

  it("cancels a task whose question the turn answered, and leaves the turn after it alone", async () => {
    const client = await world();
    const store = new ConversationStore(client, undefined, "chat");
    store.attach();
    store.send("ask");
    await expect.poll(() => store.view().taskId).toEqual(expect.any(String));
    store.send("this one");
    store.stop();
    store.send("go");
    await expect.poll(() => store.view().turns[2]?.taskId).toEqual(expect.any(String));
    await expect.poll(async () => (await statesOf(client)).toSorted()).toEqual([TaskState.WORKING, TaskState.CANCELED]);
    expect(store.view().turns.map(({ phase }) => phase)).toEqual(["done", "stopped", "streaming"]);
    store.stop();
    await canceled(client, 2);
  });
});

/** Sends a message of a chat that can be stopped. */
async function sent(client: A2AClient): Promise<{ stream: ReadableStream<UIChunk>; abort: () => void }> {
  const { signal, abort } = stopper();
  const messages = [message("go")];
  const stream = await chatTransport(client).sendMessages({ chatId: "c", messages, abortSignal: signal });
  return { stream, abort };
}

describe("chatTransport().sendMessages()", () => {
  it("cancels the task when the chat is stopped", async () => {
    const client = await world();
    const { stream, abort } = await sent(client);
    const reader = stream.getReader();
    expect((await reader.read()).value?.type).toBe("start");
    abort();
    const rest: string[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest.push(next.value.type);
    expect(rest.at(-1)).toBe("abort");
    await canceled(client);
  });

  it("cancels the task of a chat that was stopped before its first event", async () => {
    const client = await world();
    const { signal, abort } = stopper();
    const { follow, cancelTask } = client;
    const stopping = {
      follow,
      cancelTask,
      // The stop comes while the message is being sent.
      stream: (...call: Parameters<A2AClient["stream"]>) => {
        setImmediate(abort);
        return client.stream(...call);
      },
    };
    const messages = [message("go")];
    const stream = await chatTransport(stopping).sendMessages({ chatId: "c", messages, abortSignal: signal });
    expect(await typesOf(stream)).toEqual(["abort"]);
    await canceled(client);
  });

  it("cancels the task when the chat stops reading as well", async () => {
    const client = await world();
    const { stream, abort } = await sent(client);
    const reader = stream.getReader();
    const first = reader.read();
    abort();
    await Promise.all([first, reader.cancel()]);
    await canceled(client);
  });

  it("sends nothing of a chat that was stopped before it was read", async () => {
    const client = await world();
    const { stream, abort } = await sent(client);
    abort();
    expect(await typesOf(stream)).toEqual(["abort"]);
    expect(await statesOf(client)).toEqual([]);
  });
});

describe("chatTransport().reconnectToStream()", () => {
  it("cancels the task when the chat is stopped, and not when it resumes again", async () => {
    const client = await world();
    const transport = chatTransport(client);
    const sent = await transport.sendMessages({ chatId: "c", messages: [message("go")], abortSignal: undefined });
    await sent.getReader().read();
    const resume = async () => {
      const { signal, abort } = stopper();
      const types = typesOf(await transport.reconnectToStream({ chatId: "c", abortSignal: signal }));
      return { abort, types };
    };
    const first = await resume();
    first.abort();
    const second = await resume();
    expect((await first.types).at(-1)).toBe("abort");
    await client.getTask({ id: (await client.listTasks({})).tasks[0]?.id ?? "" });
    expect(await statesOf(client)).toEqual([TaskState.WORKING]);
    second.abort();
    expect((await second.types).at(-1)).toBe("abort");
    await canceled(client);
  });
});

function stopper(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
