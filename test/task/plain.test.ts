import { create, equals, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageSchema, Role, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentMessage, artifactOf } from "../../src/agent/message.js";
import type { PartInput } from "../../src/task/message-input.js";
import { dataOf, filesOf, type PlainPart, partsOf, readable, readableTask, textOf } from "../../src/task/plain.js";

const place = { contextId: "c", taskId: "t" };
const bytes = new Uint8Array([1, 2, 3]);

/** Every kind of part, as an author writes it and as it is read again. */
const kinds: readonly (readonly [what: string, input: PartInput, plain: PlainPart])[] = [
  ["a text", { text: "one" }, { text: "one" }],
  ["a typed text", { text: "# One", mediaType: "text/markdown" }, { text: "# One", mediaType: "text/markdown" }],
  ["data", { data: { a: [1, null, "x"] } }, { data: { a: [1, null, "x"] } }],
  ["null", { data: null, metadata: { n: 1 } }, { data: null, metadata: { n: 1 } }],
  ["an empty file", { raw: new Uint8Array() }, { file: { bytes: new Uint8Array() } }],
  [
    "the bytes of a file",
    { raw: bytes, filename: "a.bin", mediaType: "image/png" },
    { file: { bytes, name: "a.bin", mediaType: "image/png" } },
  ],
  [
    "a URL",
    { url: "https://a.example/b", metadata: { n: 1 } },
    { file: { url: "https://a.example/b" }, metadata: { n: 1 } },
  ],
  [
    "a file",
    { file: { bytes, name: "a.bin", mediaType: "image/png" } },
    { file: { bytes, name: "a.bin", mediaType: "image/png" } },
  ],
  [
    "a file elsewhere",
    { file: { url: "https://a.example/b", name: "b" } },
    { file: { url: "https://a.example/b", name: "b" } },
  ],
];

describe("partsOf()", () => {
  it.each(kinds)("reads %s as it was written, and so that it can be written again", (_, input, plain) => {
    const message = agentMessage([input], place);
    expect(partsOf(message)).toEqual([plain]);
    expect(partsOf(agentMessage(partsOf(message), place))).toEqual([plain]);
    expect(partsOf({ parts: [plain] })).toEqual([plain]);
  });

  it("omits parts of a kind that this version does not know", () => {
    expect(partsOf(create(MessageSchema, { parts: [{}] }))).toEqual([]);
  });
});

describe("textOf(), dataOf() and filesOf()", () => {
  const file = { file: { url: "https://a.example/b" } };
  const question = agentMessage([{ text: "Which?" }, { text: "Say!" }, { data: 1 }, file], place);
  const artifact = artifactOf({ parts: [{ text: "a" }, { text: "b" }, { data: 2 }] }, "one");
  const status = { state: TaskState.INPUT_REQUIRED, message: question };
  const read = (of: Parameters<typeof textOf>[0]): unknown[] => [textOf(of), dataOf(of), filesOf(of)];

  it("read messages, artifacts and tasks", () => {
    expect(read(question)).toEqual(["Which?\nSay!", [1], [file.file]]);
    expect(read(artifact)).toEqual(["ab", [2], []]);
    expect(read(create(TaskSchema, { status }))).toEqual(["Which?\nSay!", [1], [file.file]]);
    const other = artifactOf({ text: "c" }, "two");
    expect(read(create(TaskSchema, { status, artifacts: [artifact, other] }))).toEqual(["ab\nc", [2], [file.file]]);
    const theirs = create(MessageSchema, { ...question, role: Role.USER });
    expect(read(create(TaskSchema, { status: { ...status, message: theirs } }))).toEqual(["", [], []]);
  });

  it("read what has a task or a message, and nothing of nothing", () => {
    const task = create(TaskSchema, { artifacts: [artifact] });
    expect(read({ task, message: undefined })).toEqual(["ab", [2], []]);
    expect(read({ task: undefined, message: question })).toEqual(["Which?\nSay!", [1], [file.file]]);
    expect(read({ task: undefined, message: undefined })).toEqual(["", [], []]);
    expect(read(undefined)).toEqual(["", [], []]);
  });
});

describe("readable()", () => {
  const plainMessage = (): ReturnType<typeof agentMessage> => ({
    ...agentMessage(
      kinds.map(([, input]) => input),
      place,
    ),
    messageId: "m",
  });

  it.each(kinds)("gives %s its value", (_, input, plain) => {
    const [part] = readable(agentMessage([input], place)).parts;
    expect([part?.text, part?.data, part?.file]).toEqual([plain.text, plain.data, plain.file]);
  });

  it("leaves the message as it was for serialization, comparison and copies", () => {
    const [before, message] = [plainMessage(), readable(plainMessage())];
    expect(message).toEqual(before);
    expect(equals(MessageSchema, message, before)).toBe(true);
    expect(toBinary(MessageSchema, message)).toEqual(toBinary(MessageSchema, before));
    expect(toJson(MessageSchema, message)).toEqual(toJson(MessageSchema, before));
    expect(JSON.stringify(message.parts[0])).toBe(JSON.stringify(before.parts[0]));
    expect(create(MessageSchema, message)).toBe(message);
    expect({ ...message.parts[0] }).toEqual(before.parts[0]);
    expect(structuredClone(message)).toEqual(before);
  });

  it("takes what was decoded", () => {
    const task = create(TaskSchema, {
      status: { state: TaskState.WORKING, message: plainMessage() },
      history: [plainMessage()],
      artifacts: [artifactOf({ file: { bytes } }, "one")],
    });
    for (const decoded of [
      fromBinary(TaskSchema, toBinary(TaskSchema, task)),
      fromJson(TaskSchema, toJson(TaskSchema, task)),
    ]) {
      const { status, history, artifacts } = readableTask(decoded);
      expect([status?.message?.parts[0]?.text, history[0]?.parts[0]?.text]).toEqual(["one", "one"]);
      expect(artifacts[0]?.parts[0]?.file).toEqual({ bytes });
    }
  });
});
