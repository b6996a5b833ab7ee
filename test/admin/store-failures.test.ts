import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { withMethods } from "../engine/wrapped-stores.js";
import { clients, type Operator, openTasks, type TaskWorld } from "./task-world.js";

const worlds: TaskWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Fails as a commit does on a full disk: the store's health is unaffected until its next probe. */
const full = (): Promise<never> => Promise.reject(new StoreError("failed", "The disk is full."));

const codeOf = (work: Promise<unknown>): Promise<Code | undefined> =>
  work.then(
    () => undefined,
    (error) => ConnectError.from(error).code,
  );

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const calls: Readonly<Record<string, readonly [Partial<TaskStore>, (admin: Operator, taskId: string) => unknown]>> = {
  deleteTask: [{ removeTasks: full }, (admin, taskId) => admin.deleteTask({ taskId })],
  deleteOwner: [{ removeTasks: full }, (admin) => admin.deleteOwner({ owner: "alice" })],
  listTasks: [{ listHeads: full }, (admin) => admin.listTasks({})],
  listOwners: [{ listOwners: full }, (admin) => admin.listOwners({})],
  listEntries: [{ read: full }, (admin, taskId) => admin.listEntries({ taskId })],
  followTask: [{ read: full }, (admin, taskId) => drain(admin.followTask({ taskId }))],
};

describe.each(Object.entries(clients))("a store that fails a call of an operator over %s", (_binding, open) => {
  it.each(Object.entries(calls))("makes %s unavailable, which is no internal error", async (_name, [failing, call]) => {
    const methods: Partial<TaskStore> = {};
    const world = await openTasks(withMethods(memoryStore(), methods));
    worlds.push(world);
    const taskId = await world.send("alice", "say something");
    Object.assign(methods, failing);
    expect(await codeOf(call(open(world.address), taskId) as Promise<unknown>)).toBe(Code.Unavailable);
  });
});
