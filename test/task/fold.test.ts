import { clone, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { decodeEntry, encodeEntry } from "../../src/task/entry.js";
import { decodeSnapshot, encodeSnapshot, TaskFold, viewTask } from "../../src/task/fold.js";
import { log } from "./arbitraries.js";
import { reference } from "./reference.js";

function foldAll(entries: readonly LogEntry[], fold = new TaskFold()): TaskFold {
  for (const entry of entries) fold.apply(entry);
  return fold;
}

describe("TaskFold", () => {
  it("equals the reference for any legal log (SRV-STRM-18, SRV-CTX-16)", () => {
    fc.assert(
      fc.property(log, (entries) => {
        expect(equals(TaskSchema, foldAll(entries).task, reference(entries))).toBe(true);
      }),
    );
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
        expect([whole.position, whole.generation, whole.statusPosition]).toEqual([
          direct.position,
          direct.generation,
          direct.statusPosition,
        ]);
      }),
    );
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
        const events = entries.filter((entry) => entry.event.case !== "message").length;
        expect(foldAll(entries).generation).toBe(events);
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
