import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { clients, openTasks, type TaskWorld } from "./task-world.js";

vi.setConfig({ testTimeout: 30_000 });

const worlds: TaskWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Two servers that share a file, as two processes do. */
async function openTwo(): Promise<[TaskWorld, TaskWorld]> {
  const path = temporaryFile();
  for (let count = 0; count < 2; count++) worlds.push(await openTasks(sqliteStore({ path, shared: true })));
  return [worlds[0] as TaskWorld, worlds[1] as TaskWorld];
}

describe("operators of one of two servers with the same file", () => {
  it("follow a task that the other one executes, and fail it", async () => {
    const [one, two] = await openTwo();
    const admin = clients.grpc(two.address);
    const taskId = await one.send("alice", "hang elsewhere");
    const told: { readonly event: string | undefined; readonly writer: string | undefined }[] = [];
    let isFailed = false;
    for await (const { entry } of admin.followTask({ taskId })) {
      told.push({ event: entry?.entry?.event.case, writer: entry?.writer });
      if (told.length < 2 || isFailed) continue;
      isFailed = true;
      const { task } = await admin.failTask({ taskId, message: "Stuck." });
      expect(task).toMatchObject({ state: TaskState.FAILED });
    }
    expect(told.map(({ event }) => event)).toEqual(["created", "status", "status"]);
    // The first server wrote the first two entries, the second one the last.
    const writers = told.map(({ writer }) => writer);
    expect(writers[0]).toBe(writers[1]);
    expect(writers[2]).not.toBe(writers[1]);
    await vi.waitFor(() => expect(one.agents.aborted.get("hang elsewhere")).toBe("failed"), { timeout: 10_000 });
    // The agent continues after its task failed. The store refuses its later events.
    one.agents.release();
    const other = clients.connect(one.address);
    expect((await other.getTask({ taskId })).task).toMatchObject({
      artifacts: [],
      status: { state: TaskState.FAILED },
    });
    await one.send("alice", "say the process goes on");
    expect((await other.listEntries({ taskId })).entries).toHaveLength(3);
  });

  it("follow what the other one changes", async () => {
    const [one, two] = await openTwo();
    const admin = clients.connect(two.address);
    const stop = new AbortController();
    const told: (TaskState | undefined)[] = [];
    const following = (async () => {
      for await (const { task } of admin.followTasks({ owner: "bob" }, { signal: stop.signal })) {
        told.push(task?.state);
        if (task?.state === TaskState.COMPLETED) return stop.abort();
      }
    })().catch(() => {});
    while (told.length === 0) {
      await one.send("bob", "ask first");
      await one.send("alice", "ask first");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await one.send("bob", "say at last");
    await following;
    expect(told.at(-1)).toBe(TaskState.COMPLETED);
  });
});
