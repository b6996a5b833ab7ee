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

/** A task whose work a sub-task does, with the pieces that it relays. */
function parent(...relayed: readonly JsonObject[]): FinalTask {
  const events = [status("WORKING", "p 1 p1 begin"), ...relayed, status("COMPLETED", "p 1 p1 done")];
  return task({ id: "p", context: "p", messages: ["p"], events: numbered(events) });
}

function relayedPiece(text: string): JsonObject {
  return { artifactUpdate: { taskId: "p", artifact: { artifactId: "sub.peer/m", parts: [{ text }] } } };
}

function relayedStatus(text: string, taskId: string): JsonObject {
  const message = { parts: [{ text }], metadata: { "urn:parley:ext:delegation:v1": { agent: "peer", taskId } } };
  return { statusUpdate: { taskId: "p", status: { state: "TASK_STATE_WORKING", message } } };
}

const subPieces = ["m 1 p1 1", "m 1 p1 2", "m 2 p2 1", "m 2 p2 2", "m 2 p2 3 2-x"].map(relayedPiece);
const relaying = [relayedStatus("m 1 p1 begin", "t"), ...subPieces];
const sub = (): FinalTask => task({ parent: "p" });

/** A note that a webhook received a generation, and when. */
function notified(generation: number, begun: number, at: number, more: Partial<Notified> = {}): Noted {
  const body = generation === 1 ? { task: { id: "t" } } : (log[generation - 2] as JsonObject);
  const what = { hook: "h", id: `t ${generation}`, generation, begun, status: 204, from: "a", body, ...more };
  return { ...noted({ kind: "notified", ...what }), at };
}

type Notified = Extract<Note, { kind: "notified" }>;

/** All notifications of a webhook, one after the other. */
function allNotified(): Noted[] {
  return Array.from({ length: 9 }, (_, i) => notified(i + 1, 100 * i, 100 * i + 50));
}

const hooked = (): Noted => noted({ kind: "hooked", hook: "h", task: "t" });

/** A history with records that a failover lost, and the times in which it may lose some. */
function failedOver(losses: NonNullable<History["losses"]>, tasks: readonly FinalTask[] = [task()]): History {
  const at = (note: Noted, when: number): Noted => ({ ...note, at: when });
  const seen = [
    at(acknowledged("gone"), 1_000),
    at(noted({ kind: "task", task: "gone", generation: 4, state: "TASK_STATE_COMPLETED", asked: 990 }), 1_010),
    at(noted({ kind: "missing", task: "gone", where: "two" }), 2_500),
    at(acknowledged(), 3_000),
    at(event(9, "r", piece("m 2 p2 other")), 1_020),
    at(noted({ kind: "task", task: "t", generation: 12, state: "TASK_STATE_WORKING", asked: 1_025 }), 1_030),
    at(noted({ kind: "task", task: "t", generation: 8, state: "TASK_STATE_WORKING", asked: 2_600 }), 2_610),
  ];
  return history({ notes: seen, tasks, losses });
}

function history(more: Partial<History> = {}): History {
  return { notes: [], effects: [], tasks: [task()], ...more };
}

/** A history without violations. */
function sound(): History {
  return history({
    notes: [
      noted({ kind: "sent", message: "m" }),
      acknowledged(),
      acknowledged(),
      shown(1, "SUBMITTED"),
      shown(1, "SUBMITTED", { reader: "r" }),
      ...[2, 3, 4].map((at) => event(at)),
      // A stream that resumes begins with the current state.
      shown(4, "COMPLETED", { reader: "r" }),
      ...[5, 6, 7, 8, 9].map((at) => event(at)),
      shown(9, "COMPLETED"),
      noted({ kind: "failed", call: "GetTask", why: "UNAVAILABLE", where: "one" }),
      hooked(),
      ...allNotified(),
      // The sender did not know that this notification had been accepted.
      notified(9, 900, 950),
    ],
    tasks: [task(), parent(relayedStatus("u 1 p1 begin", "u"), relayedPiece("u 1 p1 1")), other()],
    leaseMs: 1_000,
    // The first process was stopped in its step. It continued the step after another process had taken over the task.
    effects: [effect(1), effect(2, "b")],
  });
}

function other(): FinalTask {
  const events = [status("WORKING", "u 1 p1 begin"), { artifactUpdate: piecesOfOther }, status("COMPLETED")];
  return task({ id: "u", context: "u", messages: ["u"], parent: "p", events: numbered(events) });
}

const piecesOfOther = { taskId: "u", artifact: { artifactId: "u", parts: [{ text: "u 1 p1 1" }] } };

const without = (index: number): [number, JsonObject][] => numbered(log).filter((_, i) => i !== index);
const replaced = (index: number, other: JsonObject): [number, JsonObject][] => numbered(log.with(index, other));

/** Histories that each break one rule, some of them in several ways. */
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
      history({ notes: [acknowledged()], tasks: [task({ events: replaced(3, status("WORKING", "m 1 p1 begin")) })] }),
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
  [
    "delegations are one sub-task",
    "another one was begun",
    () => history({ tasks: [parent(...relaying), sub(), task({ id: "u", context: "u", parent: "p" })] }),
  ],
  [
    "delegations are one sub-task",
    "events of another one are relayed",
    () => history({ tasks: [parent(...relaying, relayedStatus("x", "u")), sub()] }),
  ],
  [
    "sub-tasks are relayed once",
    "a piece is missing",
    () => history({ tasks: [parent(...relaying.slice(0, -1)), sub()] }),
  ],
  [
    "sub-tasks are relayed once",
    "a piece comes twice",
    () => history({ tasks: [parent(...relaying.toSpliced(2, 0, relaying[1] as JsonObject)), sub()] }),
  ],
  ["sub-tasks are relayed once", "the sub-task is gone", () => history({ tasks: [parent(...relaying)] })],
  ["webhooks get every event", "one never came", () => history({ notes: [hooked(), ...allNotified().slice(0, -1)] })],
  [
    "webhooks get every event",
    "one was not accepted",
    () => history({ notes: [hooked(), ...allNotified().with(8, notified(9, 800, 850, { status: 500 }))] }),
  ],
  [
    "webhooks get every event",
    "one is another than in the log",
    () => history({ notes: [hooked(), ...allNotified().with(3, notified(4, 300, 350, { body: status("WORKING") }))] }),
  ],
  [
    "webhooks get events in order",
    "one comes before the one before it",
    () => history({ notes: [notified(1, 0, 50), notified(3, 100, 150), notified(2, 200, 250)] }),
  ],
  [
    "webhooks get events in order",
    "one comes while the one before it was refused",
    () => history({ notes: [notified(1, 0, 50, { status: 500 }), notified(2, 100, 150)] }),
  ],
  [
    "webhooks get events in order",
    "one comes again under another id",
    () => history({ notes: [notified(1, 0, 50), notified(1, 100, 150, { id: "u" })] }),
  ],
  [
    "webhooks have one sender",
    "two send at once",
    () => history({ notes: [notified(1, 0, 900), notified(1, 500, 600, { from: "b" })], leaseMs: 1_000 }),
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

  it("lets a process repeat the second attempt, as after an orderly restart and an outage", () => {
    const events = numbered([...log.slice(0, 5), ...log.slice(3)]);
    expect(check(history({ notes: [acknowledged()], tasks: [task({ events })] }))).toEqual([]);
    const again = numbered([...log.slice(0, 5), ...log.slice(3, 5), ...log.slice(3)]);
    const found = check(history({ notes: [acknowledged()], tasks: [task({ events: again })] }));
    expect(found.map(({ rule }) => rule)).toContain("messages are heard once");
  });

  it("reads no attempt in the text of a failed sub-task", () => {
    const failed = status("FAILED", "The agent peer could not do its part: INTERNAL.");
    const events = numbered([...log.slice(0, 2), failed]);
    const state = "TASK_STATE_FAILED";
    expect(check(history({ notes: [acknowledged()], tasks: [task({ events, state })] }))).toEqual([]);
  });

  it("lets a turn be repeated under the same attempt by another process, as after an orderly restart", () => {
    const events = numbered(interleaved.filter((_, i) => i !== 3));
    expect(check(history({ notes: [acknowledged()], tasks: [task({ events })] }))).toEqual([]);
  });

  it("lets another process send when the lease of the first may be over, or its network was disturbed", () => {
    const late = notified(1, 700, 800, { from: "b" });
    expect(check(history({ notes: [notified(1, 0, 900), late], leaseMs: 1_000 }))).toEqual([]);
    const disturbed = { ...noted({ kind: "disturbed", address: "b", begun: 0 }), at: 300 };
    const early = notified(1, 500, 600, { from: "b" });
    expect(check(history({ notes: [notified(1, 0, 900), early, disturbed], leaseMs: 1_000 }))).toEqual([]);
  });

  it("allows an asynchronous failover to lose writes that were acknowledged right before it", () => {
    expect(check(failedOver([{ from: 900, to: 2_000 }]))).toEqual([]);
  });

  it.each<readonly [Rule, NonNullable<History["losses"]>]>([
    ["acknowledged messages are kept", []],
    ["acknowledged messages are kept", [{ from: 1_005, to: 2_000 }]],
    ["events are kept", [{ from: 900, to: 1_015 }]],
    ["reads do not go back", []],
    ["a message is one task", []],
  ])("finds that %s is broken when it was lost outside of %j", (rule, losses) => {
    expect(check(failedOver(losses)).map((found) => found.rule)).toContain(rule);
  });

  it("allows a message without a turn if its task was canceled before", () => {
    const events = numbered([status("CANCELED")]);
    const canceled = task({ state: "TASK_STATE_CANCELED", events });
    expect(check(history({ notes: [acknowledged()], tasks: [canceled] }))).toEqual([]);
  });

  it("allows a read that began before an event to lack that event", () => {
    const asked = clock;
    expect(check(history({ notes: [event(5), shown(4, "WORKING", { asked })] }))).toEqual([]);
  });
});
