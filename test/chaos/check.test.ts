import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { check, type History, type Rule, rules } from "./check.js";
import type { Effect, FinalTask, Note, Noted } from "./records.js";

let clock = 0;

function noted(note: Note, client = "one"): Noted {
  return { client, at: ++clock, wall: 0, ...note };
}

function status(state: string, text = ""): JsonObject {
  const message = text === "" ? {} : { message: { parts: [{ text }] } };
  return { statusUpdate: { taskId: "t", status: { state: `TASK_STATE_${state}`, ...message } } };
}

function piece(text: string): JsonObject {
  return { artifactUpdate: { taskId: "t", artifact: { artifactId: "m", parts: [{ text }] } } };
}

const log = [
  status("WORKING", "m 1 p1 begin"),
  piece("m 1 p1 1"),
  piece("m 1 p1 2"),
  status("WORKING", "m 2 p2 begin"),
  piece("m 2 p2 1"),
  piece("m 2 p2 2"),
  piece("m 2 p2 3 2-x"),
  status("COMPLETED", "m 2 p2 done"),
];

const interleaved = [
  status("WORKING", "m 1 p1 begin"),
  status("WORKING", "m 1 p2 begin"),
  piece("m 1 p2 1"),
  piece("m 1 p1 1"),
  status("COMPLETED", "m 1 p2 done"),
];

function numbered(events: readonly JsonObject[]): [number, JsonObject][] {
  return events.map((event, i) => [i + 2, event]);
}

function task(more: Partial<FinalTask> = {}): FinalTask {
  const events = more.events ?? numbered(log);
  return {
    ...{ id: "t", context: "m", state: "TASK_STATE_COMPLETED", generation: events.length + 1 },
    ...{ messages: ["m"], disagreeing: [], events, ...more },
  };
}

function event(generation: number, reader = "r", seen = log[generation - 2] as JsonObject): Noted {
  return noted({ kind: "event", task: "t", generation, reader, event: seen });
}

function shown(generation: number, state: string, more: { reader?: string; asked?: number } = {}): Noted {
  return noted({ kind: "task", task: "t", generation, state: `TASK_STATE_${state}`, asked: clock + 0.5, ...more });
}

function acknowledged(of = "t"): Noted {
  return noted({ kind: "acknowledged", message: "m", task: of });
}

function effect(attempt: number, holder = "a", step = "3"): Effect {
  return { task: "t", message: "m", attempt, step, value: `${attempt}-x`, holder, at: 0 };
}

function history(more: Partial<History> = {}): History {
  return { notes: [], effects: [], tasks: [task()], ...more };
}

/** A history in which everything is as it has to be. */
function sound(): History {
  return history({
    notes: [
      noted({ kind: "sent", message: "m" }),
      acknowledged(),
      acknowledged(),
      shown(1, "SUBMITTED"),
      shown(1, "SUBMITTED", { reader: "r" }),
      ...[2, 3, 4].map((at) => event(at)),
      // Whoever resumes is told the state of now.
      shown(4, "COMPLETED", { reader: "r" }),
      ...[5, 6, 7, 8, 9].map((at) => event(at)),
      shown(9, "COMPLETED"),
      noted({ kind: "failed", call: "GetTask", why: "UNAVAILABLE", where: "one" }),
    ],
    // The first attempt was stopped in its step, and went on with it after its task was taken over.
    effects: [effect(1), effect(2, "b")],
  });
}

const without = (index: number): [number, JsonObject][] => numbered(log).filter((_, i) => i !== index);
const replaced = (index: number, other: JsonObject): [number, JsonObject][] => numbered(log.with(index, other));

/** Histories that break one rule, at times several ways of breaking it. */
const planted: readonly (readonly [rule: Rule, what: string, history: () => History])[] = [
  ["acknowledged messages are kept", "its task is gone", () => history({ notes: [acknowledged()], tasks: [] })],
  [
    "acknowledged messages are kept",
    "it is not in its task",
    () => history({ notes: [acknowledged()], tasks: [task({ messages: [] })] }),
  ],
  [
    "acknowledged messages are kept",
    "it is in its task twice",
    () => history({ notes: [acknowledged()], tasks: [task({ messages: ["m", "m"] })] }),
  ],
  [
    "acknowledged messages are kept",
    "a server does not know its task",
    () => history({ notes: [noted({ kind: "missing", task: "t", where: "two" })] }),
  ],
  [
    "messages are heard once",
    "no turn began",
    () => history({ notes: [acknowledged()], tasks: [task({ events: numbered([status("COMPLETED")]) })] }),
  ],
  [
    "messages are heard once",
    "an attempt began twice",
    () =>
      history({ notes: [acknowledged()], tasks: [task({ events: replaced(4, status("WORKING", "m 2 p2 begin")) })] }),
  ],
  [
    "a message is one task",
    "two answers name two",
    () => history({ notes: [acknowledged(), acknowledged("u")], tasks: [task(), task({ id: "u", context: "n" })] }),
  ],
  ["a message is one task", "nobody was told of the second", () => history({ tasks: [task(), task({ id: "u" })] })],
  ["events are kept", "one is another now", () => history({ notes: [event(3, "r", piece("m 1 p1 other"))] })],
  ["events are kept", "one is gone", () => history({ notes: [event(10, "r", piece("m 2 p2 4"))] })],
  ["events are kept", "a state that was read is gone", () => history({ notes: [shown(12, "WORKING")] })],
  ["events are kept", "its task is gone", () => history({ notes: [event(2)], tasks: [] })],
  ["generations have no gap", "a reader misses one", () => history({ notes: [event(2), event(4)] })],
  ["generations have no gap", "a reader is given one twice", () => history({ notes: [event(2), event(2)] })],
  [
    "generations have no gap",
    "a stream resumes at another place",
    () => history({ notes: [event(2), shown(3, "WORKING", { reader: "r" })] }),
  ],
  ["generations have no gap", "the log misses one", () => history({ tasks: [task({ events: without(5) })] })],
  ["generations have no gap", "the log ends before the task", () => history({ tasks: [task({ generation: 10 })] })],
  [
    "generations have one event",
    "two readers are given two",
    () => history({ notes: [event(3), event(3, "s", piece("m 1 p1 other"))] }),
  ],
  [
    "states that end stay",
    "it was another",
    () =>
      history({ notes: [noted({ kind: "task", task: "t", generation: 9, state: "TASK_STATE_CANCELED", asked: 0 })] }),
  ],
  ["states that end stay", "the task went on", () => history({ notes: [shown(8, "COMPLETED")] })],
  [
    "states that end stay",
    "the log goes on",
    () => history({ tasks: [task({ events: numbered([...log, piece("m 2 p2 4")]) })] }),
  ],
  ["reads do not go back", "a later answer is older", () => history({ notes: [event(5), shown(4, "WORKING")] })],
  [
    "turns do not overlap",
    "an attempt goes on after the next one began",
    () => history({ tasks: [task({ events: replaced(5, piece("m 1 p1 3")) })] }),
  ],
  [
    "turns do not overlap",
    "a turn goes on after the next message's began",
    () => history({ tasks: [task({ messages: ["m", "n"], events: replaced(3, status("WORKING", "n 1 p1 begin")) })] }),
  ],
  [
    "turns do not overlap",
    "a process goes on after the next one began, in the same attempt",
    () => history({ tasks: [task({ events: numbered(interleaved) })] }),
  ],
  [
    "attempts have one holder",
    "two ran it at once",
    () => history({ effects: [effect(1), effect(1, "b", "6"), effect(1, "a", "9")] }),
  ],
  ["steps are not redone", "a later attempt did it again", () => history({ effects: [effect(2), effect(3, "b")] })],
  [
    "pieces are complete",
    "one is missing",
    () => history({ tasks: [task({ events: replaced(5, piece("m 2 p2 7")) })] }),
  ],
  [
    "pieces are complete",
    "one is there twice",
    () => history({ tasks: [task({ events: replaced(5, piece("m 2 p2 1")) })] }),
  ],
  ["nothing is stuck", "a task works", () => history({ tasks: [task({ state: "TASK_STATE_WORKING" })] })],
  ["servers agree", "one shows another task", () => history({ tasks: [task({ disagreeing: ["two"] })] })],
  ["answers are sound", "one is wrong", () => history({ notes: [noted({ kind: "wrong", why: "INVALID_ARGUMENT" })] })],
];

describe("the checker of chaos", () => {
  it("finds nothing in a history in which everything is as it has to be", () => {
    expect(check(sound())).toEqual([]);
  });

  it.each(planted)("finds that %s is broken when %s", (rule, _, make) => {
    expect(check(make()).map((found) => found.rule)).toContain(rule);
  });

  it("has a planted violation of every rule", () => {
    expect([...new Set(planted.map(([rule]) => rule))].sort()).toEqual([...rules].sort());
  });

  it("lets a turn be repeated under the same attempt by another process, as after an orderly restart", () => {
    const events = numbered(interleaved.filter((_, i) => i !== 3));
    expect(check(history({ notes: [acknowledged()], tasks: [task({ events })] }))).toEqual([]);
  });

  it("lets a message be unheard whose task was canceled before", () => {
    const events = numbered([status("CANCELED")]);
    const canceled = task({ state: "TASK_STATE_CANCELED", events });
    expect(check(history({ notes: [acknowledged()], tasks: [canceled] }))).toEqual([]);
  });

  it("lets a read that began before an event show what was before it", () => {
    const asked = clock;
    expect(check(history({ notes: [event(5), shown(4, "WORKING", { asked })] }))).toEqual([]);
  });
});
