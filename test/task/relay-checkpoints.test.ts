import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskArtifactUpdateEventSchema, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema, RelaySchema } from "../../gen/parley/log/v1/log_pb.js";
import { TaskFold } from "../../src/task/fold.js";
import { decodeSnapshot, encodeSnapshot, SnapshotReader, snapshotPieces } from "../../src/task/snapshot.js";

const created: LogEntry["event"] = {
  case: "created",
  value: create(TaskSchema, { id: "t", contextId: "c", history: [{ messageId: "m", parts: [] }] }),
};

/** A task that has relayed so many pieces of each of two sub-tasks by turns, and a message of each in the middle. */
function relayed(pieces: number): TaskFold {
  const fold = new TaskFold();
  fold.apply(create(LogEntrySchema, { position: 1, generation: 1, event: created }));
  for (let at = 2; at < 2 + 2 * pieces; at++) {
    const event = {
      case: "artifact" as const,
      value: create(TaskArtifactUpdateEventSchema, {
        taskId: "t",
        append: at > 3,
        artifact: { artifactId: `a${at % 2}`, parts: [{ content: { case: "text", value: "x".repeat(100) } }] },
      }),
    };
    const messageId = at === pieces || at === pieces + 1 ? `said ${at}` : "";
    const relay = create(RelaySchema, {
      delegation: String(at % 2),
      origin: 1,
      turn: 1,
      agent: "other",
      taskId: `sub ${at % 2}`,
      generation: at,
      messageId,
    });
    fold.apply(create(LogEntrySchema, { position: at, generation: at, event, relay }));
  }
  return fold;
}

const marksOf = ({ relays }: TaskFold): unknown[] =>
  (relays?.all() ?? []).map(({ position, relay }) => [position, relay.taskId, relay.messageId]);

describe("what a fold keeps of other agents' tasks", () => {
  it("is the newest entry of each sub-task, and those with a message, however many there are", () => {
    for (const pieces of [10, 2_000]) {
      expect(marksOf(relayed(pieces))).toEqual([
        [pieces, `sub ${pieces % 2}`, `said ${pieces}`],
        [pieces + 1, `sub ${(pieces + 1) % 2}`, `said ${pieces + 1}`],
        [2 * pieces, "sub 0", ""],
        [2 * pieces + 1, "sub 1", ""],
      ]);
    }
  });

  it.each([10, 5_000])("is in its snapshot (%d pieces)", (pieces) => {
    const fold = relayed(pieces);
    const [first = new Uint8Array(), ...rest] = snapshotPieces(fold);
    const reader = new SnapshotReader(first);
    for (const piece of rest) reader.add(piece);
    expect(reader.fold.knowsRelays).toBe(true);
    expect(marksOf(reader.fold)).toEqual(marksOf(fold));
  });

  it("is not known from a snapshot that does not say it", () => {
    const fold = relayed(10);
    fold.knowsRelays = false;
    const read = decodeSnapshot(encodeSnapshot(fold));
    expect([read.knowsRelays, read.relays]).toEqual([false, undefined]);
    expect(read.state).toBe(TaskState.UNSPECIFIED);
  });
});
