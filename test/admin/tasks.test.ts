import { toJsonString } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Entry, EntrySchema } from "../../gen/parley/admin/v1/admin_pb.js";
import { clients, type Operator, openTasks, stores, type TaskWorld } from "./task-world.js";

vi.setConfig({ testTimeout: 30_000 });

const codeOf = (promise: Promise<unknown>): Promise<Code | undefined> =>
  promise.then(
    () => undefined,
    (error) => ConnectError.from(error).code,
  );

const cases = Object.keys(stores).flatMap((store) => Object.keys(clients).map((binding) => ({ store, binding })));

describe.each(cases)("the tasks of operators in $store over $binding", ({ store, binding }) => {
  let world: TaskWorld;
  let admin: Operator;
  beforeAll(async () => {
    world = await openTasks(stores[store as keyof typeof stores](), { maxExecutions: 2 });
    admin = clients[binding as keyof typeof clients](world.address);
  });
  afterAll(() => world.close());

  it("lists those of all owners, by state, owner, agent, context and text", async () => {
    const said = await world.send("alice", "say hello brave world");
    const asked = await world.send("bob", "ask lunch");
    const ids = async (filters: Parameters<Operator["listTasks"]>[0]): Promise<string[]> =>
      (await admin.listTasks(filters)).tasks.map(({ taskId }) => taskId);
    const all = await admin.listTasks({});
    expect(all.tasks.map(({ taskId, owner, agent, state }) => ({ taskId, owner, agent, state }))).toEqual([
      { taskId: asked, owner: "bob", agent: "talker", state: TaskState.INPUT_REQUIRED },
      { taskId: said, owner: "alice", agent: "talker", state: TaskState.COMPLETED },
    ]);
    expect(all.nextPageToken).toBe("");
    expect(await ids({ owner: "alice" })).toEqual([said]);
    expect(await ids({ states: [TaskState.INPUT_REQUIRED, TaskState.FAILED] })).toEqual([asked]);
    expect(await ids({ agent: "talker" })).toEqual([asked, said]);
    expect(await ids({ agent: "nobody" })).toEqual([]);
    expect(await ids({ contextId: all.tasks[0]?.contextId ?? "" })).toEqual([asked]);
    // The agent sent the artifact in pieces of four characters.
    expect(await ids({ text: "BRAVE WORLD" })).toEqual([said]);
    // Only the client's message contains this text.
    expect(await ids({ text: "say hello" })).toEqual([said]);
    expect(await ids({ text: "about lunch?" })).toEqual([asked]);
    expect(await ids({ text: "nowhere" })).toEqual([]);
    expect(await ids({ unattended: true })).toEqual([]);
    expect(await codeOf(admin.listTasks({ text: "x".repeat(201) }))).toBe(Code.InvalidArgument);
    const first = await admin.listTasks({ pageSize: 1 });
    const second = await admin.listTasks({ pageSize: 1, pageToken: first.nextPageToken });
    expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).toEqual([asked, said]);
    const filled = await world.send("alice", "fill 0");
    // Only the artifact contains this text, as data.
    expect(await ids({ text: "4711" })).toEqual([filled]);
  });

  it("reads one with its size, and its log with writers and attempts", async () => {
    const taskId = await world.send("alice", "say twelve bytes");
    const { summary, task, bytes } = await admin.getTask({ taskId });
    expect(summary).toMatchObject({ taskId, owner: "alice", state: TaskState.COMPLETED, position: 7, generation: 6 });
    expect(summary?.lease).toBeUndefined();
    expect(summary?.contextId).toBe(task?.contextId);
    expect(task?.artifacts[0]?.parts).toHaveLength(3);
    expect(bytes).toBeGreaterThan(300n);
    expect((await admin.getTask({ taskId, maxEntries: 7 })).task).toEqual(task);
    const row = await admin.getTask({ taskId, maxEntries: 6 });
    expect(row).toMatchObject({ summary: { ...summary }, bytes: 0n, damaged: false });
    expect(row.task).toBe(undefined);
    expect(await codeOf(admin.getTask({ taskId: "nowhere", maxEntries: 1 }))).toBe(Code.NotFound);
    const { entries } = await admin.listEntries({ taskId, raw: true });
    const told = entries.map(({ entry, attempt }) => [entry?.position, entry?.event.case, attempt]);
    const events = ["created", "status", "step", "artifact", "artifact", "artifact", "status"];
    expect(told).toEqual(events.map((event, index) => [index + 1, event, index === 0 ? 0 : 1]));
    expect(new Set(entries.map(({ writer }) => writer)).size).toBe(1);
    expect(entries[0]?.writer).not.toBe("");
    for (const { raw, bytes: size } of entries) expect(raw.length).toBe(size);
    const pages: Entry[] = [];
    for (let pageToken = ""; ; ) {
      const page = await admin.listEntries({ taskId, raw: true, pageSize: 2, pageToken });
      pages.push(...page.entries);
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    const shown = (each: Entry): string => toJsonString(EntrySchema, each);
    expect(pages.map(shown)).toEqual(entries.map(shown));
    expect((await admin.listEntries({ taskId, after: 4 })).entries.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await codeOf(admin.getTask({ taskId: "nowhere" }))).toBe(Code.NotFound);
    expect(await codeOf(admin.listEntries({ taskId: "nowhere" }))).toBe(Code.NotFound);
  });

  it("reads the time of each entry, which is that of its event", async () => {
    const times = async (taskId: string): Promise<number[]> =>
      (await admin.listEntries({ taskId })).entries.map(({ entry }) => (entry?.time ? timestampMs(entry.time) : 0));
    const began = Date.now();
    const taskId = await world.send("alice", "ask when");
    const asked = Date.now();
    const before = await times(taskId);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const answered = Date.now();
    await world.send("alice", "say now", { taskId });
    const ended = Date.now();
    const all = await times(taskId);
    expect(all.slice(0, before.length)).toEqual(before);
    const later = all.slice(before.length);
    const order = [began, ...before, asked, answered, ...later, ended];
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect([before.length, later.length].every((count) => count > 1)).toBe(true);
    const { summary, task } = await admin.getTask({ taskId });
    for (const time of [summary?.statusTime, task?.status?.timestamp])
      expect(time === undefined ? 0 : timestampMs(time)).toBe(all.at(-1));
  });

  it("reads the lease of one that runs", async () => {
    const taskId = await world.send("alice", `wait lease ${binding}`);
    const { holder } = await admin.getServer({});
    await vi.waitFor(async () => {
      const { tasks } = await admin.listTasks({ states: [TaskState.WORKING] });
      expect(tasks).toMatchObject([{ taskId, lease: { holder, turn: 1, attempt: 1 } }]);
    });
    await admin.failTask({ taskId });
  });

  it("follows one until it has ended, with its steps and messages", async () => {
    const taskId = await world.send("alice", `wait follow ${binding}`);
    const told: (string | undefined)[] = [];
    for await (const { entry } of admin.followTask({ taskId })) {
      told.push(entry?.entry?.event.case);
      if (told.length === 2) await admin.failTask({ taskId, message: "Enough." });
    }
    expect(told).toEqual(["created", "status", "status"]);
    const after: number[] = [];
    for await (const { entry } of admin.followTask({ taskId, after: 2 })) after.push(entry?.entry?.position ?? 0);
    expect(after).toEqual([3]);
    const followNothing = async (): Promise<void> => {
      for await (const _ of admin.followTask({ taskId: "nowhere" }));
    };
    expect(await codeOf(followNothing())).toBe(Code.NotFound);
  });

  it("follows the changes of all, each told once for changes that come together", async () => {
    const stop = new AbortController();
    const told: string[] = [];
    const following = (async () => {
      for await (const { task } of admin.followTasks({ owner: "bob" }, { signal: stop.signal })) {
        told.push(`${task?.owner} ${TaskState[task?.state ?? 0]}`);
        if (task?.state === TaskState.COMPLETED) stop.abort();
      }
    })().catch(() => {});
    // The stream has begun when a change arrives.
    while (told.length === 0) {
      await world.send("alice", "say no");
      await world.send("bob", "ask first");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await world.send("bob", "say one two three four five six seven");
    await following;
    expect(told.every((line) => line.startsWith("bob"))).toBe(true);
    expect(told.at(-1)).toBe("bob COMPLETED");
  });

  it("cancels one as its client would", async () => {
    const taskId = await world.send("alice", `wait cancel ${binding}`);
    const { task } = await admin.cancelTask({ taskId });
    expect(task?.state).toBe(TaskState.CANCELED);
    expect(world.agents.aborted.get(`wait cancel ${binding}`)).toBe("canceled");
    expect(await codeOf(admin.cancelTask({ taskId }))).toBe(Code.FailedPrecondition);
    expect(await codeOf(admin.cancelTask({ taskId: "nowhere" }))).toBe(Code.NotFound);
  });

  it("fails one whose agent ignores its signal, and stores nothing of it afterwards", async () => {
    const text = `hang fail ${binding}`;
    const taskId = await world.send("alice", text);
    await vi.waitFor(async () => expect((await admin.getTask({ taskId })).summary?.position).toBeGreaterThan(1));
    const { task } = await admin.failTask({ taskId, message: "Ended by hand." });
    expect(task).toMatchObject({ state: TaskState.FAILED });
    expect(task?.lease).toBeUndefined();
    expect(world.agents.aborted.get(text)).toBe("failed");
    const failed = await admin.getTask({ taskId });
    expect(failed.task?.status?.message?.parts[0]?.content).toEqual({ case: "text", value: "Ended by hand." });
    expect(failed.task?.artifacts).toEqual([]);
    // A task that has failed does not change again.
    expect((await admin.failTask({ taskId, message: "Again." })).task?.position).toBe(task?.position);
    expect(await codeOf(admin.failTask({ taskId, message: "x".repeat(1_001) }))).toBe(Code.InvalidArgument);
    expect(await codeOf(admin.failTask({ taskId: "nowhere" }))).toBe(Code.NotFound);
  });

  it("fails one that waits for its client, and one that waits for a slot", async () => {
    const asked = await world.send("bob", "ask more");
    expect((await admin.failTask({ taskId: asked })).task?.state).toBe(TaskState.FAILED);
    const text = (await admin.getTask({ taskId: asked })).task?.status?.message?.parts[0]?.content.value;
    expect(text).toBe("The task was ended by an operator of the server.");
    // An agent that runs after its task was failed occupies no slot.
    const running = await Promise.all([world.send("bob", "wait 1"), world.send("bob", "wait 2")]);
    const queued = await world.send("bob", `wait queued ${binding}`);
    expect((await admin.listTasks({ unattended: true })).tasks.map(({ taskId }) => taskId)).toEqual([queued]);
    const { task } = await admin.failTask({ taskId: queued });
    expect(task?.state).toBe(TaskState.FAILED);
    const { entries } = await admin.listEntries({ taskId: queued });
    expect(entries.map(({ entry }) => entry?.event.case)).toEqual(["created", "status"]);
    for (const taskId of running) await admin.failTask({ taskId });
    await world.send("bob", "say the slots are free");
  });

  it("deletes one that has ended, and no other", async () => {
    const taskId = await world.send("alice", "say something");
    const open = await world.send("alice", "ask something");
    await admin.deleteTask({ taskId });
    expect(await codeOf(admin.getTask({ taskId }))).toBe(Code.NotFound);
    expect(await codeOf(admin.deleteTask({ taskId }))).toBe(Code.NotFound);
    expect(await codeOf(admin.deleteTask({ taskId: open }))).toBe(Code.FailedPrecondition);
    const asClient = await fetch(`http://127.0.0.1:${world.server.port}/tasks/${taskId}`, {
      headers: { "x-key": "key-of-alice", "a2a-version": "1.0" },
    });
    expect(asClient.status).toBe(404);
  });

  it("lists conversations and owners, and deletes all of one owner", async () => {
    const running = await world.send("alice", `wait delete ${binding}`);
    await expect.poll(async () => (await admin.getTask({ taskId: running })).summary?.state).toBe(TaskState.WORKING);
    const contexts = await admin.listContexts({ owner: "alice" });
    expect(contexts.contexts[0]).toMatchObject({ owner: "alice", tasks: 1n, openTasks: 1n, stateBytes: 0n });
    const before = (await admin.listOwners({})).owners;
    expect(before.map(({ owner }) => owner)).toEqual(["alice", "bob"]);
    const [alice, bob] = before;
    const open = [TaskState.SUBMITTED, TaskState.WORKING, TaskState.INPUT_REQUIRED];
    const all = await admin.listTasks({ owner: "alice" });
    const { tasks: unfinished } = await admin.listTasks({ owner: "alice", states: open });
    expect([alice?.tasks, alice?.openTasks]).toEqual([BigInt(all.tasks.length), BigInt(unfinished.length)]);
    expect(unfinished.length).toBeGreaterThan(1);
    expect(alice?.statusTime).toEqual(all.tasks[0]?.statusTime);
    const { tasks } = await admin.deleteOwner({ owner: "alice" });
    expect(tasks).toBe(alice?.tasks);
    expect((await admin.listOwners({})).owners).toEqual([bob]);
    expect(await codeOf(admin.getTask({ taskId: running }))).toBe(Code.NotFound);
    expect((await admin.listTasks({ owner: "alice" })).tasks).toEqual([]);
    expect((await admin.listTasks({ owner: "bob" })).tasks).toHaveLength(Number(bob?.tasks));
    expect((await admin.deleteOwner({ owner: "alice" })).tasks).toBe(0n);
    expect(await codeOf(admin.deleteOwner({}))).toBe(Code.InvalidArgument);
    // The owner was deleted. Its next task creates it again.
    await world.send("alice", "say again");
    expect((await admin.listOwners({})).owners[0]).toMatchObject({ owner: "alice", tasks: 1n });
  });
});
