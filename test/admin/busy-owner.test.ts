import { afterEach, describe, expect, it, vi } from "vitest";
import { apiKey, connect } from "../../src/client/index.js";
import { decodeEntry } from "../../src/task/entry.js";
import { clients, openTasks, stores, type TaskWorld } from "./task-world.js";

vi.setConfig({ testTimeout: 60_000 });

const worlds: TaskWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

describe.each(Object.entries(stores))("the deletion of an owner in %s", (_, open) => {
  it("ends while its client keeps sending, without the tasks from before", async () => {
    const world = await openTasks(open());
    worlds.push(world);
    const admin = clients.connect(world.address);
    const before: string[] = [];
    for (let count = 0; count < 20; count++) before.push(await world.send("alice", `ask ${count}`));
    before.push(await world.send("alice", "wait here"));
    const client = await connect(`http://127.0.0.1:${world.server.port}`, { credentials: apiKey("key-of-alice") });
    let isOver = false;
    let sent = 0;
    const keepSending = async (): Promise<void> => {
      while (!isOver) {
        // The client gets an error if its task is deleted before the answer.
        await client.send("ask again").then(
          () => sent++,
          () => {},
        );
      }
    };
    const senders = [keepSending(), keepSending(), keepSending()];
    await vi.waitFor(() => expect(sent).toBeGreaterThan(10), { timeout: 20_000 });
    const { tasks, remaining } = await admin.deleteOwner({ owner: "alice" });
    isOver = true;
    await Promise.all(senders);
    await client.close();
    expect(Number(tasks)).toBeGreaterThanOrEqual(before.length);
    const left = (await admin.listTasks({ owner: "alice", pageSize: 1_000 })).tasks.map(({ taskId }) => taskId);
    for (const taskId of before) expect(left).not.toContain(taskId);
    expect(left.length).toBeGreaterThanOrEqual(Number(remaining));
    // The client sends nothing more, so a second deletion leaves nothing.
    expect(await admin.deleteOwner({ owner: "alice" })).toMatchObject({ tasks: BigInt(left.length), remaining: 0n });
  });

  it("tells how many tasks have arrived meanwhile and remain", async () => {
    const store = open();
    const world = await openTasks(store);
    worlds.push(world);
    const admin = clients.connect(world.address);
    await world.send("alice", "ask first");
    const removeTasks = store.removeTasks.bind(store);
    let arrived = 0;
    // Two tasks arrive each time the store removes some.
    vi.spyOn(store, "removeTasks").mockImplementation(async (request) => {
      const removed = await removeTasks(request);
      for (let count = 0; count < 2; count++) await world.send("alice", `ask ${arrived++}`);
      return removed;
    });
    expect(await admin.deleteOwner({ owner: "alice" })).toMatchObject({ tasks: 3n, remaining: 2n });
    expect(arrived).toBe(4);
    expect((await admin.listOwners({})).owners).toMatchObject([{ owner: "alice", tasks: 2n }]);
  });

  it("stores the trace of the operator's call with each task that it cancels", async () => {
    const store = open();
    const world = await openTasks(store);
    worlds.push(world);
    const taskId = await world.send("alice", "ask first");
    const traces: string[] = [];
    const removeTasks = store.removeTasks.bind(store);
    vi.spyOn(store, "removeTasks").mockImplementation(async (request) => {
      const entries = await store.read({ taskId, after: 0, limit: 10 });
      traces.push(...entries.slice(-1).map((entry) => decodeEntry(entry).traceParent));
      return removeTasks(request);
    });
    const traceparent = "00-11112222333344445555666677778888-1111222233334444-01";
    await clients.connect(world.address).deleteOwner({ owner: "alice" }, { headers: { traceparent } });
    expect(traces[0]).toContain("11112222333344445555666677778888");
  });
});
