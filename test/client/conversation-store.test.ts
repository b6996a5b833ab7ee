import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { ClientFold } from "../../src/client/follow/fold.js";
import { type ConversationClient, ConversationStore } from "../../src/client/react/conversation-store.js";
import { A2AError } from "../../src/core/error.js";
import type { Update } from "../../src/task/answer.js";
import { IDEMPOTENCY_EXTENSION } from "../../src/wire/service-params.js";
import { connect, serve } from "./world.js";

/** An agent whose task runs until its followers leave. It cancels no task. */
class Busy implements ConversationClient {
  /** Makes the pending cancel fail. */
  refuse: () => void = () => {};
  followed = 0;

  async *stream(_: unknown, options: { signal?: AbortSignal } = {}): AsyncGenerator<Update> {
    this.followed++;
    const task = { id: "t", contextId: "c", status: { state: TaskState.WORKING } };
    const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    yield new ClientFold().take(event) as Update;
    await new Promise<void>((resolve) => options.signal?.addEventListener("abort", () => resolve(), { once: true }));
    throw options.signal?.reason;
  }

  follow(_: string, options?: { signal?: AbortSignal }): AsyncIterable<Update> {
    return this.stream(undefined, options);
  }

  cancelTask(): Promise<never> {
    return new Promise((_, reject) => {
      this.refuse = () => reject(new Error("not cancelable"));
    });
  }
}

describe("a turn that is stopped, whose task cannot be canceled", () => {
  for (const [when, isBack] of [
    ["is stopped when the page was left meanwhile", false],
    ["is stopped when the page was left and is there again", true],
  ] as const) {
    it(when, async () => {
      const agent = new Busy();
      const store = new ConversationStore(agent, undefined, "chat");
      const leave = store.attach();
      expect(store.send("go")).toBe(true);
      await expect.poll(() => store.view().turns[0]?.taskId).toBe("t");
      store.stop();
      leave();
      if (isBack) {
        store.attach();
        await expect.poll(() => agent.followed).toBe(2);
      }
      await new Promise((resolve) => setTimeout(resolve));
      agent.refuse();
      await expect.poll(() => store.view()).toMatchObject({ isStreaming: false, turns: [{ phase: "stopped" }] });
      if (!isBack) store.attach();
      expect(store.send("again")).toBe(true);
      store.reset();
    });
  }
});

/** An agent that names the task of a message when the test says so. */
class Late extends Busy {
  readonly name: (() => void)[] = [];

  override async *stream(input: unknown, options: { signal?: AbortSignal } = {}): AsyncGenerator<Update> {
    await new Promise<void>((resolve) => this.name.push(resolve));
    yield* super.stream(input, options);
  }
}

/** Stores conversations in memory. */
function memoryStorage() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

describe("a conversation that is left before its task is named, and shown anew", () => {
  it.each<[what: string, isStopped: boolean, then: (store: ConversationStore) => void]>([
    ["keeps what was said since", false, (store) => store.send("more")],
    ["keeps what was said since where the first turn was stopped", true, (store) => store.send("more")],
    ["stays forgotten", false, (store) => store.reset()],
    ["stays forgotten where the first turn was stopped", true, (store) => store.reset()],
  ])("%s", async (_what, isStopped, then) => {
    const agent = new Late();
    const storage = memoryStorage();
    const first = new ConversationStore(agent, storage, "chat");
    const leave = first.attach();
    first.send("go");
    if (isStopped) first.stop();
    leave();
    const second = new ConversationStore(agent, storage, "chat");
    second.attach();
    then(second);
    const kept = storage.getItem("chat");
    agent.name[0]?.();
    await expect.poll(() => first.view().turns[0]?.taskId).toBe("t");
    expect(storage.getItem("chat")).toBe(kept);
    second.reset();
  });
});

/** An agent that supports idempotency keys and is unreachable at first. */
class Unreachable extends Busy {
  readonly card = create(AgentCardSchema, { capabilities: { extensions: [{ uri: IDEMPOTENCY_EXTENSION }] } });
  readonly keys: (string | undefined)[] = [];

  override async *stream(
    input: unknown,
    options: { signal?: AbortSignal; idempotencyKey?: string } = {},
  ): AsyncGenerator<Update> {
    if (this.keys.push(options.idempotencyKey) === 1) throw new A2AError("UNAVAILABLE", "The agent is away.");
    yield* super.stream(input, options);
  }
}

describe("a turn that failed", () => {
  it.each([undefined, "mine"])("is replaced when its message is sent again, under the same key (%s)", async (own) => {
    const agent = new Unreachable();
    const store = new ConversationStore(agent, undefined, "chat");
    const options = own === undefined ? {} : { idempotencyKey: own };
    store.attach();
    store.send("go", options);
    await expect.poll(() => store.view().turns[0]?.phase).toBe("failed");
    const [failed] = store.view().turns;
    expect(store.send(failed?.message ?? "", options)).toBe(true);
    await expect.poll(() => store.view().turns[0]?.taskId).toBe("t");
    expect(store.view().turns.map(({ id, phase }) => [id, phase])).toEqual([[failed?.id, "streaming"]]);
    expect(agent.keys).toEqual([failed?.id, failed?.id]);
    store.reset();
  });

  it("has a key of its own if its message has an author's id", async () => {
    const agent = new Unreachable();
    for (const id of ["first", "second"]) {
      const store = new ConversationStore(agent, undefined, id);
      store.attach();
      store.send({ parts: "go", messageId: "1" });
      await expect.poll(() => agent.keys.length).toBe(id === "first" ? 1 : 2);
      store.reset();
    }
    expect(new Set(agent.keys).size).toBe(2);
    expect(agent.keys).not.toContain("1");
  });
});

describe("a conversation whose question is answered after a reload", () => {
  it("has the text of each turn apart", async () => {
    const agent: Agent = {
      card: { name: "Asker", description: "Asks once.", version: "1.0.0" },
      async *execute({ text }) {
        yield artifact({ id: "said", text, append: true });
        yield text === "first" ? inputRequired("More?") : completed();
      },
    };
    const client = await connect((await serve({ agent })).url);
    const storage = memoryStorage();
    const texts: string[] = [];
    for (const say of ["first", "second"]) {
      const store = new ConversationStore(client, storage, "chat");
      const leave = store.attach();
      store.send(say);
      await expect.poll(() => store.view().isStreaming).toBe(false);
      texts.push(store.view().turns.at(-1)?.text ?? "");
      leave();
    }
    expect(texts).toEqual(["first\nMore?", "second"]);
  });

  it("has all of a text that replaces the one of an earlier turn", async () => {
    const agent: Agent = {
      card: { name: "Writer", description: "Writes anew.", version: "1.0.0" },
      async *execute({ text }) {
        yield artifact({ id: "said", text });
        yield text === "first draft" ? inputRequired("More?") : completed();
      },
    };
    const store = new ConversationStore(await connect((await serve({ agent })).url), undefined, "chat");
    const leave = store.attach();
    for (const say of ["first draft", "final"]) {
      store.send(say);
      await expect.poll(() => store.view().isStreaming).toBe(false);
    }
    expect(store.view().turns.map(({ text }) => text)).toEqual(["first draft\nMore?", "final"]);
    leave();
  });
});
