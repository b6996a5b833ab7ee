import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ClientFold } from "../../src/client/follow/fold.js";
import type { Update } from "../../src/task/answer.js";
import { RESUME_EXTENSION } from "../../src/wire/service-params.js";

const place = { taskId: "t", contextId: "c" };
const said = (messageId: string, text: string, role = Role.AGENT) => ({
  messageId,
  role,
  parts: [{ content: { case: "text" as const, value: text } }],
});

const task = { id: "t", contextId: "c", status: { state: TaskState.WORKING } };

function taskOf(more: Omit<MessageInitShape<typeof TaskSchema>, "$typeName"> = {}): Task {
  return create(TaskSchema, { ...task, ...more });
}

const begin = (task: Task): StreamResponse => create(StreamResponseSchema, { payload: { case: "task", value: task } });

function piece(text: string, append: boolean, generation?: number): StreamResponse {
  const artifact = { artifactId: "a", parts: [{ content: { case: "text" as const, value: text } }] };
  const metadata = generation === undefined ? {} : { metadata: { [RESUME_EXTENSION]: { generation } } };
  const value = { ...place, artifact, append, ...metadata };
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

function status(state: TaskState, message?: ReturnType<typeof said>): StreamResponse {
  const value = { ...place, status: { state, ...(message && { message }) } };
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
}

describe("ClientFold", () => {
  it("adds an event to the task that is there, and copies nothing of it", () => {
    const fold = new ClientFold();
    const first = fold.take(begin(taskOf())) as Update;
    const one = fold.take(piece("one ", false)) as Update;
    const parts = one.artifact?.parts;
    const two = fold.take(piece("two ", true)) as Update;
    expect(two.task).toBe(first.task);
    expect(two.artifact).toBe(one.artifact);
    expect(two.artifact?.parts).toBe(parts);
    expect([one.text, two.text]).toEqual(["one ", "two "]);
  });

  it("says of an artifact that comes whole what it adds to its pieces", () => {
    const texts = (...events: StreamResponse[]): string[] => {
      const fold = new ClientFold();
      fold.take(begin(taskOf()));
      return events.map((event) => fold.take(event)?.text ?? "");
    };
    expect(texts(piece("one ", false), piece("two", true), piece("one two", false))).toEqual(["one ", "two", ""]);
    expect(texts(piece("one ", true), piece("one two", false), piece("one two three", false))).toEqual([
      "one ",
      "two",
      " three",
    ]);
    // A new text replaces the previous one.
    expect(texts(piece("draft", false), piece("final", false))).toEqual(["draft", "final"]);
  });

  it("keeps the state that ended the task", () => {
    const fold = new ClientFold();
    fold.take(begin(taskOf()));
    fold.take(status(TaskState.COMPLETED, said("m-1", "one")));
    expect(fold.take(status(TaskState.FAILED, said("m-2", "two")))).toBeUndefined();
    expect(fold.take(status(TaskState.WORKING))).toBeUndefined();
    expect(fold.state).toBe(TaskState.COMPLETED);
    expect(fold.take(status(TaskState.COMPLETED, said("m-3", "three")))?.text).toBe("three");
  });

  it("leaves what was received as it was", () => {
    const fold = new ClientFold();
    const received = begin(taskOf({ artifacts: [{ artifactId: "a", parts: [] }] }));
    fold.take(received);
    fold.take(piece("one", true));
    expect((received.payload.value as Task).artifacts[0]?.parts).toEqual([]);
  });

  it("keeps the generation apart from the task, and takes no event twice", () => {
    const fold = new ClientFold();
    const metadata = { mine: 1, [RESUME_EXTENSION]: { generation: 4 } };
    expect(fold.take(begin(taskOf({ metadata })))).toMatchObject({ generation: 4, task: { metadata: { mine: 1 } } });
    expect(fold.task?.metadata).toEqual({ mine: 1 });
    expect(fold.take(piece("five", false, 5))).toMatchObject({ generation: 5, text: "five" });
    expect(fold.take(piece("five", false, 5))).toBeUndefined();
    expect(fold.hasGap).toBe(false);
    fold.take(piece("seven", true, 7));
    expect(fold.hasGap).toBe(true);
  });

  it("has the message of a status in the history when something follows it, and once", () => {
    const fold = new ClientFold();
    // Some servers have already added the message to the history.
    const message = said("m1", "Hm.");
    fold.take(
      begin(
        taskOf({ status: { state: TaskState.WORKING, message }, history: [said("m0", "Go.", Role.USER), message] }),
      ),
    );
    expect(fold.task?.history.map(({ messageId }) => messageId)).toEqual(["m0"]);
    fold.take(status(TaskState.WORKING, said("m2", "Ha.")));
    fold.take(status(TaskState.COMPLETED));
    expect(fold.task?.history.map(({ messageId }) => messageId)).toEqual(["m0", "m1", "m2"]);
  });

  it("says of a snapshot what is new in it: messages that were not heard, and how artifacts go on", () => {
    const fold = new ClientFold();
    fold.take(begin(taskOf({ history: [said("m0", "Go.", Role.USER)] })));
    fold.take(status(TaskState.WORKING, said("m1", "Begun.")));
    fold.take(piece("one ", false));
    const parts = ["one ", "two ", "three"].map((value) => ({ content: { case: "text" as const, value } }));
    const more = taskOf({
      history: [said("m0", "Go.", Role.USER), said("m1", "Begun."), said("m2", "Half. ")],
      status: { state: TaskState.WORKING, message: said("m3", "Most. ") },
      artifacts: [{ artifactId: "a", parts }],
    });
    expect(fold.takeTask(more)).toMatchObject({ kind: "snapshot", text: "Half. Most. two three" });
    expect(fold.takeTask(more)).toBeUndefined();
    const { status: last, history } = more;
    const other = taskOf({
      history,
      ...(last && { status: last }),
      artifacts: [{ artifactId: "a", parts: parts.slice(1) }],
    });
    expect(fold.takeTask(other)).toMatchObject({ text: "two three" });
  });

  it("keeps messages that a server leaves out", () => {
    const fold = new ClientFold();
    fold.take(begin(taskOf({ history: [said("m0", "Go.", Role.USER), said("m1", "Well.")] })));
    fold.takeTask(taskOf({ history: [said("m1", "Well."), said("m2", "So.")] }));
    expect(fold.task?.history.map(({ messageId }) => messageId)).toEqual(["m0", "m1", "m2"]);
  });

  it("says nothing anew of a task that a message goes on with", () => {
    const artifacts = [{ artifactId: "a", parts: [{ content: { case: "text" as const, value: "old" } }] }];
    const task = taskOf({ artifacts, status: { state: TaskState.INPUT_REQUIRED, message: said("q", "Which?") } });
    expect(new ClientFold().takeAnswer(begin(task), true)?.text).toBe("");
    expect(new ClientFold().takeAnswer(begin(task), false)?.text).toBe("Which?old");
    const over = taskOf({ artifacts: [...artifacts, { artifactId: "b", parts: artifacts[0]?.parts ?? [] }] });
    expect(new ClientFold(undefined, task).takeAnswer(begin(over), true)?.text).toBe("old");
  });

  it("says a question once that is in the status and, before its answer, in the history", () => {
    const question = said("q", "How long?");
    const task = taskOf({
      history: [said("m0", "Cats.", Role.USER), question, said("m1", "Long.", Role.USER)],
      status: { state: TaskState.INPUT_REQUIRED, message: question },
      artifacts: [{ artifactId: "a", parts: said("", "# Cats").parts }],
    });
    expect(new ClientFold().takeTask(task)?.text).toBe("How long?# Cats");
  });

  it("folds what comes without a task first", () => {
    const fold = new ClientFold();
    expect(fold.take(piece("one", true))).toMatchObject({
      kind: "artifact",
      text: "one",
      task: { id: "t", contextId: "c" },
    });
    expect(fold.hasGap).toBe(true);
  });
});
