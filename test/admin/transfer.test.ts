import { fromJson, create as message } from "@bufbuild/protobuf";
import { EmptySchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, describe, expect, it } from "vitest";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  Role,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ImportTaskRequestSchema } from "../../gen/parley/admin/v1/admin_pb.js";
import { type LogEntry, StepSchema, TurnContextSchema } from "../../gen/parley/log/v1/log_pb.js";
import { transferOperations } from "../../src/admin/operations/transfer.js";
import type { AdminParts } from "../../src/admin/parts.js";
import { defaultLimits } from "../../src/core/limits.js";
import { OutgoingBudget } from "../../src/service/outgoing-budget.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { countsAsGeneration, decodeEntry, encodeEntry, placeDraft, timestampOf } from "../../src/task/entry.js";
import { TaskFold } from "../../src/task/fold.js";
import { addedSize } from "../../src/task/size.js";
import { isTerminal } from "../../src/task/state.js";
import { ExportWriter } from "../../src/task/transfer.js";
import { temporaryFile } from "../store/sqlite/files.js";

const stores: TaskStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

function open(store: TaskStore): TaskStore {
  stores.push(store);
  return store;
}

type Operations = ReturnType<typeof transferOperations>;
const context = {} as Parameters<Operations["importTask"]>[1];

function operationsOn(store: TaskStore, limits: Partial<typeof defaultLimits> = {}): Operations {
  const agents = { resolve: () => undefined, anyTenant: true, tenants: [], all: [] };
  const all = { ...defaultLimits, ...limits };
  return transferOperations({ store, agents, limits: all } as unknown as AdminParts, new OutgoingBudget(all));
}

async function exported(store: TaskStore, taskId: string): Promise<string> {
  let lines = "";
  const pieces = await operationsOn(store).exportTask({ taskId } as never, context);
  for await (const piece of pieces as AsyncIterable<{ lines: string }>) {
    expect(piece.lines.endsWith("\n")).toBe(true);
    lines += piece.lines;
  }
  return lines;
}

const importing = async (store: TaskStore, request: object, limits = {}): Promise<{ task?: object }> =>
  operationsOn(store, limits).importTask(message(ImportTaskRequestSchema, request), context) as never;

/** Numbers that look random, the same in each run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const texts = ["", "hello", 'Zeile\u2028 und "Rest" \\', "\u{1F980}".repeat(50), "a\nb\tc", "0", "<script>"];

/** A log with everything that logs have, as an engine would write it. */
function logOf(seed: number, taskId: string): LogEntry[] {
  const below = numbersFrom(seed);
  const text = (): string => texts[below(texts.length)] ?? "";
  const part = () => {
    const contents = [
      { case: "text", value: text() },
      { case: "raw", value: Uint8Array.from({ length: below(5_000) }, () => below(256)) },
      { case: "data", value: fromJson(ValueSchema, { 1: null, b: [1.5, true, { c: text() }], a: 0 }) },
    ] as const;
    const content = contents[below(3)] ?? contents[0];
    return message(PartSchema, { content, metadata: { seed, list: [null, "x"] }, filename: text() });
  };
  const place = { taskId, contextId: `context-${seed}` };
  const said = (id: string) =>
    message(MessageSchema, { ...place, messageId: id, role: Role.USER, parts: [part()], extensions: [text()] });
  const events: LogEntry["event"][] = [];
  const status = { state: TaskState.SUBMITTED, timestamp: timestampOf(1_000.25) };
  const history = [said("m-0")];
  events.push({ case: "created", value: message(TaskSchema, { id: taskId, ...place, status, history }) });
  for (let i = 1; i < 3 + below(30); i++) {
    const step = {
      name: text() || "s",
      count: i,
      turn: 1,
      call: i,
      attempts: 1,
      outcome: { case: "result", value: "{}" },
    };
    const artifact = message(ArtifactSchema, { artifactId: `a-${below(3)}`, parts: [part(), part()] });
    const working = { state: TaskState.WORKING, timestamp: timestampOf(2_000 + i), message: said(`s-${i}`) };
    const kinds = [
      { case: "message", value: said(`m-${i}`) },
      { case: "step", value: message(StepSchema, step as never) },
      { case: "note", value: message(EmptySchema) },
      { case: "status", value: message(TaskStatusUpdateEventSchema, { ...place, status: working, metadata: { i } }) },
      {
        case: "artifact",
        value: message(TaskArtifactUpdateEventSchema, { ...place, artifact, append: below(2) === 0, lastChunk: true }),
      },
    ] as const;
    events.push(kinds[below(kinds.length)] as LogEntry["event"]);
  }
  if (below(2) === 0) {
    const ended = { state: TaskState.COMPLETED, timestamp: timestampOf(9_000) };
    events.push({ case: "status", value: message(TaskStatusUpdateEventSchema, { ...place, status: ended }) });
  }
  // Some tasks continue another one.
  let generation = seed % 10 === 0 ? 6 : 0;
  return events.map((event, at) => {
    if (countsAsGeneration(event)) generation++;
    const turn = message(TurnContextSchema, { acceptedOutputModes: ["text/plain"], metadata: { a: 1 } });
    const more = at === 0 ? { turn, version: "", traceParent: "00-1-2-01" } : {};
    return placeDraft({ event, time: 1_000 + at, size: addedSize(event), ...more }, at + 1, generation);
  });
}

async function stored(store: TaskStore, entries: readonly LogEntry[], taskId: string): Promise<TaskFold> {
  const fold = new TaskFold();
  for (const entry of entries) fold.apply(entry);
  const { position, generation, state } = fold;
  const row = {
    taskId,
    tenant: "t",
    owner: "o",
    contextId: fold.task.contextId,
    state,
    statusTime: 1,
    position,
    generation,
  };
  const conversation = { expected: 0, version: 7, bytes: Buffer.from('{"seen":1}') };
  await store.append({ head: row, expected: 0, creates: true, entries: entries.map(encodeEntry), conversation });
  return fold;
}

/** Ids as servers make them. */
const idOf = (number: number): string => `01a21bea-d13d-7000-8000-${String(number).padStart(12, "0")}`;
const [a, b, c] = [idOf(1), idOf(2), idOf(3)];

const hexOf = (bytes: ArrayLike<number>): string => Buffer.from(bytes).toString("hex");

/** The lines without the header, which has the time, and the last line, whose digest covers it. */
const bodyOf = (lines: string): string[] => lines.trimEnd().split("\n").slice(1, -1);

describe("ExportTask and ImportTask", () => {
  it("keep every log as it is, through any store", async () => {
    const file = open(sqliteStore(temporaryFile()));
    for (let seed = 1; seed <= 60; seed++) {
      const from = open(memoryStore());
      const to = seed % 2 === 0 ? file : open(memoryStore());
      const taskId = idOf(seed);
      const entries = logOf(seed, taskId);
      const fold = await stored(from, entries, taskId);
      const lines = await exported(from, taskId);
      const { task } = await importing(to, { lines });
      const isOver = isTerminal(fold.state);
      const ended = isOver ? fold.state : TaskState.FAILED;
      expect(task).toMatchObject({ taskId, tenant: "t", owner: "o", contextId: `context-${seed}`, state: ended });
      const again = bodyOf(await exported(to, taskId));
      if (!isOver) again.splice(entries.length, 1);
      expect(again).toEqual(bodyOf(lines));
      const read = await to.read({ taskId, after: 0, limit: 1_000 });
      if (isOver) expect(read.map(hexOf)).toEqual(entries.map((entry) => hexOf(encodeEntry(entry))));
      const state = await to.conversation({ tenant: "t", owner: "o", contextId: `context-${seed}` });
      expect(hexOf(state?.bytes ?? [])).toBe(hexOf(Buffer.from('{"seen":1}')));
    }
  }, 60_000);

  it("end an unfinished task as FAILED, with a message, and without a lease", async () => {
    const from = open(memoryStore());
    const entries = logOf(3, a)
      .filter(({ event }) => event.case !== "status")
      .slice(0, 1);
    await stored(from, entries, a);
    const to = open(memoryStore());
    await importing(to, { lines: await exported(from, a) });
    const head = await to.head({ taskId: a });
    expect(head).toMatchObject({ state: TaskState.FAILED, position: 2, generation: 2, lease: null });
    const [last] = await to.read({ taskId: a, after: 1, limit: 1 });
    expect(decodeEntry(last ?? new Uint8Array()).event.value).toMatchObject({
      taskId: a,
      status: { message: { parts: [{ content: { value: "The task had not ended when it was exported." } }] } },
    });
  });

  it("store it under another id, tenant and owner, and leave the state of an existing conversation", async () => {
    const store = open(memoryStore());
    await stored(store, logOf(5, a), a);
    const lines = await exported(store, a);
    const { task } = await importing(store, { lines, taskId: b, tenant: "", owner: "" });
    expect(task).toMatchObject({ taskId: b, tenant: "", owner: "" });
    for (const line of bodyOf(await exported(store, b))) expect(line).not.toContain(a);
    await importing(store, { lines, taskId: c });
    expect(await store.conversation({ tenant: "t", owner: "o", contextId: "context-5" })).toMatchObject({ version: 7 });
    await expect(importing(store, { lines })).rejects.toMatchObject({ reason: "ALREADY_EXISTS" });
    await expect(exported(store, "no")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });

  it("reject every cut and every change of an export, and store nothing", async () => {
    const from = open(memoryStore());
    await stored(from, logOf(8, a), a);
    const lines = await exported(from, a);
    const to = open(memoryStore());
    const all = lines.trimEnd().split("\n");
    const wrong = [
      "",
      "\n",
      lines.slice(0, -1),
      `${lines}\n`,
      ...all.map((_, at) => `${all.filter((__, index) => index !== at).join("\n")}\n`),
      ...all.map((_, at) => `${all.slice(0, at).join("\n")}\n`),
      lines.replace("task-", "task_").replace('"position":1', '"position":2'),
    ];
    for (let at = 0; at < 50; at++) {
      const place = Math.floor((at / 50) * lines.length);
      const flipped = String.fromCharCode(lines.charCodeAt(place) ^ 1);
      wrong.push(lines.slice(0, place) + flipped + lines.slice(place + 1));
    }
    for (const each of wrong) {
      await expect(importing(to, { lines: each })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
    }
    expect(await to.head({ taskId: a })).toBeUndefined();
    await expect(importing(to, { lines }, { maxTaskBytes: 500 })).rejects.toMatchObject({ reason: "TASK_TOO_LARGE" });
    await expect(importing(to, { lines, taskId: "chosen" })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
  });

  it("measure the task by themselves, and reject a conversation's state that cannot be", async () => {
    const status = { state: TaskState.COMPLETED };
    const artifacts = [message(ArtifactSchema, { artifactId: "a", name: "x".repeat(10_000) })];
    const task = message(TaskSchema, { id: a, contextId: "c", status, artifacts });
    const entry = placeDraft({ event: { case: "created", value: task }, time: 0, size: 1 } as never, 1, 1);
    const writer = (): [ExportWriter, string] => {
      const begun = new ExportWriter();
      return [begun, begun.header({ taskId: a, tenant: "", owner: "" }, new Date(0)) + begun.entry(encodeEntry(entry))];
    };
    const store = open(memoryStore());
    const [small, smallLines] = writer();
    const limits = { maxTaskBytes: 5_000 };
    const lines = smallLines + small.end();
    await expect(importing(store, { lines }, limits)).rejects.toMatchObject({ reason: "TASK_TOO_LARGE" });
    for (const state of ["{", `"${"x".repeat(256 * 1024)}"`]) {
      const [full, begin] = writer();
      const whole = begin + full.conversation(Buffer.from(state)) + full.end();
      await expect(importing(store, { lines: whole })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
    }
    expect(await store.head({ taskId: a })).toBeUndefined();
  });

  it("let other work run beside a large import", async () => {
    const from = open(memoryStore());
    const place = { taskId: a, contextId: "c" };
    const created = { case: "created", value: message(TaskSchema, { id: a, ...place, status: { state: 1 } }) };
    const piece = {
      ...place,
      append: true,
      artifact: { artifactId: "a", parts: [{ content: { case: "text", value: "x" } }] },
    };
    const entries = Array.from({ length: 20_000 }, (_, at) => {
      const event =
        at === 0 ? created : { case: "artifact", value: message(TaskArtifactUpdateEventSchema, piece as never) };
      return placeDraft({ event, time: at, size: 0 } as never, at + 1, at + 1);
    });
    await stored(from, entries, a);
    const lines = await exported(from, a);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await importing(open(memoryStore()), { lines });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });

  it.each([
    ["with NUL", "a\0b"],
    ["too long", "c".repeat(5_000)],
    ["empty", ""],
  ])("reject a context that is %s", async (_, id) => {
    const task = message(TaskSchema, { id: a, contextId: id, status: { state: TaskState.COMPLETED } });
    const entry = placeDraft({ event: { case: "created", value: task }, time: 0 } as never, 1, 1);
    const writer = new ExportWriter();
    const head = writer.header({ taskId: a, tenant: "", owner: "" }, new Date(0));
    const lines = head + writer.entry(encodeEntry(entry)) + writer.end();
    const store = open(sqliteStore(temporaryFile()));
    await expect(importing(store, { lines })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
  });
});
