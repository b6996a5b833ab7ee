import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type Message,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentMessage, artifactOf } from "../../src/agent/message.js";
import { ClientFold } from "../../src/client/follow/fold.js";
import type { Update } from "../../src/task/answer.js";
import type { PartInput } from "../../src/task/message-input.js";
import { dataOf, filesOf, partsOf, textOf } from "../../src/task/plain.js";
import { RESUME_EXTENSION } from "../../src/wire/service-params.js";

const place = { taskId: "t", contextId: "c" };
const one = { file: { url: "https://a.example/1" } };
const two = { file: { url: "https://a.example/2" } };

const event = (payload: MessageInitShape<typeof StreamResponseSchema>["payload"]): StreamResponse =>
  create(StreamResponseSchema, { payload: payload! });

const status = (parts: readonly PartInput[], metadata = {}, message = agentMessage(parts, place)): StreamResponse =>
  event({ case: "statusUpdate", value: { ...place, status: { state: TaskState.WORKING, message }, metadata } });

const piece = (parts: readonly PartInput[], append = true): StreamResponse =>
  event({ case: "artifactUpdate", value: { ...place, append, artifact: artifactOf({ parts }, "a") } });

const taskOf = (parts: readonly PartInput[], more: { history?: Message[]; metadata?: JsonObject } = {}): Task =>
  create(TaskSchema, {
    id: "t",
    contextId: "c",
    status: create(TaskStatusSchema, { state: TaskState.WORKING }),
    artifacts: [artifactOf({ parts }, "a")],
    ...more,
  });

const values = (update: Update | undefined): unknown[] | undefined =>
  update && [update.text, [...update.data], [...update.files]];

describe("an update", () => {
  it("has the data and files that it adds, as plain values", () => {
    const fold = new ClientFold();
    const seen = (next: StreamResponse): unknown[] | undefined => values(fold.take(next));
    expect(seen(event({ case: "task", value: taskOf([{ text: "a" }, one, { data: 1 }]) }))).toEqual([
      "a",
      [1],
      [one.file],
    ]);
    expect(seen(status([{ text: "b" }, { data: 2 }]))).toEqual(["b", [2], []]);
    expect(seen(piece([{ text: "c" }, two]))).toEqual(["c", [], [two.file]]);
    expect(seen(piece([{ data: null }]))).toEqual(["", [null], []]);
    // The agent sends the whole artifact again, and then replaces it.
    expect(seen(piece([{ text: "ac" }, one, { data: 1 }, two, { data: null }, { data: 3 }], false))).toEqual([
      "",
      [3],
      [],
    ]);
    expect(seen(piece([{ text: "d" }, two], false))).toEqual(["d", [], [two.file]]);
  });

  it("has of a task that was read again what is new", () => {
    const fold = new ClientFold();
    fold.take(event({ case: "task", value: taskOf([one, { text: "a" }]) }));
    const told = agentMessage([{ data: "told" }], place);
    const update = fold.takeTask(taskOf([one, { text: "a" }, two], { history: [told] }));
    expect([update?.kind, values(update)]).toEqual(["snapshot", ["", ["told"], [two.file]]]);
    expect(update && dataOf(update)).toEqual(["told"]);
  });

  it("has a message once that a task has twice", () => {
    const said = agentMessage([{ text: "a" }, { data: "said" }], place);
    const other = agentMessage([{ data: "other" }], place);
    const task = taskOf([two], { history: [said, other, said] });
    expect(values(new ClientFold().takeTask(task))).toEqual(["a", ["said", "other"], [two.file]]);
  });

  it("has nothing of a task that is known, and the parts of a direct answer", () => {
    const fold = new ClientFold();
    const begin = event({ case: "task", value: taskOf([one]) });
    expect(values(fold.takeAnswer(begin, true))).toEqual(["", [], []]);
    const parts = [{ text: "x" }, one, { text: "y" }, { data: 1 }];
    const update = new ClientFold().take(event({ case: "message", value: agentMessage(parts, place) }));
    expect(update?.parts).toEqual(parts);
    expect(update && [textOf(update), dataOf(update), filesOf(update), partsOf(update)]).toEqual([
      "x\ny",
      [1],
      [one.file],
      parts,
    ]);
  });

  it("has readable parts in its task, message and artifact", () => {
    const fold = new ClientFold();
    fold.take(event({ case: "task", value: taskOf([one], { history: [agentMessage("before", place)] }) }));
    const said = fold.take(status([{ data: 2 }]));
    const made = fold.take(piece([{ text: "c" }]));
    expect(said?.message?.parts[0]?.data).toBe(2);
    expect(made?.artifact?.parts.map(({ text, file }) => text ?? file)).toEqual([one.file, "c"]);
    expect(made?.task?.history[0]?.parts[0]?.text).toBe("before");
    expect(made?.task?.status?.message?.parts[0]?.data).toBe(2);
  });

  it("has the metadata of a task as events change it, without the generations of events", () => {
    const fold = new ClientFold();
    fold.take(event({ case: "task", value: taskOf([one], { metadata: { a: 1, b: 1 } }) }));
    const generation = { [RESUME_EXTENSION]: { generation: 2 } };
    const update = fold.take(status([{ text: "b" }], { ...generation, b: 2, c: [3] }));
    expect(update?.task?.metadata).toEqual({ a: 1, b: 2, c: [3] });
  });

  it("says a message no more that a later status repeats", () => {
    const fold = new ClientFold();
    const asked = agentMessage([{ text: "Which?" }, { data: 1 }], place);
    fold.take(event({ case: "task", value: taskOf([one]) }));
    expect(values(fold.take(status([], {}, asked)))).toEqual(["Which?", [1], []]);
    const again = fold.take(status([], { a: 1 }, structuredClone(asked)));
    expect([values(again), again?.message?.messageId]).toEqual([["", [], []], asked.messageId]);
    expect(again?.task?.history).toEqual([]);
  });
});
