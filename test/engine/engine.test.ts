import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AbortReason } from "../../src/agent/abort.js";
import type { Turn } from "../../src/agent/agent.js";
import { AgentError } from "../../src/agent/errors.js";
import {
  type AgentEvent,
  artifact,
  authRequired,
  completed,
  inputRequired,
  rejected,
  reply,
  working,
} from "../../src/agent/event.js";
import { cancellationOf, neverCanceled } from "../../src/core/async.js";
import { A2AError } from "../../src/core/error.js";
import { taskPage } from "../../src/engine/read/task-reader.js";
import { waitingTurns } from "../../src/engine/send/acceptance.js";
import { NO_HOLDER } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { openStore } from "./stores.js";
import { Bench, gate, quick, scope, settle, story } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

describe("an agent of kind `task`", () => {
  it("tells its story in order, from SUBMITTED to the end (SRV-STRM-04..06, 09)", async () => {
    const bench = new Bench({
      async *execute(turn) {
        yield working("Reading…");
        yield artifact({ name: "out", text: turn.text });
        yield completed();
      },
    });
    const held = await bench.send("hello");
    expect(held.accepted?.task.status?.state).toBe(TaskState.SUBMITTED);
    expect(held.accepted?.task.history.map((m) => m.messageId)).toEqual(["m1"]);
    expect(held.accepted?.generation).toBe(1);
    expect(await story(held)).toEqual(["WORKING Reading…", "artifact hello", "COMPLETED"]);
    expect(held.now().generation).toBe(4);
    held.release();
  });

  it("completes a task when it returns without a final state", async () => {
    const bench = new Bench({ async *execute() {} });
    const held = await bench.send("x");
    expect(await story(held)).toEqual(["COMPLETED"]);
  });

  it("is stored as SUBMITTED before it runs", async () => {
    let found: unknown;
    const bench: Bench = new Bench({
      async *execute(turn) {
        found = (await bench.engine.get(scope, turn.taskId)).task.status?.state;
        yield completed();
      },
    });
    await settle(await bench.send("x"));
    expect(found).toBe(TaskState.SUBMITTED);
  });

  it("appends to the artifact of the same name and begins it where there is none (SRV-STRM-18)", async () => {
    const bench = new Bench({
      async *execute() {
        yield artifact({ name: "a", text: "1", append: true });
        yield artifact({ name: "a", text: "2", append: true });
        yield artifact({ name: "b", text: "3" });
        yield artifact({ name: "a", text: "4", append: true, lastChunk: true });
      },
    });
    const held = await bench.send("x");
    expect(await story(held)).toEqual(["artifact 1", "append 2", "artifact 3", "append 4 last", "COMPLETED"]);
    const { artifacts } = held.now().task;
    expect(artifacts.map((a) => [a.name, a.parts.map((p) => p.content.value)])).toEqual([
      ["a", ["1", "2", "4"]],
      ["b", ["3"]],
    ]);
  });

  it("fails with an AgentError's own text", async () => {
    const bench = new Bench({
      async *execute() {
        yield working();
        throw new AgentError("no such city");
      },
    });
    expect(await story(await bench.send("x"))).toEqual(["WORKING", "FAILED no such city"]);
  });

  it("fails with a reference and nothing else for any other error; the log has it in full (SRV-ERR-18)", async () => {
    const bench = new Bench({
      // biome-ignore lint/correctness/useYield: the agent throws before it says anything.
      async *execute() {
        throw new Error("password=hunter2");
      },
    });
    const [told] = await story(await bench.send("x"));
    expect(told).toMatch(/^FAILED The agent failed unexpectedly\. Reference: [0-9a-f-]{36}$/);
    expect(told).not.toContain("hunter2");
    const line = bench.logged.find((entry) => "reference" in entry.facts);
    expect(told).toContain((line!.facts as { reference: string }).reference);
    expect(String((line!.facts as { err: unknown }).err)).toContain("hunter2");
  });

  it("fails when it yields what a task has no place for", async () => {
    const answers = new Bench({
      async *execute() {
        yield reply("hi");
      },
    });
    expect(await story(await answers.send("x"))).toEqual([
      expect.stringMatching(/^FAILED .* a task is answered by status and artifact events; reply\(\) takes `responds/),
    ]);
    const empty = new Bench({
      async *execute() {
        yield artifact({ name: "nothing" });
      },
    });
    expect((await story(await empty.send("x")))[0]).toContain("at least one part");
    let data: JsonValue = "bottom";
    for (let level = 0; level < 60; level++) data = { data };
    const deep = new Bench({
      async *execute() {
        yield artifact({ name: "deep", data });
      },
    });
    expect((await story(await deep.send("x")))[0]).toContain("at most 40 levels deep");
  });

  it("runs on after its final event, and nothing of that is stored", async () => {
    const left = gate();
    const bench = new Bench({
      async *execute() {
        try {
          yield rejected("no");
          yield working("too late");
        } finally {
          left.open();
        }
      },
    });
    expect(await story(await bench.send("x"))).toEqual(["REJECTED no"]);
    await left.opened;
  });
});

describe("an agent of kind `message`", () => {
  it("answers with its one message and stores nothing (SRV-STRM-03)", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute(turn) {
        yield reply(`you said ${turn.text}`);
      },
    });
    const message = await bench.reply("hi");
    expect(message.role).toBe(Role.AGENT);
    expect(message.parts[0]?.content.value).toBe("you said hi");
    expect(message.contextId).not.toBe("");
    expect(message.taskId).toBe("");
    expect((await bench.engine.list({ ...scope, limit: 10 }, {})).total).toBe(0);
  });

  it("gives an InvalidAgentResponseError when it answers otherwise (SRV-ERR-17)", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute() {
        yield working();
      },
    });
    await expect(bench.reply("x")).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    const silent = new Bench({ responds: "message", async *execute() {} });
    await expect(silent.reply("x")).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
  });

  it("is stopped when its reply is not valid", async () => {
    let isStopped = false;
    const bench = new Bench({
      responds: "message",
      async *execute() {
        try {
          yield reply({ parts: [] });
        } finally {
          isStopped = true;
        }
      },
    });
    await expect(bench.reply("x")).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    await expect.poll(() => isStopped).toBe(true);
  });

  it("is interrupted when its client goes away: no other client could read the answer", async () => {
    const gone = new AbortController();
    let reason: unknown;
    const bench = new Bench({
      responds: "message",
      async *execute(turn) {
        gone.abort();
        reason = turn.signal.reason;
        yield reply("to nobody");
      },
    });
    await bench.engine.send(bench.order("x", { client: gone }));
    expect(reason).toBeInstanceOf(AbortReason);
  });
});

describe("an agent of kind `either`", () => {
  const bench = () =>
    new Bench({
      responds: "either",
      async *execute(turn) {
        if (turn.text === "say") yield reply("said");
        else if (turn.text === "throw") throw new AgentError("thrown");
        else if (turn.text !== "nothing") yield artifact({ name: "out", text: turn.text });
      },
    });

  it("decides with its first event", async () => {
    expect((await bench().reply("say")).parts[0]?.content.value).toBe("said");
    expect(await story(await bench().send("do"))).toEqual(["artifact do", "COMPLETED"]);
  });

  it("has a task when it throws or returns before it decided", async () => {
    expect(await story(await bench().send("throw"))).toEqual(["FAILED thrown"]);
    expect(await story(await bench().send("nothing"))).toEqual(["COMPLETED"]);
  });
});

describe("a task of several turns", () => {
  const asks = () =>
    new Bench({
      async *execute(turn) {
        if (turn.history.length === 0) yield inputRequired("which one?");
        else yield artifact({ name: "answer", text: `${turn.text} of ${turn.history.length}` });
      },
    });

  it("pauses in INPUT_REQUIRED, ends the stream there, and goes on with the next message (SRV-CTX-12)", async () => {
    const bench = asks();
    const first = await bench.send("start");
    expect(await story(first)).toEqual(["INPUT_REQUIRED which one?"]);
    const { id: taskId, contextId } = first.now().task;
    const second = await bench.send("blue", { message: { taskId } });
    expect(await story(second)).toEqual(["WORKING", "artifact blue of 2", "COMPLETED"]);
    const { history } = second.now().task;
    expect(history.map((m) => [m.role, m.parts[0]?.content.value])).toEqual([
      [Role.USER, "start"],
      [Role.AGENT, "which one?"],
      [Role.USER, "blue"],
    ]);
    expect(history.every((m) => m.taskId === taskId && m.contextId === contextId)).toBe(true);
  });

  it("shows no question any more that has been answered, while the agent yields artifacts alone", async () => {
    const rest = gate();
    const bench = new Bench({
      async *execute(turn) {
        if (turn.text === "start") return yield inputRequired("which one?");
        yield artifact({ id: "a", text: "one" });
        yield artifact({ id: "a", text: "two", append: true });
        await rest.opened;
        yield artifact({ id: "a", text: "three", append: true });
      },
    });
    const first = await bench.send("start");
    await story(first);
    const held = await bench.send("blue", { message: { taskId: first.now().task.id } });
    await expect.poll(() => held.now().task.artifacts[0]?.parts.length).toBe(2);
    const { status } = held.now().task;
    expect([status?.state, status?.message]).toEqual([TaskState.WORKING, undefined]);
    rest.open();
    expect(await settle(held)).toBe("COMPLETED");
  });

  it("shows the question of an agent that yields artifacts behind it in the same turn", async () => {
    const bench = new Bench({
      async *execute() {
        yield inputRequired("which one?");
        yield artifact({ id: "a", text: "a list of them" });
      },
    });
    const held = await bench.send("start");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    await expect.poll(() => held.now().task.artifacts.length).toBe(1);
    expect(held.now().task.status?.state).toBe(TaskState.INPUT_REQUIRED);
  });

  it("refuses a context that is not the task's (SRV-CTX-10)", async () => {
    const bench = asks();
    const { id: taskId } = (await bench.send("start")).now().task;
    await expect(bench.send("x", { message: { taskId, contextId: "other" } })).rejects.toMatchObject({
      violations: [{ field: "message.contextId" }],
    });
  });

  it("refuses a message to a task that is over (SRV-SEND-09)", async () => {
    const bench = new Bench({ async *execute() {} });
    const held = await bench.send("x");
    await settle(held);
    const { id: taskId } = held.now().task;
    await expect(bench.send("y", { message: { taskId } })).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  it("never creates a task under a client's id (SRV-SEND-10, 11)", async () => {
    await expect(asks().send("x", { message: { taskId: "mine" } })).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });

  it("lets a message to a running task wait for its turn, one execution at a time", async () => {
    const go = gate();
    let running = 0;
    let most = 0;
    const bench = new Bench({
      async *execute(turn) {
        most = Math.max(most, ++running);
        yield working(turn.text);
        if (turn.text === "first") await go.opened;
        running--;
      },
    });
    const held = await bench.send("first");
    const { id: taskId } = held.accepted!.task;
    const told = story(held);
    await bench.send("second", { message: { taskId } });
    await bench.send("third", { message: { taskId } });
    go.open();
    expect(await told).toEqual(["WORKING first", "WORKING second", "WORKING third", "COMPLETED"]);
    expect(most).toBe(1);
  });

  it("does not end a task whose agent returned while a message to it was being stored", async () => {
    const [go, begun, stored] = [gate(), gate(), gate()];
    const store = openStore();
    let held = false;
    const slow = withMethods(store, {
      append: async (request) => {
        if (held) {
          begun.open();
          await stored.opened;
        }
        return store.append(request);
      },
    });
    const agent = {
      async *execute(turn: Turn): AsyncIterable<AgentEvent> {
        yield working(turn.text);
        if (turn.text === "first") await go.opened;
      },
    };
    const bench = new Bench(agent, {}, slow);
    const task = await bench.send("first");
    const { id: taskId } = task.accepted!.task;
    const told = story(task);
    await task.whenPast(1, neverCanceled, 5_000);
    held = true;
    const second = bench.send("second", { message: { taskId } });
    await begun.opened;
    go.open();
    await new Promise((resolve) => setTimeout(resolve, 20));
    stored.open();
    await second;
    expect(await told).toEqual(["WORKING first", "WORKING second", "COMPLETED"]);
  });

  it("refuses more waiting messages than the limit", async () => {
    const go = gate();
    setConstants(waitingTurns, { max: 2 });
    const bench = new Bench({
      // biome-ignore lint/correctness/useYield: it only waits.
      async *execute() {
        await go.opened;
      },
    });
    const { id: taskId } = (await bench.send("1")).accepted!.task;
    await bench.send("2", { message: { taskId } });
    await bench.send("3", { message: { taskId } });
    await expect(bench.send("4", { message: { taskId } })).rejects.toMatchObject({ reason: "TOO_MANY_REQUESTS" });
    go.open();
  });

  it("keeps the stream open in AUTH_REQUIRED while the execution lives (SRV-INTA-05, 06)", async () => {
    const credential = gate();
    const bench = new Bench({
      async *execute() {
        yield authRequired("sign in at …");
        await credential.opened;
        yield working("thank you");
      },
    });
    const held = await bench.send("x");
    const told = story(held);
    expect(await settle(held)).toBe("AUTH_REQUIRED");
    credential.open();
    expect(await told).toEqual(["AUTH_REQUIRED sign in at …", "WORKING thank you", "COMPLETED"]);
  });
});

describe("a turn", () => {
  it("has what the request said and what came before", async () => {
    let seen: Turn | undefined;
    const bench = new Bench({
      async *execute(turn) {
        seen = turn;
        yield inputRequired("more?");
      },
    });
    const other = (await bench.send("other")).accepted!.task.id;
    const order = bench.order("hi", {
      message: { referenceTaskIds: [other, "unknown"] },
      extensions: new Set(["urn:x"]),
    });
    const metadata = { k: 1 };
    const request = { ...order.request, metadata };
    const sent = await bench.engine.send({ ...order, request });
    if (sent.kind === "task") await settle(sent.task);
    expect(seen?.text).toBe("hi");
    expect(seen?.metadata).toEqual(metadata);
    expect([...(seen?.extensions ?? [])]).toEqual(["urn:x"]);
    expect((await seen?.referencedTasks())?.map((task) => task.id)).toEqual([other]);
    expect(seen?.task?.status?.state).toBe(TaskState.SUBMITTED);
    expect(seen?.history).toEqual([]);
    expect(seen?.attempt).toBe(1);
  });
});

describe("cancel()", () => {
  it("fires the signal and takes the agent's own end (SRV-CANC-01)", async () => {
    const bench = new Bench(
      {
        async *execute(turn) {
          yield working();
          await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
          yield artifact({ name: "rest", text: "saved" });
        },
      },
      { limits: quick },
    );
    const held = await bench.send("x");
    const told = story(held);
    const { task } = await bench.engine.cancel(scope, held.accepted!.task.id);
    expect(task.status?.state).toBe(TaskState.CANCELED);
    expect(await told).toEqual(["WORKING", "artifact saved", "CANCELED"]);
  });

  it("cancels without an agent that does not listen, once its grace is over", async () => {
    const never = gate();
    const bench = new Bench(
      {
        async *execute() {
          yield working();
          await never.opened;
          yield artifact({ name: "late", text: "late" });
        },
      },
      // The grace period is long enough for both cancels to begin on a slow store.
      { limits: { ...quick, cancelGraceMs: 1_000 } },
    );
    const held = await bench.send("x");
    const told = story(held);
    const id = held.accepted!.task.id;
    const both = await Promise.all([bench.engine.cancel(scope, id), bench.engine.cancel(scope, id)]);
    expect(both.map(({ task }) => task.status?.state)).toEqual([TaskState.CANCELED, TaskState.CANCELED]);
    never.open();
    expect(await told).toEqual(["WORKING", "CANCELED"]);
    await expect(bench.engine.cancel(scope, id)).rejects.toMatchObject({ reason: "TASK_NOT_CANCELABLE" });
  });

  it("cancels a task that waits for its client", async () => {
    const bench = new Bench({
      async *execute() {
        yield inputRequired("?");
      },
    });
    const held = await bench.send("x");
    await story(held);
    const { task } = await bench.engine.cancel(scope, held.now().task.id);
    expect(task.status?.state).toBe(TaskState.CANCELED);
  });
});

describe("scope", () => {
  it("hides every task of another owner, in the same words as an unknown one (SRV-AUTH-07, SRV-TEN-04)", async () => {
    const bench = new Bench({
      async *execute() {
        yield inputRequired("?");
      },
    });
    const { id } = (await bench.send("x")).accepted!.task;
    const unknown = await bench.engine.get(scope, "unknown").catch((error: unknown) => error);
    for (const foreign of [
      { tenant: "", owner: "eve" },
      { tenant: "other", owner: "" },
    ]) {
      const attempts = [
        bench.engine.get(foreign, id),
        bench.engine.open(foreign, id),
        bench.engine.cancel(foreign, id),
      ];
      for (const attempt of await Promise.allSettled(attempts)) {
        const { reason: error } = attempt as PromiseRejectedResult;
        expect(error).toBeInstanceOf(A2AError);
        expect((error as A2AError).message).toBe((unknown as A2AError).message);
        expect((error as A2AError).reason).toBe("TASK_NOT_FOUND");
      }
      expect((await bench.engine.list({ ...foreign, limit: 10 }, {})).total).toBe(0);
    }
  });
});

describe("readers of one task", () => {
  it("all see the same events; one that leaves does not disturb the rest (SRV-STRM-12..14)", async () => {
    const go = gate();
    const bench = new Bench({
      async *execute() {
        await go.opened;
        for (let i = 0; i < 600; i++) yield artifact({ name: "a", text: `${i}`, append: true });
      },
    });
    const held = await bench.send("x");
    const leaver = new AbortController();
    const leaving = (async () => {
      for await (const _ of held.events(held.accepted!, cancellationOf(leaver.signal))) leaver.abort();
    })();
    const stories = [story(held), story(held), story(held)];
    go.open();
    const [first, ...others] = await Promise.all(stories);
    await leaving;
    expect(first).toHaveLength(601);
    for (const other of others) expect(other).toEqual(first);
  });

  it("that are slow read from the store and miss nothing", async () => {
    const bench = new Bench({
      async *execute() {
        for (let i = 0; i < 3_000; i++) yield artifact({ name: "a", text: `${i}`, append: true });
      },
    });
    const held = await bench.send("x");
    const numbers: number[] = [];
    for await (const response of held.events(held.accepted!, neverCanceled)) {
      if (numbers.length === 1) await settle(held);
      if (response.payload.case === "artifactUpdate") {
        numbers.push(Number(response.payload.value.artifact?.parts[0]?.content.value));
      }
    }
    expect(numbers).toEqual(Array.from({ length: 3_000 }, (_, i) => i));
  });

  it("of a task that retention removes end with an error, and do not block other readers", async () => {
    const store = openStore();
    const agent = {
      async *execute(): AsyncIterable<AgentEvent> {
        for (let i = 0; i < 1_200; i++) yield artifact({ name: "a", text: "x", append: true });
      },
    };
    const bench = new Bench(agent, {}, store);
    const held = await bench.send("go");
    expect(await settle(held)).toBe("COMPLETED");
    const events = held.events({ position: 1, generation: 1 }, neverCanceled)[Symbol.asyncIterator]();
    expect((await events.next()).done).toBe(false);
    expect(await store.removeFinished({ before: Date.now() + 1, limit: 10 })).toBe(1);
    const rest = (async () => {
      for await (const _ of events);
    })();
    await expect(rest).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    held.release();
  });

  it("may attach at any moment and get the task, then every later event", async () => {
    const go = gate();
    const bench = new Bench({
      async *execute() {
        for (let i = 0; i < 50; i++) {
          if (i === 25) await go.opened;
          yield artifact({ name: "a", text: `${i}`, append: true });
        }
      },
    });
    const held = await bench.send("x");
    const { id } = held.accepted!.task;
    await held.whenPast(20, neverCanceled, 5_000);
    const late = await bench.engine.open(scope, id);
    const now = late.now();
    go.open();
    const seen = now.task.artifacts[0]!.parts.map((p) => p.content.value);
    for await (const { payload } of late.events(now, neverCanceled)) {
      if (payload.case === "artifactUpdate") seen.push(payload.value.artifact?.parts[0]?.content.value);
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
  });
});

describe("idempotent send", () => {
  const idempotency = { key: "key", fingerprint: "same" };
  const runs = () => {
    let count = 0;
    const bench = new Bench({
      async *execute() {
        count++;
        yield inputRequired("?");
      },
    });
    return { bench, count: () => count };
  };

  it("gives the same task for the same request again, also at the same time (SRV-SEND-14)", async () => {
    const { bench, count } = runs();
    const held = await Promise.all([bench.send("x", { idempotency }), bench.send("x", { idempotency })]);
    const again = await bench.send("x", { idempotency });
    const ids = [...held, again].map((task) => task.now().task.id);
    expect(new Set(ids).size).toBe(1);
    expect(await settle(again)).toBe("INPUT_REQUIRED");
    expect(count()).toBe(1);
  });

  it("refuses another request under the same key, and keeps owners apart", async () => {
    const { bench } = runs();
    await bench.send("x", { idempotency });
    await expect(bench.send("y", { idempotency: { key: "key", fingerprint: "other" } })).rejects.toMatchObject({
      reason: "IDEMPOTENCY_KEY_REUSED",
    });
    const eve = { owner: "eve", authenticated: true, scopes: [], claims: {} };
    await bench.send("y", { idempotency: { key: "key", fingerprint: "other" }, caller: eve });
  });

  it("remembers follow-ups too", async () => {
    const { bench, count } = runs();
    const { id: taskId } = (await bench.send("x")).accepted!.task;
    const message = { taskId, messageId: "same" };
    await settle(await bench.send("y", { message, idempotency }));
    await settle(await bench.send("y", { message, idempotency }));
    expect(count()).toBe(2);
    expect((await bench.engine.get(scope, taskId)).task.history.filter((m) => m.messageId === "same")).toHaveLength(1);
  });
});

describe("a send to an expected generation", () => {
  it("is refused when the task has moved on, and stores nothing then", async () => {
    const bench = new Bench({
      async *execute() {
        yield inputRequired("?");
      },
    });
    const held = await bench.send("x");
    await settle(held);
    const { id: taskId } = held.now().task;
    await expect(bench.send("y", { message: { taskId }, ifGeneration: 1 })).rejects.toMatchObject({
      reason: "GENERATION_MISMATCH",
      metadata: { generation: "2" },
    });
    await settle(await bench.send("y", { message: { taskId }, ifGeneration: 2 }));
    expect((await bench.engine.get(scope, taskId)).task.history.filter((m) => m.role === Role.USER)).toHaveLength(2);
  });
});

describe("sends to one expected generation at the same time", () => {
  it("are one; the others are refused", async () => {
    const bench = new Bench({
      async *execute() {
        yield inputRequired("?");
      },
    });
    const held = await bench.send("x");
    await settle(held);
    const { id: taskId } = held.now().task;
    const sends = Array.from({ length: 20 }, () => bench.send("y", { message: { taskId }, ifGeneration: 2 }));
    const outcomes = await Promise.allSettled(sends);
    const refused = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toEqual(Array(19).fill(expect.objectContaining({ reason: "GENERATION_MISMATCH" })));
    for (const each of outcomes) if (each.status === "fulfilled") await settle(each.value);
    expect((await bench.engine.get(scope, taskId)).task.history.filter((m) => m.role === Role.USER)).toHaveLength(2);
  });
});

describe("drain()", () => {
  it("ends streams with an invitation, lets work finish in its grace, and refuses new work", async () => {
    const go = gate();
    const bench = new Bench({
      async *execute() {
        yield working();
        await go.opened;
        yield completed();
      },
    });
    const held = await bench.send("x");
    const told = story(held);
    const settled = settle(held);
    const draining = bench.engine.drain(5_000);
    await expect(told).rejects.toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 1_000 });
    await expect(bench.send("y")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    go.open();
    expect(await settled).toBe("COMPLETED");
    await draining;
  });

  it.each([
    ["its agent has not decided for a task", "either", undefined],
    ["its agent has not accepted", "task", true],
  ] as const)("lets a call that began in time make a task, where %s yet", async (_, responds, isAsked) => {
    const [asked, decide, finish] = [gate(), gate(), gate()];
    const bench = new Bench({
      responds,
      ...(isAsked && {
        async accept() {
          asked.open();
          await decide.opened;
        },
      }),
      async *execute() {
        asked.open();
        await decide.opened;
        yield working();
        await finish.opened;
        yield completed();
      },
    });
    const sending = bench.send("x");
    await asked.opened;
    const draining = bench.engine.drain(30_000);
    await expect(bench.send("y")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    decide.open();
    const settled = settle(await sending);
    finish.open();
    expect(await settled).toBe("COMPLETED");
    await draining;
  });

  it("fails what is not done in time, or leaves it for a restart, as the agent says", async () => {
    for (const recover of ["fail", "restart"] as const) {
      const bench = new Bench({
        recover,
        async *execute(turn) {
          yield working();
          if (turn.attempt > 0) await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
        },
      });
      const held = await bench.send("x");
      const { id } = held.accepted!.task;
      const state = async (): Promise<TaskState | undefined> => (await bench.engine.get(scope, id)).task.status?.state;
      await expect.poll(state).toBe(TaskState.WORKING);
      await bench.engine.drain(20);
      expect(await state()).toBe(recover === "fail" ? TaskState.FAILED : TaskState.WORKING);
      const head = await bench.store.head({ taskId: id });
      expect(head?.lease?.holder).toBe(recover === "fail" ? undefined : NO_HOLDER);
    }
  });
});

describe("a call whose message waits for its turn", () => {
  it("is not answered by the pause of the turn before (SRV-SEND-03)", async () => {
    const go = gate();
    const bench = new Bench({
      async *execute(turn) {
        if (turn.text !== "first") return;
        yield working();
        await go.opened;
        yield inputRequired("?");
      },
    });
    const first = await bench.send("first");
    const { id: taskId } = first.accepted!.task;
    const second = await bench.send("second", { message: { taskId } });
    const [one, two] = [settle(first), settle(second)];
    go.open();
    expect(await one).toBe("INPUT_REQUIRED");
    expect(await two).toBe("COMPLETED");
  });
});

describe("list()", () => {
  it("ends a page of large tasks early, and the next pages have the rest (SRV-LIST-14)", async () => {
    setConstants(taskPage, { maxBytes: 1_000 });
    const bench = new Bench({ async *execute() {} });
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const held = await bench.send("x".repeat(800));
      await settle(held);
      ids.push(held.now().task.id);
    }
    const listed: string[] = [];
    let page = await bench.engine.list({ ...scope, limit: 3 }, {});
    for (let pages = 0; pages < 10; pages++) {
      expect(page.views).toHaveLength(1);
      expect(page.total).toBe(4);
      listed.push(...page.views.map(({ task }) => task.id));
      if (page.next === undefined) break;
      page = await bench.engine.list({ ...scope, limit: 3, after: page.next }, {});
    }
    expect([...listed].sort()).toEqual([...ids].sort());
  });
});
