import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { openDatabase } from "../support/database.js";
import { clients, type Operator, openTasks, type TaskWorld } from "./task-world.js";

vi.setConfig({ testTimeout: 30_000 });

const codeOf = (promise: Promise<unknown>): Promise<Code | undefined> =>
  promise.then(
    () => undefined,
    (error) => ConnectError.from(error).code,
  );

/** Reads a stream to its end. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const worlds: TaskWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

interface Damaged {
  readonly world: TaskWorld;
  readonly admin: Operator;
  /** A task that waits for its client, whose last entry does not decode. */
  readonly damaged: string;
  /** A sound task of the same owner that waits for its client. */
  readonly sound: string;
}

/** A segment with one entry of one byte, which does not decode as a message of Protocol Buffers. */
const NONSENSE = "x'01ff'";

/** @param segment stored bytes in place of the last append */
async function open(segment: string): Promise<Damaged> {
  const path = temporaryFile();
  const world = await openTasks(sqliteStore(path));
  worlds.push(world);
  const admin = clients.connect(world.address);
  const damaged = await world.send("alice", "ask first");
  const sound = await world.send("alice", "ask second");
  const db = openDatabase(path);
  const last = "(SELECT max(last) FROM segment WHERE task_id = ?1)";
  db.command(`UPDATE segment SET bytes = ${segment}, blob = NULL WHERE task_id = ?1 AND last = ${last}`).run(damaged);
  db.close();
  return { world, admin, damaged, sound };
}

describe.each([
  { what: "an entry that does not decode", segment: NONSENSE },
  { what: "a segment that is cut", segment: "x''" },
])("an unfinished task with $what", ({ segment }) => {
  it("is shown by its row, and cannot be canceled, failed or exported", async () => {
    const { admin, damaged, sound } = await open(segment);
    const shown = await admin.getTask({ taskId: damaged });
    expect(shown).toMatchObject({ damaged: true, bytes: 0n });
    expect(shown.summary).toMatchObject({ taskId: damaged, state: TaskState.INPUT_REQUIRED });
    expect(shown.task).toBeUndefined();
    expect(await codeOf(admin.cancelTask({ taskId: damaged }))).toBe(Code.DataLoss);
    expect(await codeOf(admin.failTask({ taskId: damaged }))).toBe(Code.DataLoss);
    expect(await codeOf(drain(admin.exportTask({ taskId: damaged })))).toBe(Code.DataLoss);
    expect((await admin.getTask({ taskId: sound })).damaged).toBe(false);
    // A search for a text skips the damaged task and finds the sound one.
    expect((await admin.listTasks({ text: "about second?" })).tasks.map(({ taskId }) => taskId)).toEqual([sound]);
  });

  it("is deleted, unlike a sound one", async () => {
    const { admin, damaged, sound } = await open(segment);
    await admin.deleteTask({ taskId: damaged });
    expect(await codeOf(admin.getTask({ taskId: damaged }))).toBe(Code.NotFound);
    expect(await codeOf(admin.deleteTask({ taskId: damaged }))).toBe(Code.NotFound);
    expect(await codeOf(admin.deleteTask({ taskId: sound }))).toBe(Code.FailedPrecondition);
    expect((await admin.listOwners({})).owners).toMatchObject([{ owner: "alice", tasks: 1n, openTasks: 1n }]);
  });

  it("is deleted with its owner", async () => {
    const { world, admin } = await open(segment);
    await world.send("bob", "ask third");
    expect(await admin.deleteOwner({ owner: "alice" })).toMatchObject({ tasks: 2n, remaining: 0n });
    expect((await admin.listOwners({})).owners).toMatchObject([{ owner: "bob", tasks: 1n }]);
  });
});

describe("the entries of a task", () => {
  it.each([
    { what: "an entry that does not decode", segment: NONSENSE, left: "ff" },
    { what: "an entry that is cut", segment: "x'0301ff'", left: "0301ff" },
    { what: "an entry that is gone", segment: "x''", left: "" },
  ])("are listed with the stored bytes of $what", async ({ segment, left }) => {
    const { admin, damaged } = await open(segment);
    const { entries } = await admin.listEntries({ taskId: damaged });
    expect(entries.map(({ entry }) => entry?.event.case)).toEqual(["created", undefined]);
    expect(entries.map(({ raw }) => Buffer.from(raw).toString("hex"))).toEqual(["", left]);
    expect((await admin.listEntries({ taskId: damaged, after: 1 })).entries).toHaveLength(1);
  });
});
