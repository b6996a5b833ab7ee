import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AuditRecord, AuditRecorder } from "../../src/audit/audit.js";
import { redriveBounds } from "../../src/push/operations.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { accept, Receiver, refuse } from "./receiver.js";
import { Log, Rig, type RigOptions, status } from "./rig.js";

/** Audit records of notifications that do not arrive. */

const patience = { timeout: 20_000, interval: 10 };
let store: TaskStore;
let receiver: Receiver;
let records: AuditRecord[];
let audit: AuditRecorder;

beforeEach(async () => {
  store = memoryStore();
  records = [];
  audit = new AuditRecorder({ write: (record) => void records.push(record) });
  receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
});

const rig = (options: Partial<RigOptions> = {}): Promise<Rig> =>
  new Rig(store, { receivers: [receiver], audit, ...options }).start();
const of = (event: string): AuditRecord[] => records.filter((record) => record.event === event);

/** The request that caused a notification. */
const caused = ({ head }: Log): object => ({ taskId: head.taskId, requestId: "r-1" });

describe("the audit log of a dispatcher", () => {
  it("has what was given up, and what is tried again", async () => {
    receiver.answer = refuse(410);
    const one = await rig();
    const log = await Log.create(store, [receiver.url("/gone?secret=in-the-query")]);
    one.news();
    await expect
      .poll(() => of("push.dead-lettered"), patience)
      .toMatchObject([{ outcome: "failure", target: `${log.head.taskId}//gone` }]);
    await one.control.redrive();
    const { taskId, owner } = log.head;
    expect(of("push.redriven")).toMatchObject([{ outcome: "success", count: 1, taskId, owner }]);
  });

  it.each(["by their keys", "all"])("has the tasks that are tried again, up to a bound: %s", async (which) => {
    setConstants(redriveBounds, { named: 3, parallel: 1 });
    receiver.answer = refuse(410);
    const one = await rig();
    const hooks = [receiver.url("/a"), receiver.url("/b")];
    const logs = [await Log.create(store, hooks), await Log.create(store, hooks), await Log.create(store, hooks)];
    for (const log of logs) await log.append([status(TaskState.WORKING)]);
    one.news();
    await expect.poll(() => one.control.deadLetters(), patience).toHaveLength(6);
    const ids = logs.map(({ head }) => head.taskId).toSorted();
    const keys = (await one.control.deadLetters()).map(({ taskId, configId }) => ({ taskId, configId }));
    receiver.answer = accept;
    const alive = { taskId: ids[0] ?? "", configId: "none" };
    expect(await one.control.redrive(which === "all" ? undefined : [...keys, alive])).toBe(6);
    expect(of("push.redriven").map(({ taskId, count }) => [taskId, count])).toEqual([
      [ids[0], 2],
      [ids[1], 1],
      [undefined, 3],
    ]);
  });

  it("has receivers that fail again and again, by protocol, host and port", async () => {
    receiver.answer = refuse(503);
    const one = await rig();
    const log = await Log.ofRequest(store, receiver.url("/a?secret=in-the-query"), "r-1");
    one.news();
    await expect
      .poll(() => of("push.circuit-opened"), patience)
      .toMatchObject([{ outcome: "failure", target: `http://127.0.0.1:${receiver.port}`, ...caused(log) }]);
  });

  it("has targets that the guard forbids when they are connected to", async () => {
    const one = await rig({ lookup: async () => [{ address: "127.0.0.2", family: 4 }] });
    const log = await Log.ofRequest(store, `http://inside.example:${receiver.port}/inside?secret=in-the-query`, "r-1");
    one.news();
    // It is tried again, and refused again.
    await expect
      .poll(() => of("push.target-refused")[0], patience)
      .toMatchObject({ outcome: "denied", target: `http://inside.example:${receiver.port}`, ...caused(log) });
    expect(receiver.hits).toEqual([]);
  });

  it("has no URL, no token and no secret of any of them", async () => {
    receiver.answer = refuse(410);
    const one = await rig();
    await Log.create(store, [receiver.url("/gone?secret=in-the-query")]);
    one.news();
    await expect.poll(() => of("push.dead-lettered"), patience).toHaveLength(1);
    expect(JSON.stringify(records)).not.toMatch(/secret|token|in-the-query/);
  });
});
