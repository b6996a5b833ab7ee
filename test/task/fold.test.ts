import { clone, create, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ArtifactSchema,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema, type Step, TurnContextSchema } from "../../gen/parley/log/v1/log_pb.js";
import { decodeEntry, encodeEntry, stateAfter } from "../../src/task/entry.js";
import { TaskFold, viewTask } from "../../src/task/fold.js";
import { decodeSnapshot, encodeSnapshot, SnapshotReader, snapshotPieces } from "../../src/task/snapshot.js";
import { isTerminal } from "../../src/task/state.js";
import type { StepRecord } from "../../src/task/step-records.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { log } from "./arbitraries.js";
import { reference } from "./reference.js";

function foldAll(entries: readonly LogEntry[], fold = new TaskFold()): TaskFold {
  for (const entry of entries) fold.apply(entry);
  return fold;
}

/** A task whose artifact "a" gets these texts, one after the other. */
function logOf(texts: readonly string[]): LogEntry[] {
  const task = { id: "t", contextId: "c", status: { state: TaskState.SUBMITTED } };
  const created = create(LogEntrySchema, {
    position: 1,
    generation: 1,
    event: { case: "created", value: task as Task },
  });
  const pieces = texts.map((text, index) => ({ ...replacing(index + 2, text), event: eventOf(text, index > 0) }));
  return [created, ...pieces].map((entry) => decodeEntry(encodeEntry(create(LogEntrySchema, entry))));
}

function replacing(position: number, text: string): LogEntry {
  return create(LogEntrySchema, { position, generation: position, event: eventOf(text, false) });
}

function eventOf(text: string, append: boolean): LogEntry["event"] {
  const artifact = create(ArtifactSchema, { artifactId: "a", parts: [{ content: { case: "text", value: text } }] });
  return { case: "artifact", value: create(TaskArtifactUpdateEventSchema, { artifact, append }) };
}

/** The fields of a fold besides its task, computed from the whole log. */
function known(entries: readonly LogEntry[]): unknown {
  const isSeen = ({ event }: LogEntry): boolean => !["message", "step", "note"].includes(event.case ?? "");
  const seen = entries.findLast(isSeen)?.position ?? 0;
  const steps = entries.flatMap(({ position, event }) =>
    event.case === "step" ? [{ ...recordOf(event.value), position }] : [],
  );
  const last = steps.at(-1)?.turn;
  const isOver = isTerminal(stateAfter(entries.at(-1)!.event) ?? 0);
  return {
    generationPosition: seen,
    messagesSince: entries.filter(({ position, event }) => position > seen && event.case === "message").length,
    steps: isOver ? [] : steps.filter(({ perTask, turn }) => perTask || turn === last),
    stepBytes: isOver
      ? 0
      : entries.reduce((sum, { event }) => sum + (event.case === "step" ? sizeOf(event.value) : 0), 0),
  };
}

function recordOf({ name, count, turn, call, perTask, overlaps }: Step): Omit<StepRecord, "position"> {
  return { name, count, turn, call, perTask, overlaps };
}

function sizeOf({ outcome }: Step): number {
  return outcome.case === "result" ? Buffer.byteLength(outcome.value) : 0;
}

function knownOf({ generationPosition, messagesSince, steps }: TaskFold): unknown {
  return { generationPosition, messagesSince, steps: steps?.all() ?? [], stepBytes: steps?.bytes ?? 0 };
}

describe("TaskFold", () => {
  it("equals the reference for any legal log (SRV-STRM-18, SRV-CTX-16)", () => {
    fc.assert(
      fc.property(log, (entries) => {
        expect(equals(TaskSchema, foldAll(entries).task, reference(entries))).toBe(true);
      }),
    );
  });

  it("keeps the generations of the tasks that it continues in a snapshot and an outline", () => {
    const entries = logOf(["a", "b"]).map((entry) => ({ ...entry, generation: entry.generation + 5 }));
    const fold = foldAll(entries);
    const folds = [fold, fold.outline(), decodeSnapshot(encodeSnapshot(fold))];
    for (const { generation, earlierGenerations } of folds) expect([generation, earlierGenerations]).toEqual([8, 5]);
  });

  it("knows its version, from entries and from a snapshot in pieces; of before it was kept it is none", () => {
    const entries = logOf(Array.from({ length: 20 }, () => "x".repeat(50)));
    for (const version of ["", "0.1"]) {
      const [created, ...more] = entries as [LogEntry, ...LogEntry[]];
      const stored = [{ ...created, version }, ...more].map((entry) => decodeEntry(encodeEntry(entry)));
      const fold = foldAll(stored);
      expect(fold.version).toBe(version);
      const [first = new Uint8Array(), ...rest] = snapshotPieces(fold, 300);
      const reader = new SnapshotReader(first);
      for (const piece of rest) reader.add(piece);
      expect(rest).not.toHaveLength(0);
      expect(reader.fold.version).toBe(version);
    }
  });

  it("is the same from stored bytes and from any snapshot on the way", () => {
    fc.assert(
      fc.property(log, fc.nat(), (entries, seed) => {
        const stored = entries.map((entry) => decodeEntry(encodeEntry(entry)));
        const cut = seed % (entries.length + 1);
        const half = foldAll(stored.slice(0, cut));
        const resumed = cut === 0 ? half : decodeSnapshot(encodeSnapshot(half));
        const whole = foldAll(stored.slice(cut), resumed);
        const direct = foldAll(entries);
        expect(equals(TaskSchema, whole.task, direct.task)).toBe(true);
        expect([direct, whole].map(knownOf)).toEqual([known(entries), known(entries)]);
        expect([whole.position, whole.generation, whole.statusPosition]).toEqual([
          direct.position,
          direct.generation,
          direct.statusPosition,
        ]);
      }),
    );
  });

  it("is the same from a snapshot in pieces, whatever is folded in while they are made", () => {
    fc.assert(
      fc.property(log, fc.nat(), fc.integer({ min: 1, max: 2_000 }), (entries, seed, maxBytes) => {
        const cut = 1 + (seed % entries.length);
        const fold = foldAll(entries.slice(0, cut));
        const expected = { task: clone(TaskSchema, fold.task), size: fold.size };
        const pieces = snapshotPieces(fold, maxBytes);
        const reader = new SnapshotReader(pieces.next().value as Uint8Array);
        foldAll(entries.slice(cut), fold);
        for (const piece of pieces) reader.add(piece);
        expect(equals(TaskSchema, reader.fold.task, expected.task)).toBe(true);
        expect(knownOf(reader.fold)).toEqual(known(entries.slice(0, cut)));
        foldAll(entries.slice(cut), reader.fold);
        expect(equals(TaskSchema, reader.fold.task, fold.task)).toBe(true);
      }),
    );
  });

  it("cuts a large snapshot into pieces of the size that it is given", () => {
    const fold = new TaskFold();
    const parts = Array.from({ length: 500 }, (_, index) => ({ text: `${index} `.repeat(50) }));
    for (const entry of logOf(parts.map(({ text }) => text))) fold.apply(entry);
    const pieces = [...snapshotPieces(fold, 4_096)];
    expect(pieces.length).toBeGreaterThan(10);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(4_096);
  });

  it("weighs at least what it is as JSON, and at most that and what stands there twice", () => {
    const write = jsonWriter(TaskSchema);
    fc.assert(
      fc.property(log, fc.nat(), (entries, seed) => {
        const cut = 1 + (seed % entries.length);
        const fold = foldAll(entries.slice(0, cut));
        const resumed = foldAll(entries.slice(cut), decodeSnapshot(encodeSnapshot(fold)));
        foldAll(entries.slice(cut), fold);
        const json = Buffer.byteLength(write(fold.task));
        for (const { size } of [fold, resumed]) expect(size).toBeGreaterThanOrEqual(json);
        for (const { size } of [fold, resumed]) expect(size).toBeLessThan(1_000 + json * 12);
      }),
    );
  });

  it("weighs a long text as it is, and a replaced artifact no more", () => {
    const fold = new TaskFold();
    const [created, ...pieces] = logOf(["x".repeat(100_000), '\n"\u0001\u2028é'.repeat(10_000)]);
    fold.apply(created!);
    for (const piece of pieces) fold.apply(piece);
    const json = Buffer.byteLength(jsonWriter(TaskSchema)(fold.task));
    // A line separator is escaped wherever it is written; it counts a byte more than that.
    expect(fold.size - json).toBeGreaterThanOrEqual(0);
    expect(fold.size - json).toBeLessThan(10_000 + 1_000);
    fold.apply(replacing(fold.position + 1, "short"));
    expect(fold.size).toBeLessThan(1_500);
  });

  it("weighs metadata that is replaced again and again no more than once", () => {
    const fold = foldAll(logOf([]));
    const before = fold.size;
    for (let at = 0; at < 1_000; at++) {
      const metadata = { step: "x".repeat(at % 7), [`at ${at % 3}`]: at };
      const event = { case: "status", value: create(TaskStatusUpdateEventSchema, { metadata }) } as const;
      fold.apply(create(LogEntrySchema, { position: fold.position + 1, generation: fold.position + 1, event }));
    }
    expect(fold.size - before).toBeLessThan(200);
  });

  it("knows the request metadata of its first message, from entries and from a snapshot in pieces", () => {
    const [created, ...pieces] = logOf(Array.from({ length: 20 }, () => "x".repeat(50)));
    for (const metadata of [undefined, {}, { plan: "gold" }]) {
      const turn = metadata && create(TurnContextSchema, { metadata });
      const first = { ...created!, ...(turn && { turn }) };
      const fold = foldAll([decodeEntry(encodeEntry(first)), ...pieces]);
      const [head = new Uint8Array(), ...rest] = snapshotPieces(fold, 300);
      const reader = new SnapshotReader(head);
      for (const piece of rest) reader.add(piece);
      for (const each of [fold, reader.fold]) expect(each.initialMetadata).toEqual(metadata ?? {});
    }
  });

  it("gives views that later entries do not change", () => {
    fc.assert(
      fc.property(log, fc.nat(), (entries, seed) => {
        const cut = 1 + (seed % entries.length);
        const fold = foldAll(entries.slice(0, cut));
        const view = viewTask(fold.task);
        const before = clone(TaskSchema, view);
        foldAll(entries.slice(cut), fold);
        expect(equals(TaskSchema, view, before)).toBe(true);
      }),
    );
  });

  it("counts the generation by created, status and artifact entries alone", () => {
    fc.assert(
      fc.property(log, (entries) => {
        const visible: unknown[] = ["created", "status", "artifact"];
        const events = entries.filter((entry) => visible.includes(entry.event.case)).length;
        expect(foldAll(entries).generation).toBe(events);
      }),
    );
  });

  it("counts messages since the last generation as snapshots of before steps tell them", () => {
    fc.assert(
      fc.property(log, (entries) => {
        const isOld = ({ event }: LogEntry): boolean => event.case !== "step" && event.case !== "note";
        const old = entries.filter(isOld).map((entry, index) => ({ ...entry, position: index + 1 }));
        const fold = foldAll(old);
        const { messagesSince } = fold;
        fold.generationPosition = 0;
        expect(decodeSnapshot(encodeSnapshot(fold)).messagesSince).toBe(messagesSince);
      }),
    );
  });

  it("refuses an entry that does not follow the last one", () => {
    const [entries] = fc.sample(log, 1);
    const fold = foldAll(entries ?? []);
    expect(() => fold.apply(entries![0]!)).toThrow(RangeError);
  });
});

describe("viewTask()", () => {
  it("keeps the newest messages in order, none for 0 and all when unset (SRV-HIST-01..05)", () => {
    fc.assert(
      fc.property(log, fc.nat({ max: 50 }), (entries, length) => {
        const { task } = foldAll(entries);
        const ids = (view: Task) => view.history.map((m) => m.messageId);
        const all = ids(viewTask(task));
        expect(all).toEqual(task.history.map((m) => m.messageId));
        expect(ids(viewTask(task, { historyLength: length }))).toEqual(length === 0 ? [] : all.slice(-length));
        expect(viewTask(task, { artifacts: false }).artifacts).toEqual([]);
      }),
    );
  });
});
