import { clone, create, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Role,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import type { ClientCore } from "../../src/client/calls/core.js";
import { follow, stream } from "../../src/client/follow/send.js";
import { A2AError, invalid } from "../../src/core/error.js";
import type { Update } from "../../src/task/answer.js";
import { isTerminal } from "../../src/task/state.js";
import { resumeParameters } from "../../src/wire/service-params.js";
import { scaled } from "../support/soak.js";
import { log } from "../task/arbitraries.js";
import { type Cut, LogServer } from "./log-server.js";

/** A log of a task that ends without asking. A stream that is cut at a question would count as ended. */
const finished = log
  .filter((entries) => {
    const last = entries.at(-1)?.event;
    return last?.case === "status" && isTerminal(last.value.status?.state ?? 0);
  })
  .map((entries) => entries.map(withoutQuestion));

function withoutQuestion(entry: LogEntry): LogEntry {
  const { event } = entry;
  if (event.case !== "status" || event.value.status?.state !== TaskState.INPUT_REQUIRED) return entry;
  const status = { ...event.value.status, state: TaskState.WORKING };
  return { ...entry, event: { case: "status", value: { ...event.value, status } } };
}

/** The same logs without messages of other clients, which streams do not show. */
const alone = finished.map((entries) => {
  const kept = entries.filter(({ event }) => event.case !== "message");
  return kept.map((entry, index): LogEntry => ({ ...entry, position: index + 1 }));
});

const cuts = fc.array(
  fc.record<Cut>({
    after: fc.nat({ max: 6 }),
    missed: fc.nat({ max: 6 }),
    how: fc.constantFrom<Cut["how"]>("error", "end"),
  }),
  { maxLength: 25 },
);

interface Followed {
  readonly updates: readonly Update[];
  readonly text: string;
  readonly task: Task;
}

async function followed(updates: AsyncIterable<Update>): Promise<Followed> {
  const seen: Update[] = [];
  let text = "";
  let task: Task | undefined;
  for await (const update of updates) {
    seen.push(update);
    text += update.text;
    task = update.task;
  }
  if (task === undefined) throw new Error("There was no task.");
  return { updates: seen, text, task: clone(TaskSchema, task) };
}

const sent = (core: ClientCore): Promise<Followed> => followed(stream(core, "Go."));

describe("stream()", () => {
  it("is the same with exact resume, wherever connections are cut: each event once, the same task, the same text", async () => {
    await fc.assert(
      fc.asyncProperty(finished, cuts, async (entries, breaks) => {
        const can = { resume: true, idempotent: true };
        const whole = await sent(new LogServer(entries, [], can).core);
        const server = new LogServer(entries, breaks, can);
        const cut = await sent(server.core);
        expect(cut.updates.map(({ kind, text, generation }) => [kind, text, generation])).toEqual(
          whole.updates.map(({ kind, text, generation }) => [kind, text, generation]),
        );
        expect(cut.text).toBe(whole.text);
        expect(equals(TaskSchema, cut.task, whole.task)).toBe(true);
        expect(server.reads).toBe(0);
      }),
    );
  });

  it("ends with the same task without exact resume, wherever connections are cut", async () => {
    await fc.assert(
      fc.asyncProperty(alone, cuts, async (entries, breaks) => {
        const can = { resume: false, idempotent: true };
        const whole = await sent(new LogServer(entries, [], can).core);
        const cut = await sent(new LogServer(entries, breaks, can).core);
        expect(cut.task).toEqual(whole.task);
      }),
    );
  });

  it("ends with the task that the server has, messages of others included, where it was told by snapshot", async () => {
    await fc.assert(
      fc.asyncProperty(finished, cuts, async (entries, breaks) => {
        const server = new LogServer(entries, [{ after: 1, missed: 2, how: "error" }, ...breaks], {
          resume: false,
          idempotent: true,
        });
        const { task } = await sent(server.core);
        expect(task).toEqual(server.task);
      }),
    );
  });

  it("goes on where a task was seen to wait for authorization, without exact resume as well", async () => {
    const entries = growing(["a"]);
    const status = { state: TaskState.AUTH_REQUIRED };
    const value = create(TaskStatusUpdateEventSchema, { taskId: "task", contextId: "context", status });
    entries.splice(2, 0, create(LogEntrySchema, { event: { case: "status", value } }));
    const told = entries.map((entry, index) => ({ ...entry, position: index + 1, generation: index + 1 }));
    const breaks: Cut[] = [1, 0].map((after) => ({ after, missed: after === 0 ? 1 : 0, how: "error" }));
    const server = new LogServer(told, breaks, { resume: false, idempotent: true });
    expect((await sent(server.core)).task.status?.state).toBe(TaskState.COMPLETED);
    expect(server.reads).toBeGreaterThan(0);
  });

  it("gives text of one artifact that only grows exactly once, without exact resume as well", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { minLength: 1, maxLength: 30 }), cuts, async (texts, breaks) => {
        const server = new LogServer(growing(texts), breaks, { resume: false, idempotent: true });
        expect((await sent(server.core)).text).toBe(texts.join(""));
      }),
    );
  });

  it("ends with the same task where there are no streams", async () => {
    await fc.assert(
      fc.asyncProperty(alone, async (entries) => {
        const server = new LogServer(entries, [], { resume: false, idempotent: false, streams: false });
        expect((await sent(server.core)).task).toEqual(server.task);
        expect(server.reads).toBeGreaterThan(0);
      }),
      { numRuns: scaled(15, 30) },
    );
  });

  it("sends again under the same key where the agent declares that this is safe", async () => {
    const breaks: Cut[] = [0, 0, 0].map((after) => ({ after, missed: 0, how: "error" }));
    const server = new LogServer(growing(["a"]), breaks, { resume: true, idempotent: true });
    await sent(server.core);
    expect(server.sends).toHaveLength(4);
    expect(new Set(server.sends).size).toBe(1);
    expect(server.sends[0]).toMatch(/\S{8}/);
  });

  it("does not send again where it is not, and says that the message may have arrived", async () => {
    const server = new LogServer(growing(["a"]), [{ after: 0, missed: 0, how: "error" }], {
      resume: true,
      idempotent: false,
    });
    await expect(sent(server.core)).rejects.toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
    expect(server.sends).toEqual([null]);
  });

  it("sends again whatever the agent declares where there never was a connection", async () => {
    const server = new LogServer(growing(["a"]), [], { resume: true, idempotent: false });
    const { sendStreamingMessage } = server.core.rpc;
    let tries = 0;
    const refused = new A2AError("UNAVAILABLE", "Nobody is there.", { cause: { code: "ECONNREFUSED" } });
    const rpc: ClientCore["rpc"] = {
      ...server.core.rpc,
      sendStreamingMessage: (...given) => (++tries < 3 ? failing(refused) : sendStreamingMessage(...given)),
    };
    expect((await sent({ ...server.core, rpc })).text).toBe("a");
    expect([tries, server.sends.length]).toEqual([3, 1]);
  });

  it("reads no event before it is asked for, and ends the call when the loop is left", async () => {
    const server = new LogServer(growing(["a", "b", "c"]), [], { resume: true, idempotent: true });
    let read = 0;
    let signal: AbortSignal | undefined;
    const rpc = {
      ...server.core.rpc,
      sendStreamingMessage: async function* (
        ...[request, options]: Parameters<typeof server.core.rpc.sendStreamingMessage>
      ) {
        signal = options?.signal;
        for await (const event of server.core.rpc.sendStreamingMessage(request, options)) {
          read++;
          yield event;
        }
      },
    };
    for await (const { kind } of stream({ ...server.core, rpc }, "Go.")) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(read).toBe(kind === "task" ? 1 : 2);
      if (kind === "artifact") break;
    }
    expect(signal?.aborted).toBe(true);
  });

  it("takes a connection that is silent for too long as cut", async () => {
    const server = new LogServer(growing(["a", "b"]), [], { resume: true, idempotent: true });
    const rpc = {
      ...server.core.rpc,
      sendStreamingMessage: async function* (
        ...[request, options]: Parameters<typeof server.core.rpc.sendStreamingMessage>
      ) {
        const events = server.core.rpc.sendStreamingMessage(request, options)[Symbol.asyncIterator]();
        yield (await events.next()).value;
        yield (await events.next()).value;
        await aborted(options?.signal);
      },
    };
    const { text } = await followed(stream({ ...server.core, rpc }, "Go.", { stallMs: 20 }));
    expect(text).toBe("ab");
    expect(server.subscriptions).toBe(1);
  });

  it("ends with CANCELLED when its signal fires, and with DEADLINE_EXCEEDED when its time is up", async () => {
    const server = new LogServer(growing(["a"]), [], { resume: true, idempotent: true });
    const rpc = {
      ...server.core.rpc,
      sendStreamingMessage: (_: unknown, options?: { signal?: AbortSignal }) => ({
        [Symbol.asyncIterator]: () => ({ next: () => aborted(options?.signal) }),
      }),
    } as unknown as ClientCore["rpc"];
    const core = { ...server.core, rpc };
    const caller = new AbortController();
    const canceled = followed(stream(core, "Go.", { signal: caller.signal }));
    caller.abort();
    await expect(canceled).rejects.toMatchObject({ reason: "CANCELLED" });
    await expect(followed(stream(core, "Go.", { timeoutMs: 10 }))).rejects.toMatchObject({
      reason: "DEADLINE_EXCEEDED",
    });
  });

  it("gives up when the server does not come back", async () => {
    const breaks: Cut[] = Array.from({ length: 1_000 }, () => ({ after: 0, missed: 0, how: "error" }));
    const server = new LogServer(growing(["a"]), [{ after: 2, missed: 0, how: "error" }, ...breaks], {
      resume: true,
      idempotent: true,
    });
    const core = { ...server.core, backoff: { firstMs: 1, maxMs: 5, maxElapsedMs: 500, maxRetryAfterMs: 30_000 } };
    await expect(sent(core)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    expect(server.subscriptions).toBeGreaterThan(2);
  });

  it("takes new credentials once when they run out in the middle, and not for ever", async () => {
    const breaks: Cut[] = [2, 2].map((after) => ({ after, missed: 0, how: "error" }));
    const server = new LogServer(growing(["a", "b", "c"]), breaks, { resume: true, idempotent: true });
    const ranOut = new A2AError("UNAUTHENTICATED", "The credentials have ended.");
    expect((await sent(failingWith(server.core, ranOut))).text).toBe("abc");
    expect(server.subscriptions).toBe(2);
    const other = new LogServer(growing(["a"]), [breaks[0] as Cut], { resume: true, idempotent: true });
    let tries = 0;
    const refused = (): AsyncIterable<never> => {
      tries++;
      return failing(ranOut);
    };
    const core = failingWith({ ...other.core, rpc: { ...other.core.rpc, subscribeToTask: refused } }, ranOut);
    await expect(sent(core)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(tries).toBe(1);
  });

  it("goes on by snapshot where the server has another history than the one that was followed", async () => {
    const server = new LogServer(growing(["a", "b"]), [{ after: 2, missed: 0, how: "error" }], {
      resume: true,
      idempotent: true,
    });
    const { subscribeToTask } = server.core.rpc;
    const rpc: ClientCore["rpc"] = {
      ...server.core.rpc,
      subscribeToTask: (request, options) => {
        if (new Headers(options?.headers).has(resumeParameters.after)) {
          return failing(invalid([{ field: resumeParameters.after, description: "is not there" }]));
        }
        return subscribeToTask(request, options);
      },
    };
    expect((await sent({ ...server.core, rpc })).text).toBe("ab");
  });

  it("looks at the task again and again where there are no subscriptions", async () => {
    const server = new LogServer(growing(["a", "b"]), [{ after: 2, missed: 9, how: "error" }], {
      resume: false,
      idempotent: true,
    });
    const unknown = new A2AError("METHOD_NOT_FOUND", "There is no such method.");
    const core = { ...server.core, rpc: { ...server.core.rpc, subscribeToTask: () => failing(unknown) } };
    expect((await sent(core)).text).toBe("ab");
  });

  it.each([true, false])("is over where the connection breaks behind a question (exact resume: %s)", async (resume) => {
    const entries = growing(["a"]).map((entry): LogEntry => {
      if (entry.event.case !== "status") return entry;
      const value = create(TaskStatusUpdateEventSchema, { ...place, status: { state: TaskState.INPUT_REQUIRED } });
      return { ...entry, event: { case: "status", value } };
    });
    const server = new LogServer(entries, [{ after: 3, missed: 0, how: "error" }], { resume, idempotent: true });
    const { task, text } = await sent(server.core);
    expect([task.status?.state, text]).toEqual([TaskState.INPUT_REQUIRED, "a"]);
    expect([server.reads, server.subscriptions]).toEqual([resume ? 1 : 2, 0]);
  });

  it("folds no task that is larger than it may be", async () => {
    const server = new LogServer(growing(["a".repeat(10_000), "b".repeat(10_000)]), [], {
      resume: true,
      idempotent: true,
    });
    await expect(followed(stream(server.core, "Go.", { maxTaskBytes: 15_000 }))).rejects.toMatchObject({
      reason: "TASK_TOO_LARGE",
    });
  });
});

describe("follow()", () => {
  it("of a task that is over is one look at it", async () => {
    const server = new LogServer(growing(["a", "b"]), [], { resume: true, idempotent: true });
    await sent(server.core);
    const { updates, text } = await followed(follow(server.core, "task"));
    expect(updates.map(({ kind }) => kind)).toEqual(["task"]);
    expect(text).toBe("ab");
  });
});

function failing(error: A2AError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

/** A server whose connections break with the given error. */
function failingWith(core: ClientCore, error: A2AError): ClientCore {
  const { sendStreamingMessage, subscribeToTask } = core.rpc;
  const broken = async function* <T>(events: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* events;
    } catch {
      throw error;
    }
  };
  const rpc: ClientCore["rpc"] = {
    ...core.rpc,
    sendStreamingMessage: (...given) => broken(sendStreamingMessage(...given)),
    subscribeToTask: (...given) => broken(subscribeToTask(...given)),
  };
  return { ...core, rpc };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
  });
}

const place = { taskId: "task", contextId: "context" };

/** The log of a task whose artifact receives these texts and which then completes. */
function growing(texts: readonly string[]): LogEntry[] {
  const history = [
    { messageId: "first", role: Role.USER, parts: [{ content: { case: "text" as const, value: "Go." } }] },
  ];
  const status = { state: TaskState.SUBMITTED };
  const events: LogEntry["event"][] = [
    { case: "created", value: create(TaskSchema, { id: "task", contextId: "context", status, history }) },
  ];
  for (const [index, value] of texts.entries()) {
    const artifact = { artifactId: "a", parts: [{ content: { case: "text" as const, value } }] };
    events.push({
      case: "artifact",
      value: create(TaskArtifactUpdateEventSchema, { ...place, artifact, append: index > 0 }),
    });
  }
  const done = { ...place, status: { state: TaskState.COMPLETED } };
  events.push({ case: "status", value: create(TaskStatusUpdateEventSchema, done) });
  return events.map((event, index) => create(LogEntrySchema, { position: index + 1, generation: index + 1, event }));
}
