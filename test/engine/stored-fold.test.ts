import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, type Snapshot, SnapshotSchema, TurnContextSchema } from "../../gen/parley/log/v1/log_pb.js";
import { foldStored } from "../../src/engine/log/fold-stored.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { decodeEntry, encodeEntry, millisOf, stateAfter } from "../../src/task/entry.js";
import { TaskFold } from "../../src/task/fold.js";
import { snapshotPieces } from "../../src/task/snapshot.js";
import { scaled } from "../support/soak.js";
import { log } from "../task/arbitraries.js";
import { reference } from "../task/reference.js";
import { isSlow, stores } from "./stores.js";

/** Stores a log in appends of the given sizes, with a snapshot after the marked ones. */
async function keep(
  store: TaskStore,
  taskId: string,
  entries: readonly LogEntry[],
  cuts: readonly Cut[],
): Promise<void> {
  const fold = new TaskFold();
  let [state, statusTime] = [0, 0];
  for (let at = 0, round = 0; at < entries.length; round++) {
    const { size, snapshot } = cuts[round % cuts.length] ?? { size: 1, snapshot: 0 };
    const piece = entries.slice(at, at + size);
    for (const entry of piece) {
      fold.apply(entry);
      const next = stateAfter(entry.event);
      if (next !== undefined) [state, statusTime] = [next, millisOf(entry.time)];
    }
    const { position, generation } = fold;
    const place = { taskId, tenant: "", owner: "", contextId: "context", lease: null };
    const head = { ...place, state, statusTime, position, generation };
    await store.append({ head, expected: at, creates: at === 0, entries: piece.map(encodeEntry) });
    const pieces = snapshot > 0 ? [...snapshotPieces(fold, snapshot)] : [];
    for (const [piece, bytes] of pieces.entries()) {
      await store.saveSnapshot({ taskId, snapshot: { position, bytes, piece, last: piece === pieces.length - 1 } });
    }
    at += piece.length;
  }
}

interface Cut {
  readonly size: number;
  /** Size of the snapshot's pieces in bytes, or 0 for no snapshot. */
  readonly snapshot: number;
}

const cuts = fc.array(fc.record({ size: fc.integer({ min: 1, max: 9 }), snapshot: fc.constantFrom(0, 300, 100_000) }), {
  minLength: 1,
  maxLength: 6,
});

describe.each(stores)("a log in the %s store", { timeout: 60_000 }, (_name, open) => {
  it("folds to what the reference says, however it was cut and wherever snapshots lie (SRV-STRM-18)", async () => {
    const store = open();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(log, cuts, async (entries, pieces) => {
        const taskId = `t${run++}`;
        await keep(store, taskId, entries, pieces);
        const folded = await foldStored(store, taskId);
        if (folded === undefined) throw new Error("the task is not there");
        expect(equals(TaskSchema, folded.fold.task, reference(entries))).toBe(true);
        const last = entries.at(-1);
        expect([folded.fold.position, folded.fold.generation]).toEqual([last?.position, last?.generation]);
        const stored = await store.read({ taskId, after: 0, limit: 1_000 });
        expect(equals(TaskSchema, reference(stored.map(decodeEntry)), reference(entries))).toBe(true);
      }),
      { numRuns: isSlow ? scaled(10, 20) : scaled(50, 100) },
    );
  });

  it("knows the first request's metadata, also from a snapshot of before it was kept", async () => {
    const store = open();
    const [entries = []] = fc.sample(log, 1);
    const [first, ...more] = entries;
    const turn = create(TurnContextSchema, { metadata: { plan: "gold" } });
    for (const isKept of [true, false]) {
      const taskId = `kept-${isKept}`;
      await keep(store, taskId, [{ ...first!, turn }, ...more], [{ size: entries.length, snapshot: 100_000 }]);
      if (!isKept) {
        const { snapshot } = (await store.load({ taskId }))!;
        const older = { ...fromBinary(SnapshotSchema, snapshot!.bytes), firstMetadata: undefined };
        const bytes = toBinary(SnapshotSchema, older as Snapshot);
        await store.saveSnapshot({ taskId, snapshot: { position: snapshot!.position, bytes, piece: 0, last: true } });
      }
      expect((await foldStored(store, taskId))?.fold.initialMetadata).toEqual({ plan: "gold" });
    }
  });
});
