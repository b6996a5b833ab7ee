import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { timestampOf } from "../../src/task/entry.js";
import { TaskFold } from "../../src/task/fold.js";
import { SnapshotReader, snapshotPieces } from "../../src/task/snapshot.js";
import { log } from "./arbitraries.js";

const parts = (text: string) => [{ content: { case: "text", value: text } as const }];

/** An event in a task: a message of the client, a status of the agent, or a piece of an artifact. */
type Happening =
  | { says: string }
  | { status: TaskState; text?: string; answers?: number; id?: string }
  | { artifact: string; text: string };

function logOf(happenings: readonly Happening[], timeOf = (position: number): number => position): LogEntry[] {
  return happenings.map((each, index) => {
    const position = index + 1;
    const answers = "status" in each ? (each.answers ?? 0) : 0;
    const fields = { position, generation: position, time: timestampOf(timeOf(position)), answers };
    return create(LogEntrySchema, { ...fields, event: eventOf(each, position) });
  });
}

function eventOf(each: Happening, position: number): LogEntry["event"] {
  const messageId = `m${position}`;
  if ("says" in each) {
    const message = { messageId, parts: parts(each.says) };
    if (position > 1) return { case: "message", value: message as never };
    const task = { id: "t", status: { state: TaskState.SUBMITTED }, history: [message] };
    return { case: "created", value: task as never };
  }
  if ("artifact" in each) {
    const artifact = { artifactId: each.artifact, parts: parts(each.text), extensions: [] };
    return { case: "artifact", value: { artifact, append: true } as never };
  }
  const message = each.text === undefined ? undefined : { messageId: each.id ?? messageId, parts: parts(each.text) };
  return { case: "status", value: { status: { state: each.status, message } } as never };
}

function foldOf(entries: readonly LogEntry[], fold = new TaskFold()): TaskFold {
  for (const entry of entries) fold.apply(create(LogEntrySchema, entry));
  return fold;
}

/** The texts of a talk. */
function told({ talk, task }: { talk: TaskFold["talk"]; task: Task }): string[] | undefined {
  return talk?.of(task).map(({ content }) => content.parts.map((part) => String(part.content.value)).join(""));
}

const { WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;

describe("the talk of a task", () => {
  it("has messages, questions, the final text and artifacts at their last change, but no progress", () => {
    const entries = logOf([
      { says: "hello" },
      { status: WORKING, text: "on it" },
      { artifact: "a", text: "x" },
      { artifact: "b", text: "y" },
      { status: INPUT_REQUIRED, text: "which?", answers: 1 },
      { says: "that" },
      { status: WORKING },
      { artifact: "a", text: "z" },
      { status: COMPLETED, text: "done" },
    ]);
    expect(told(foldOf(entries))).toEqual(["hello", "y", "which?", "that", "xz", "done"]);
    // The second turn's output so far is not part of the talk yet.
    expect(told(foldOf(entries.slice(0, 8)))).toEqual(["hello", "y", "which?", "that"]);
    expect(told(foldOf(entries.slice(0, 4)))).toEqual(["hello"]);
  });

  it("has a message that waited for its turn behind what the turn before said", () => {
    const entries = logOf([
      { says: "one" },
      { says: "two" },
      { says: "three" },
      { status: INPUT_REQUIRED, text: "1?", answers: 1 },
      { status: INPUT_REQUIRED, text: "2?", answers: 2 },
      { status: COMPLETED, text: "3" },
    ]);
    expect(told(foldOf(entries.slice(0, 4)))).toEqual(["one", "1?", "two", "three"]);
    expect(told(foldOf(entries))).toEqual(["one", "1?", "two", "2?", "three", "3"]);
    const times = foldOf(entries)
      .talk?.of(foldOf(entries).task)
      .map(({ ms }) => ms);
    expect(times).toEqual([1, 4, 4, 5, 5, 6]);
  });

  it("has a question once that is repeated, as metadata after it does", () => {
    const question = { status: INPUT_REQUIRED, text: "1?", answers: 1, id: "q" };
    const entries = logOf([{ says: "one" }, question, question, { says: "two" }, question, { says: "three" }]);
    expect(told(foldOf(entries.slice(0, 3)))).toEqual(["one", "1?"]);
    expect(told(foldOf(entries))).toEqual(["one", "1?", "two", "three"]);
  });

  it("never goes back in time, whatever the clocks say", () => {
    const entries = logOf(
      [{ says: "a" }, { status: INPUT_REQUIRED, text: "b", answers: 1 }, { says: "c" }],
      (at) => 9 - at,
    );
    const fold = foldOf(entries);
    expect(fold.talk?.of(fold.task).map(({ ms }) => ms)).toEqual([8, 8, 8]);
  });

  it("is the same from a snapshot anywhere in the log, in pieces or not", () => {
    fc.assert(
      fc.property(log, fc.nat(), fc.integer({ min: 1, max: 4_000 }), (entries, cut, maxBytes) => {
        const at = cut % (entries.length + 1);
        const whole = foldOf(entries);
        if (at === 0) return;
        const [first = new Uint8Array(), ...rest] = snapshotPieces(foldOf(entries.slice(0, at)), maxBytes);
        const reader = new SnapshotReader(first);
        for (const piece of rest) reader.add(piece);
        const fold = foldOf(entries.slice(at), reader.fold);
        expect(fold.talk?.of(fold.task)).toEqual(whole.talk?.of(whole.task));
        expect(fold.talk?.ended).toBe(whole.talk?.ended);
      }),
    );
  });

  it("is unknown to an outline, and from a snapshot of before it was kept", () => {
    const fold = foldOf(logOf([{ says: "a" }]));
    expect(fold.outline().talk).toBeUndefined();
    fold.talk = undefined;
    const [bytes = new Uint8Array()] = snapshotPieces(fold);
    expect(new SnapshotReader(bytes).fold.talk).toBeUndefined();
  });
});
