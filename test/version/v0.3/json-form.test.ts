import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  MessageSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../../../src/core/error.js";
import { schemaForm } from "../../../src/version/v0.3/json-form.js";
import { answerReader, jsonReader } from "../../../src/wire/json-reader.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { mark } from "../../../src/wire/marks.js";

const text = (value: string) => ({ kind: "text", text: value });

const read = (desc: DescMessage, json: unknown): Message => jsonReader(desc, schemaForm)(structuredClone(json));
const write = (desc: DescMessage, message: Message): unknown => JSON.parse(jsonWriter(desc, schemaForm)(message));
const again = (desc: DescMessage, json: unknown): unknown => write(desc, read(desc, json));
const answered = (desc: DescMessage, json: unknown): unknown =>
  write(desc, answerReader(desc, schemaForm)(structuredClone(json)));

/** Path and text of each fault in a request. */
function violations(desc: DescMessage, json: unknown): string[] {
  try {
    read(desc, json);
  } catch (error) {
    return ((error as A2AError).violations ?? []).map(({ field, description }) => `${field} ${description}`);
  }
  return [];
}

const sent = (...parts: readonly unknown[]) => ({ message: { role: "user", messageId: "m", parts } });

describe("the JSON of the schema of 0.3", () => {
  it("has tasks with their kind, words for states and roles, and parts by kind", () => {
    const json = {
      kind: "task",
      id: "t1",
      contextId: "c1",
      status: {
        state: "input-required",
        message: { kind: "message", messageId: "m2", role: "agent", parts: [text("where to?")] },
        timestamp: "2025-08-01T10:00:00.000Z",
      },
      artifacts: [
        {
          artifactId: "a1",
          name: "joke",
          parts: [
            { ...text("x"), metadata: { k: "v" } },
            { kind: "file", file: { bytes: "aGk=", name: "a.txt", mimeType: "text/plain" } },
            { kind: "file", file: { uri: "https://a.example/b" }, metadata: { k: 1 } },
            { kind: "data", data: { a: [1, null] }, metadata: { k: "v" } },
          ],
        },
      ],
      history: [
        {
          kind: "message",
          messageId: "m1",
          role: "user",
          parts: [text("hi")],
          contextId: "c1",
          taskId: "t1",
          referenceTaskIds: ["t0"],
          extensions: ["urn:e"],
          metadata: { a: {} },
        },
      ],
      metadata: { a: 1 },
    };
    expect(answered(TaskSchema, json)).toEqual(json);
    const response = { payload: { case: "task", value: answerReader(TaskSchema, schemaForm)(json) } } as const;
    expect(write(SendMessageResponseSchema, create(SendMessageResponseSchema, response))).toEqual(json);
    expect(Object.keys(answered(SendMessageResponseSchema, json) as object)[0]).toBe("kind");
  });

  it.each(Object.entries({ unknown: 0, submitted: 1, canceled: 5, "auth-required": 8, rejected: 7 }))(
    "has a state %s",
    (state, number) => {
      const task = answerReader(TaskSchema, schemaForm)({ id: "t", contextId: "c", status: { state } });
      expect(task.status?.state).toBe(number);
      expect(write(TaskSchema, task)).toEqual({ kind: "task", id: "t", contextId: "c", status: { state } });
    },
  );

  it("has always what its readers need: a context, a state, the role of the one who answers", () => {
    const task = create(TaskSchema, { id: "t", history: [{ messageId: "m" }] });
    expect(write(TaskSchema, task)).toEqual({
      kind: "task",
      id: "t",
      contextId: "",
      status: { state: "unknown" },
      history: [{ kind: "message", messageId: "m", role: "agent", parts: [] }],
    });
    const said = answerReader(MessageSchema, schemaForm)({ messageId: "m", parts: [text("x")] });
    expect(said.role).toBe(Role.AGENT);
  });

  it("says of a status whether it is the last event", () => {
    const event = (state: TaskState) =>
      create(TaskStatusUpdateEventSchema, { taskId: "t", contextId: "c", status: { state } });
    const finalOf = (value: TaskStatusUpdateEvent): unknown => {
      const response = create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
      return (write(StreamResponseSchema, response) as { final: unknown }).final;
    };
    for (const state of [TaskState.COMPLETED, TaskState.REJECTED, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED]) {
      expect(finalOf(event(state))).toBe(true);
    }
    for (const state of [TaskState.SUBMITTED, TaskState.WORKING, TaskState.UNSPECIFIED]) {
      expect(finalOf(event(state))).toBe(false);
    }
    expect(finalOf(mark(event(TaskState.WORKING), { isLast: true }))).toBe(true);
    expect(finalOf(mark(event(TaskState.COMPLETED), { isLast: false }))).toBe(false);
    const json = { kind: "status-update", taskId: "t", contextId: "c", status: { state: "working" }, final: true };
    expect(answered(StreamResponseSchema, json)).toEqual({ ...json, final: false });
  });

  it("has events without a wrapper, which are told apart with and without their kind", () => {
    const artifact = { artifactId: "a", parts: [text("x")] };
    const events = [
      { kind: "message", messageId: "m", role: "agent", parts: [text("x")] },
      { kind: "task", id: "t", contextId: "c", status: { state: "working" } },
      { kind: "status-update", taskId: "t", contextId: "c", status: { state: "failed" }, final: true, metadata: {} },
      { kind: "artifact-update", taskId: "t", contextId: "c", artifact, append: true, lastChunk: true },
    ];
    for (const event of events) {
      expect(answered(StreamResponseSchema, event)).toEqual(event);
      const { kind: _, ...rest } = event;
      expect(answered(StreamResponseSchema, rest)).toEqual(event);
    }
    const reader = answerReader(SendMessageResponseSchema, schemaForm);
    for (const none of [events[2], {}, 7, { kind: "toString" }]) {
      expect(() => reader(none)).toThrow("must be a task or a message");
    }
  });

  it("wraps data that is no object, and unwraps what says that it is wrapped", () => {
    const wrapped = { kind: "data", data: { value: [1, 2] }, metadata: { k: 1, data_part_compat: true } };
    const request = read(SendMessageRequestSchema, sent(wrapped)) as never as { message: { parts: [Message] } };
    expect(JSON.parse(jsonWriter(SendMessageRequestSchema)(request as never)).message.parts).toEqual([
      { data: [1, 2], metadata: { k: 1 } },
    ]);
    const plain = { kind: "data", data: { value: [1, 2] } };
    const more = { kind: "data", data: { value: 1, b: 2 }, metadata: { data_part_compat: true } };
    for (const part of [wrapped, plain, more]) {
      expect(again(SendMessageRequestSchema, sent(part))).toMatchObject({ message: { parts: [part] } });
    }
    for (const data of [[1], 7, "x", null]) {
      expect(violations(SendMessageRequestSchema, sent({ kind: "data", data }))).toContain(
        "message.parts[0].data must be an object",
      );
    }
  });

  it("waits unless blocking is false, whatever else a configuration has", () => {
    const parsed = (configuration: object) =>
      (
        read(SendMessageRequestSchema, { ...sent(text("x")), configuration }) as never as {
          configuration: { returnImmediately: boolean };
        }
      ).configuration.returnImmediately;
    expect([{}, { blocking: true }, { blocking: null }, { blocking: false }].map(parsed)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(violations(SendMessageRequestSchema, { ...sent(text("x")), configuration: { blocking: 1 } })).toEqual([
      "configuration.blocking must be true or false",
    ]);
  });

  it("reads and writes the parameters of a send", () => {
    const json = {
      message: { kind: "message", messageId: "m", role: "user", parts: [text("x")] },
      configuration: {
        acceptedOutputModes: ["text/plain"],
        historyLength: 2,
        pushNotificationConfig: {
          id: "p",
          url: "https://c.example",
          token: "t",
          authentication: { schemes: ["Bearer"] },
        },
        blocking: false,
      },
      metadata: { a: 1 },
    };
    expect(again(SendMessageRequestSchema, json)).toEqual(json);
    const least = read(SendMessageRequestSchema, { ...json, tenant: "x", configuration: {} });
    expect(write(SendMessageRequestSchema, least)).toEqual({
      ...json,
      configuration: { acceptedOutputModes: [], blocking: true },
    });
    // An example that was copied a lot.
    const { messageId: _, ...message } = json.message;
    expect(again(SendMessageRequestSchema, { message, messageId: "m" })).toEqual({ message: json.message });
  });

  it("keeps the first scheme of a configuration, and none of an empty list", () => {
    const config = (authentication?: unknown) => ({
      taskId: "t",
      pushNotificationConfig: { id: "p", url: "https://c.example/hook", token: "s", ...(authentication as object) },
    });
    const basic = config({ authentication: { schemes: ["Bearer"], credentials: "x" } });
    expect(again(TaskPushNotificationConfigSchema, basic)).toEqual(basic);
    for (const schemes of [["Bearer", "Basic"], "Bearer"]) {
      const given = config({ authentication: { schemes, credentials: "x" } });
      expect(again(TaskPushNotificationConfigSchema, given)).toEqual(basic);
    }
    expect(again(TaskPushNotificationConfigSchema, config({ authentication: { schemes: [] } }))).toEqual(config());
    const list = create(ListTaskPushNotificationConfigsResponseSchema, {
      configs: [read(TaskPushNotificationConfigSchema, basic) as never],
    });
    expect(write(ListTaskPushNotificationConfigsResponseSchema, list)).toEqual([basic]);
    expect(answered(ListTaskPushNotificationConfigsResponseSchema, [basic, basic])).toEqual([basic, basic]);
  });

  it("names tasks and configurations as its methods do", () => {
    const both = { id: "t", pushNotificationConfigId: "p" };
    for (const desc of [GetTaskPushNotificationConfigRequestSchema, DeleteTaskPushNotificationConfigRequestSchema]) {
      expect(read(desc, both)).toMatchObject({ taskId: "t", id: "p" });
      expect(again(desc, both)).toEqual(both);
      expect(violations(desc, {})).toContain("id is required");
    }
    expect(again(GetTaskPushNotificationConfigRequestSchema, { id: "t" })).toEqual({ id: "t" });
    expect(violations(DeleteTaskPushNotificationConfigRequestSchema, { id: "t" })).toEqual([
      "pushNotificationConfigId is required",
    ]);
    expect(again(CancelTaskRequestSchema, { id: "t", tenant: "x", metadata: { why: "so" } })).toEqual({
      id: "t",
      metadata: { why: "so" },
    });
    expect(jsonWriter(EmptySchema, schemaForm)(create(EmptySchema))).toBe("null");
    expect(answerReader(EmptySchema, schemaForm)(null)).toEqual(create(EmptySchema));
  });

  it.each([
    [{ text: "x" }, { case: "text", value: "x" }],
    [{ file: { uri: "u", name: "n" } }, { case: "url", value: "u" }],
    [{ data: { a: 1 } }, { case: "data" }],
    [
      { url: "u", filename: "n", mediaType: "m" },
      { case: "url", value: "u" },
    ],
    [
      { raw: "AQI=", metadata: {} },
      { case: "raw", value: new Uint8Array([1, 2]) },
    ],
  ])("reads the part %j, which does not say what it is", (part, content) => {
    const { message } = read(SendMessageRequestSchema, sent(part)) as unknown as { message?: { parts: unknown } };
    expect(message?.parts).toMatchObject([{ content }]);
  });

  it.each([
    [{ kind: "video", url: "x" }, "kind must be one of text, file, data"],
    [{}, "kind must be one of text, file, data"],
    [{ url: 5 }, "url must be a string of Unicode characters"],
    [{ kind: "newer", text: "x" }, "kind must be one of text, file, data"],
    [{ kind: "text" }, "text is required"],
    [{ kind: "text", text: 5 }, "text must be a string of Unicode characters"],
    [{ kind: "file" }, "file is required"],
    [{ kind: "file", file: {} }, "file needs bytes or uri"],
    [{ kind: "file", file: { bytes: "!" } }, "file.bytes must be a string in base64"],
    [
      { kind: "file", file: { bytes: "aa==", uri: "x" } },
      "file.uri cannot be set together with another one of bytes, uri",
    ],
    [{ kind: "data" }, "data is required"],
  ])("refuses the part %j where it is wrong", (part, expected) => {
    expect(violations(SendMessageRequestSchema, sent(text("x"), part))).toEqual([`message.parts[1].${expected}`]);
  });

  it("refuses what it has no words for, and a webhook without an address", () => {
    const request = { message: { role: "system", messageId: "m", parts: [text("x")] } };
    expect(violations(SendMessageRequestSchema, request)).toEqual(["message.role must be one of user, agent"]);
    expect(violations(TaskPushNotificationConfigSchema, { taskId: "t", pushNotificationConfig: {} })).toEqual([
      "pushNotificationConfig.url is required",
    ]);
    const inline = { ...sent(text("x")), configuration: { pushNotificationConfig: { url: "" } } };
    expect(violations(SendMessageRequestSchema, inline)).toEqual([
      "configuration.pushNotificationConfig.url is required",
    ]);
  });

  it("accepts what widely copied examples have", () => {
    const file = { kind: "file", file: { mimeType: "image/png", data: "aGk" } };
    const typed = { type: "text", text: "x" };
    expect(again(SendMessageRequestSchema, sent(file, typed))).toMatchObject({
      message: { parts: [{ kind: "file", file: { bytes: "aGk=", mimeType: "image/png" } }, text("x")] },
    });
    const task = answerReader(
      TaskSchema,
      schemaForm,
    )({ id: "t", status: { state: "working", timestamp: "2025-04-02T16:59:25.331844" } });
    expect(write(TaskSchema, task)).toMatchObject({ status: { timestamp: "2025-04-02T16:59:25.331Z" } });
  });
});
