import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import type { ConversationMessage } from "../../src/agent/conversation.js";
import { artifact, completed, failed, inputRequired, reply, working } from "../../src/agent/event.js";
import { anonymous } from "../../src/core/call.js";
import { foldStored } from "../../src/engine/log/fold-stored.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import { taskPage } from "../../src/engine/read/task-reader.js";
import { encodeSnapshot } from "../../src/task/snapshot.js";
import { setConstants } from "../support/constants.js";
import { scaled } from "../support/soak.js";
import { isSlow, openStore } from "./stores.js";
import { Bench, gate, quick, settle } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

const contextId = "conversation";

const nameOf = (state: TaskState): string | undefined => TaskState[state]?.toLowerCase().replace("_", "-");

/** A message in short form. */
function said({ role, text, state, name }: ConversationMessage): string {
  const what = name === undefined ? text : `${name}: ${text}`;
  return `${role === "user" ? ">" : "<"} ${what}${state === undefined ? "" : ` (${nameOf(state)})`}`;
}

/** Reads a whole conversation in pages. */
async function allOf({ conversation }: Turn, limit: number): Promise<string[]> {
  const all: ConversationMessage[] = [];
  for (let before: string | undefined; ; ) {
    const page = await conversation.messages({ limit, ...(before !== undefined && { before }) });
    expect(page.length).toBeLessThanOrEqual(limit);
    const [oldest] = page;
    if (oldest === undefined) return all.map(said);
    all.unshift(...page);
    before = oldest.cursor;
  }
}

/** An agent that does what its message says and reports its view of the conversation. */
function agentOf(see: (turn: Turn) => Promise<unknown> | unknown = () => {}): Omit<Agent, "card"> {
  return {
    async *execute(turn) {
      await see(turn);
      yield working("a progress text");
      const [verb, what = ""] = turn.text.split(" ");
      if (verb === "ask") yield inputRequired(`${what}?`);
      else if (verb === "make") {
        yield artifact({ name: "file", text: what });
        yield artifact({ name: "file", text: "…", append: true });
      } else if (verb === "fail") yield failed(`no ${what}`);
      else if (verb === "say") yield completed(what);
    },
  };
}

async function send(bench: Bench, text: string, more: Parameters<Bench["send"]>[1] = {}): Promise<TaskHandle> {
  const held = await bench.send(text, { ...more, message: { contextId, ...more.message } });
  await settle(held);
  held.release();
  return held;
}

describe("turn.conversation.messages()", () => {
  it("has the talk of all tasks in order, without progress, and the turn's own message last", async () => {
    let seen: string[] = [];
    let now = 1_000_000;
    const bench = new Bench(
      agentOf(async (turn) => {
        seen = (await turn.conversation.messages()).map(said);
      }),
      // The clock advances with each reading, because messages of one millisecond are ordered by task.
      { now: () => ++now },
    );
    const asked = await send(bench, "ask name");
    expect(seen).toEqual(["> ask name"]);
    await send(bench, "make picture");
    expect(seen).toEqual(["> ask name", "< name? (input-required)", "> make picture"]);
    await send(bench, "say hello", { message: { taskId: asked.now().task.id } });
    await send(bench, "fail that");
    await send(bench, "last");
    const before = ["> ask name", "< name? (input-required)", "> make picture", "< file: picture…"];
    expect(seen).toEqual([
      ...before,
      "> say hello",
      "< hello (completed)",
      "> fail that",
      "< no that (failed)",
      "> last",
    ]);
    await bench.engine.drain(0);
  });

  it("leaves out what a turn still makes, and what waits behind the turn", async () => {
    const seen: string[][] = [];
    const [at, go] = [gate(), gate()];
    const bench = new Bench({
      async *execute(turn) {
        if (turn.text === "second") {
          seen.push((await turn.conversation.messages()).map(said));
          return;
        }
        yield artifact({ name: "file", text: "half" });
        at.open();
        await go.opened;
        seen.push((await turn.conversation.messages()).map(said));
        yield inputRequired("more?");
      },
    });
    const held = await bench.send("first", { message: { contextId } });
    await at.opened;
    const later = await bench.send("second", { message: { taskId: held.now().task.id } });
    go.open();
    expect(await settle(later)).toBe("COMPLETED");
    expect(seen).toEqual([["> first"], ["> first", "< file: half", "< more? (input-required)", "> second"]]);
    for (const each of [held, later]) each.release();
    await bench.engine.drain(0);
  });

  it("has plain parts, ids, times and states, and shares nothing with the log", async () => {
    let page: ConversationMessage[] = [];
    const bench = new Bench({
      async *execute(turn) {
        if (turn.text === "look") {
          for (const { parts } of await turn.conversation.messages()) {
            for (const part of parts) {
              part.file?.bytes?.fill(0);
              Object.assign(part, { text: "changed" });
            }
          }
          page = await turn.conversation.messages();
          return;
        }
        const raw = new Uint8Array([1, 2, 3]);
        yield artifact({
          id: "a",
          name: "file",
          parts: [{ raw, mediaType: "image/png", filename: "x.png" }, { data: { b: 1 } }],
        });
        yield completed("done");
      },
    });
    const first = await send(bench, "x");
    await send(bench, "look");
    const { id: taskId } = first.now().task;
    expect(page.map(({ cursor: _, time: __, messageId: ___, ...rest }) => rest)).toEqual([
      { role: "user", parts: [{ text: "x" }], text: "x", taskId },
      {
        role: "agent",
        parts: [
          { file: { bytes: new Uint8Array([1, 2, 3]), name: "x.png", mediaType: "image/png" } },
          { data: { b: 1 } },
        ],
        text: "",
        taskId,
        artifactId: "a",
        name: "file",
      },
      { role: "agent", parts: [{ text: "done" }], text: "done", taskId, state: TaskState.COMPLETED },
      { role: "user", parts: [{ text: "look" }], text: "look", taskId: expect.any(String) },
    ]);
    expect(page.map(({ messageId }) => typeof messageId)).toEqual(["string", "undefined", "string", "string"]);
    expect(page[0]?.messageId).toBe("m1");
    const times = page.map(({ time }) => time.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(60_000);
    await bench.engine.drain(0);
  });

  it("never shows what belongs to another owner, tenant or context", async () => {
    let seen: string[] = [];
    const bench = new Bench(
      agentOf(async (turn) => {
        seen = await allOf(turn, 2);
        expect((await turn.conversation.tasks()).length).toBe(seen.filter((each) => each.startsWith(">")).length);
      }),
    );
    const mine = { ...anonymous, owner: "me" };
    await send(bench, "say secret");
    await send(bench, "say secret", { caller: { ...anonymous, owner: "you" } });
    await send(bench, "say secret", { caller: mine, tenant: "t" });
    await send(bench, "say secret", { caller: mine, message: { contextId: "else" } });
    await send(bench, "say mine", { caller: mine });
    await send(bench, "look", { caller: mine });
    expect(seen).toEqual(["> say mine", "< mine (completed)", "> look"]);
    await bench.engine.drain(0);
  });

  it("refuses limits and cursors that are none", async () => {
    const errors: string[] = [];
    const bench = new Bench(
      agentOf(async ({ conversation }) => {
        const note = (error: unknown): unknown => errors.push(String(error));
        for (const limit of [0, 1.5, 1_001]) await conversation.messages({ limit }).catch(note);
        await conversation.messages({ before: "nonsense" }).catch(note);
        await conversation.tasks({ before: btoa("[1]") }).catch(note);
        await conversation.messages({ before: btoa("[1,2]") }).catch(note);
      }),
    );
    await send(bench, "x");
    const range = "RangeError: limit must be a whole number from 1 to 1000.";
    const cursor = "TypeError: `before` is not the cursor of an item of a conversation.";
    expect(errors).toEqual([range, range, range, cursor, cursor, cursor]);
    await bench.engine.drain(0);
  });

  it.each([
    ["small", 16 * 1024 * 1024],
    ["large, so that pages end early", 3_000],
  ])(
    "reads a long conversation page by page, the same whatever the size of a page (tasks are %s)",
    async (_, maxBytes) => {
      setConstants(taskPage, { maxBytes });
      let seen: string[][] = [];
      let now = 1_000_000;
      const bench = new Bench(
        agentOf(async (turn) => {
          if (turn.text !== "look") return;
          seen = [];
          for (const limit of [1_000, 7, 20, 1]) seen.push(await allOf(turn, limit));
        }),
        // Some tasks have the same time.
        { now: () => (now += Math.random() < 0.5 ? 1 : 0) },
      );
      const asked = await send(bench, "ask name");
      const texts: string[] = [];
      const count = isSlow ? 15 : 60;
      for (let index = 0; index < count; index++) {
        await send(bench, index % 5 === 0 ? `make ${index}` : `say ${index}`);
        texts.push(`> ${index % 5 === 0 ? "make" : "say"} ${index}`);
      }
      await send(bench, "ask more", { message: { taskId: asked.now().task.id } });
      await send(bench, "look");
      const [whole = [], ...pages] = seen;
      expect(whole).toHaveLength(2 + count * 2 + 2 + 1);
      expect(
        whole.filter((each) => / (make|say) /.test(` ${each.slice(2)} `) && each.startsWith(">")).toSorted(),
      ).toEqual(texts.toSorted());
      for (const page of pages) expect(page).toEqual(whole);
      await bench.engine.drain(0);
    },
  );
});

describe("a conversation with snapshots of before talk was kept", () => {
  it("is read from the logs", async () => {
    let seen: string[] = [];
    const agent = agentOf(async (turn) => {
      seen = await allOf(turn, 3);
    });
    const bench = new Bench(agent);
    const asked = await send(bench, "ask name");
    await send(bench, "make picture");
    await bench.engine.drain(0);
    for (const { taskId } of (await bench.store.list({ tenant: "", owner: "", limit: 10 })).heads) {
      const stored = await foldStored(bench.store, taskId);
      if (stored === undefined) throw new Error("the task is gone");
      stored.fold.talk = undefined;
      const snapshot = { position: stored.head.position, bytes: encodeSnapshot(stored.fold) };
      await bench.store.saveSnapshot({ taskId, snapshot });
    }
    const later = new Bench(agent, {}, bench.store);
    await send(later, "say hello", { message: { taskId: asked.now().task.id } });
    const before = ["> ask name", "< name? (input-required)", "> make picture", "< file: picture…"];
    expect(seen).toEqual([...before, "> say hello"]);
    await later.engine.drain(0);
  });
});

describe("turn.conversation.tasks()", () => {
  it("has the tasks, newest status first, page by page", async () => {
    let seen: string[] = [];
    const bench = new Bench(
      agentOf(async ({ conversation }) => {
        seen = [];
        for (let before: string | undefined; ; ) {
          const page = await conversation.tasks({ limit: 2, ...(before !== undefined && { before }) });
          const last = page.at(-1);
          if (last === undefined) break;
          for (const { taskId, state, task, time } of page) {
            expect(task.id).toBe(taskId);
            expect(time.getTime()).toBe(
              Number(task.status?.timestamp?.seconds) * 1_000 + Math.floor((task.status?.timestamp?.nanos ?? 0) / 1e6),
            );
            seen.push(`${task.history[0]?.parts[0]?.content.value} ${nameOf(state)}`);
          }
          before = last.cursor;
        }
      }),
    );
    for (const text of ["say a", "ask b", "fail c", "make d", "look"]) {
      await send(bench, text);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    expect(seen).toEqual([
      "look submitted",
      "make d completed",
      "fail c failed",
      "ask b input-required",
      "say a completed",
    ]);
    await bench.engine.drain(0);
  });
});

describe("an agent that answers directly and remembers", () => {
  const remembering = (
    responds: "message" | "either",
    see: (turn: Turn) => unknown = () => {},
  ): Omit<Agent, "card"> => ({
    responds,
    remembers: true,
    async *execute(turn) {
      await see(turn);
      await turn.conversation.state.update<number>((before = 0) => before + 1);
      yield reply(`re: ${turn.text}`);
    },
  });

  it.each(["message", "either"] as const)("stores each exchange as a completed task (%s)", async (responds) => {
    let seen: string[] = [];
    const bench = new Bench(
      remembering(responds, async (turn) => {
        seen = (await turn.conversation.messages()).map(said);
      }),
    );
    const answers = [];
    for (const text of ["one", "two", "three"]) {
      const sent = await bench.engine.send(bench.order(text, { capture: {}, message: { contextId } }));
      if (sent.kind !== "message") throw new Error("a message was expected");
      answers.push(sent.message);
    }
    expect(answers.map(({ taskId, parts, contextId }) => [taskId, parts[0]?.content.value, contextId])).toEqual(
      ["one", "two", "three"].map((text) => ["", `re: ${text}`, contextId]),
    );
    expect(seen).toEqual(["> one", "< re: one (completed)", "> two", "< re: two (completed)", "> three"]);
    const { views } = await bench.engine.list({ tenant: "", owner: "", contextId, limit: 10 }, {});
    expect(views.map(({ task }) => task.status?.state)).toEqual([3, 3, 3]);
    expect(views.map(({ task }) => task.status?.message?.messageId)).toEqual(
      answers.map(({ messageId }) => messageId).reverse(),
    );
    const state = await bench.store.conversation({ tenant: "", owner: "", contextId });
    expect(new TextDecoder().decode(state?.bytes)).toBe("3");
    await bench.engine.drain(0);
  });

  it("gives the stored answer to a retry under the same key", async () => {
    let runs = 0;
    const bench = new Bench(remembering("message", () => void runs++));
    const order = bench.order("x", { idempotency: { key: "k", fingerprint: "f" }, message: { contextId } });
    const first = await bench.engine.send(order);
    expect(await bench.engine.send(order)).toEqual(first);
    expect(first.kind).toBe("message");
    expect(runs).toBe(1);
    await bench.engine.drain(0);
  });

  it("stores nothing of a message without a valid answer", async () => {
    const bench = new Bench({
      responds: "message",
      remembers: true,
      async *execute(turn) {
        await turn.conversation.state.set("x");
        if (turn.text === "throws") throw new Error("no");
        yield turn.text === "empty" ? reply([]) : completed("not a reply");
      },
    });
    for (const text of ["throws", "empty", "task"]) await expect(bench.reply(text)).rejects.toThrow();
    expect((await bench.engine.list({ tenant: "", owner: "", limit: 10 }, {})).total).toBe(0);
    await bench.engine.drain(0);
  });
});

/** A move of the user in a drawn conversation. */
const step = fc.record({
  verb: fc.constantFrom("say", "ask", "make", "fail", "nothing"),
  /** Answers the oldest open question, if any. */
  answers: fc.boolean(),
});

describe("messages() of a drawn conversation", () => {
  it("equals the talk that the client saw", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        async (steps, limit) => {
          let seen: string[] = [];
          // The clock advances before each message, as it does for a real client.
          let now = Date.now();
          const bench = new Bench(
            agentOf(async (turn) => {
              if (turn.text === "look") seen = await allOf(turn, limit);
            }),
            { limits: quick, now: () => now },
            openStore(),
          );
          const talk: string[] = [];
          const waiting: string[] = [];
          for (const [index, { verb, answers }] of steps.entries()) {
            const taskId = answers ? waiting.shift() : undefined;
            now += 1;
            const held = await bench.send(`${verb} ${index}`, { message: { contextId, ...(taskId && { taskId }) } });
            await settle(held);
            const { task } = held.now();
            talk.push(`> ${verb} ${index}`);
            // Each artifact belongs to a new task or to one that continues.
            if (verb === "make") talk.push(`< file: ${index}…`);
            const text = task.status?.message?.parts[0]?.content.value;
            const names: Record<number, string> = { 3: "completed", 4: "failed", 6: "input-required" };
            if (text !== undefined) talk.push(`< ${String(text)} (${names[task.status?.state ?? 0]})`);
            if (verb === "ask") waiting.push(task.id);
            held.release();
          }
          talk.push("> look");
          now += 1;
          const held = await bench.send("look", { message: { contextId } });
          await settle(held);
          held.release();
          expect(seen).toEqual(talk);
          await bench.engine.drain(0);
        },
      ),
      { numRuns: isSlow ? scaled(8, 30) : scaled(40, 200) },
    );
  });
});
