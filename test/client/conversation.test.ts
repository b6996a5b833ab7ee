import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed, inputRequired, working } from "../../src/agent/event.js";
import type { Conversation } from "../../src/client/follow/conversation.js";
import { A2AError } from "../../src/core/error.js";
import { connect, serve } from "./world.js";

/** Ways to send a text in a conversation. Each returns the context of the answer. */
const ways: Readonly<Record<string, (talk: Conversation, text: string) => Promise<string | undefined>>> = {
  send: async (talk, text) => (await talk.send(text)).contextId,
  stream: async (talk, text) => {
    let contextId: string | undefined;
    for await (const { task, message } of talk.stream(text)) contextId ??= task?.contextId ?? message?.contextId;
    return contextId;
  },
};

describe("a conversation whose first messages are sent at once", () => {
  it.each(["send", "stream"])("has one context by %s", async (name) => {
    const client = await connect((await serve()).url);
    const talk = client.conversation();
    const way = ways[name] ?? expect.fail();
    const contexts = await Promise.all(
      ["count", "say hello", "count", "count", "say ho"].map((text) => way(talk, text)),
    );
    expect(new Set(contexts)).toEqual(new Set([talk.contextId]));
    expect((await client.listTasks({ contextId: talk.contextId ?? "" })).tasks).toHaveLength(3);
  });

  it("has one context where both ways are used, and the first one fails", async () => {
    let calls = 0;
    const fails = new A2AError("PERMISSION_DENIED", "Not this one.");
    const client = await connect((await serve()).url, {
      interceptors: [(next) => (request) => (++calls === 1 ? Promise.reject(fails) : next(request))],
    });
    const talk = client.conversation();
    const all = await Promise.allSettled(
      [ways.send, ways.stream, ways.send, ways.stream].map((way) => way?.(talk, "count")),
    );
    expect(all.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled", "fulfilled"]);
    const contexts = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(new Set(contexts)).toEqual(new Set([talk.contextId]));
  });

  it("goes on with the others as soon as the first stream has begun, and answers no question by them", async () => {
    const client = await connect((await serve()).url);
    const talk = client.conversation();
    const first = talk.stream("wait");
    await first.next();
    expect((await talk.send("count")).state).toBe(TaskState.COMPLETED);
    await first.return();
    const other = client.conversation();
    const [asked, counted] = await Promise.all([other.send("ask"), other.send("count")]);
    expect([asked.state, counted.state]).toEqual([TaskState.INPUT_REQUIRED, TaskState.COMPLETED]);
    expect(counted.contextId).toBe(asked.contextId);
  });

  it("waits no longer for the first one than its caller says", async () => {
    const client = await connect((await serve()).url);
    const talk = client.conversation();
    const stop = new AbortController();
    const first = talk.send("wait", { signal: stop.signal }).catch((error: A2AError) => error.reason);
    await expect(talk.send("count", { timeoutMs: 100 })).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
    await expect(talk.send("count", { signal: AbortSignal.abort() })).rejects.toMatchObject({ reason: "CANCELLED" });
    stop.abort();
    expect(await first).toBe("CANCELLED");
    expect((await talk.send("count")).state).toBe(TaskState.COMPLETED);
  });

  it.each(["send", "stream"] as const)(
    "has the waiting ones try to be the first, one by one, as each fails by %s",
    async (name) => {
      const client = await connect((await serve()).url, {
        interceptors: [
          (next) => async (request) => {
            if (++calls > 3) return next(request);
            await new Promise<void>((resolve) => gates.push(resolve));
            throw new A2AError("PERMISSION_DENIED", "Not this one.");
          },
        ],
      });
      let calls = 0;
      const gates: (() => void)[] = [];
      const talk = client.conversation();
      const stop = new AbortController();
      const sent = (options = {}): Promise<string> => {
        const way = async () => {
          if (name === "send") return void (await talk.send("count", options));
          for await (const _ of talk.stream("count", options));
        };
        return way().then(
          () => "answered",
          (error: A2AError) => error.reason,
        );
      };
      const all = [sent(), sent(), sent({ signal: stop.signal }), sent(), sent(), sent()];
      const late = sent({ timeoutMs: 50 });
      await expect.poll(() => gates.length).toBe(1);
      // Waiting messages end by their own signal and deadline, without a call.
      stop.abort();
      expect([await all[2], await late]).toEqual(["CANCELLED", "DEADLINE_EXCEEDED"]);
      for (const nth of [1, 2, 3]) {
        await expect.poll(() => gates.length).toBe(1);
        expect(calls).toBe(nth);
        gates.pop()?.();
      }
      const refused = "PERMISSION_DENIED";
      expect(await Promise.all(all)).toEqual([refused, refused, "CANCELLED", refused, "answered", "answered"]);
      const { tasks } = await client.listTasks({ contextId: talk.contextId ?? "" });
      expect(tasks).toHaveLength(2);
    },
  );
});

/** Asks as long as the message says so. */
const asking: Agent = {
  card: { name: "Asking", description: "Asks.", version: "1.0.0" },
  async *execute(turn) {
    if (turn.text === "hold") {
      yield working();
      await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve(), { once: true }));
    } else yield turn.text === "ask" ? inputRequired("What?") : completed();
  },
};

describe("a conversation with parallel tasks", () => {
  it.each(["send", "stream"])("keeps the task that waits, whatever others answer by %s", async (name) => {
    const client = await connect((await serve({ agent: asking })).url);
    const talk = client.conversation();
    const held = talk.stream("hold");
    const id = (await held.next()).value?.task?.id ?? expect.fail();
    const way = ways[name] ?? expect.fail();
    // Both calls are in progress before either turn asks.
    await Promise.all([way(talk, "ask"), way(talk, "ask")]);
    const first = talk.taskId;
    await client.cancelTask({ id });
    for await (const _ of held);
    expect([talk.task?.id, talk.taskId]).toEqual([id, first]);
    const answered: unknown[] = [];
    for (const text of ["ask", "done", "done", "new"]) {
      await way(talk, text);
      answered.push([talk.task?.id, talk.task?.status?.state, talk.taskId]);
    }
    const { tasks } = await client.listTasks({ contextId: talk.contextId ?? "" });
    const [other, fresh] = [answered[2], answered[3]].map((each) => (each as string[])[0]);
    expect(tasks.map((task) => task.id).toSorted()).toEqual([id, first, other, fresh].toSorted());
    expect(answered).toEqual([
      [first, TaskState.INPUT_REQUIRED, first],
      [first, TaskState.COMPLETED, other],
      [other, TaskState.COMPLETED, undefined],
      [fresh, TaskState.COMPLETED, undefined],
    ]);
  });
});
