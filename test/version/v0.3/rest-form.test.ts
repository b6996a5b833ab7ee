import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  CancelTaskRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../../../src/core/error.js";
import { schemaForm } from "../../../src/version/v0.3/json-form.js";
import { isSchemaDialect, restForm, restSchemaForm } from "../../../src/version/v0.3/rest-form.js";
import { answerReader, jsonReader } from "../../../src/wire/json-reader.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";

const read = (desc: DescMessage, json: unknown): Message => jsonReader(desc, restForm)(structuredClone(json));
const write = (desc: DescMessage, message: Message): unknown => JSON.parse(jsonWriter(desc, restForm)(message));
const again = (desc: DescMessage, json: unknown): unknown => write(desc, read(desc, json));

/** Path and text of each fault in a request. */
function violations(desc: DescMessage, json: unknown): string[] {
  try {
    read(desc, json);
  } catch (error) {
    return ((error as A2AError).violations ?? []).map(({ field, description }) => `${field} ${description}`);
  }
  return [];
}

const proto = {
  messageId: "m",
  role: "ROLE_USER",
  content: [
    { text: "x", metadata: { k: "v" } },
    { file: { fileWithBytes: "aGk=", mimeType: "image/png" } },
    { file: { fileWithUri: "https://a.example/b", mimeType: "image/png", name: "b.png" } },
    { data: { data: { a: 1 } } },
    { data: { data: { value: [1] } }, metadata: { data_part_compat: true } },
  ],
};
const schema = {
  kind: "message",
  messageId: "m",
  role: "user",
  parts: [
    { kind: "text", text: "x", metadata: { k: "v" } },
    { kind: "file", file: { bytes: "aGk=", mimeType: "image/png" } },
    { kind: "file", file: { uri: "https://a.example/b", mimeType: "image/png", name: "b.png" } },
    { kind: "data", data: { a: 1 } },
    { kind: "data", data: { value: [1] }, metadata: { data_part_compat: true } },
  ],
};

describe("the JSON of HTTP+JSON of 0.3", () => {
  it("reads both dialects and mixtures of them, and writes the proto's", () => {
    const { content, ...rest } = proto;
    const mixed = { ...rest, role: "user", parts: [...content.slice(0, 2), ...schema.parts.slice(2)] };
    const snake = { message_id: "m", role: 1, content };
    for (const message of [proto, schema, mixed, snake]) {
      expect(again(SendMessageRequestSchema, { message })).toEqual({ message: proto });
    }
    expect(again(SendMessageRequestSchema, { request: proto })).toEqual({ message: proto });
    expect(read(SendMessageRequestSchema, { message: proto })).toEqual(
      jsonReader(SendMessageRequestSchema, schemaForm)({ message: structuredClone(schema) }),
    );
  });

  it("has results and events in wrappers, and states as the contract spells them", () => {
    const status = { state: "TASK_STATE_CANCELLED", message: { ...proto, role: "ROLE_AGENT" } };
    const task = { id: "t", contextId: "c", status, history: [proto] };
    for (const event of [
      { task },
      { message: proto },
      { statusUpdate: { taskId: "t", contextId: "c", status, final: true } },
      { statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } },
      {
        artifactUpdate: {
          taskId: "t",
          contextId: "c",
          artifact: { artifactId: "a", parts: proto.content },
          append: true,
        },
      },
    ]) {
      const message = answerReader(StreamResponseSchema, restForm)(structuredClone(event));
      expect(write(StreamResponseSchema, message)).toEqual(event);
    }
    const { message, ...rest } = status;
    const spelled = answerReader(
      TaskSchema,
      restForm,
    )({ id: "t", status: { ...rest, state: "canceled", update: message } });
    expect(spelled.status?.state).toBe(TaskState.CANCELED);
    expect(write(TaskSchema, spelled)).toMatchObject({ status });
    const msg = answerReader(SendMessageResponseSchema, restForm)({ msg: proto });
    expect(write(SendMessageResponseSchema, msg)).toEqual({ message: proto });
  });

  it("leaves out what the contract has no field for", () => {
    const request = read(SendMessageRequestSchema, { message: { ...proto, referenceTaskIds: ["t0"] } });
    expect(request).toMatchObject({ message: { referenceTaskIds: ["t0"] } });
    expect(write(SendMessageRequestSchema, request)).toEqual({ message: proto });
  });

  it("does not wait for a configuration of the proto's dialect that does not say blocking", () => {
    const parsed = (message: object, configuration: object | null = null) =>
      (
        read(SendMessageRequestSchema, { message, configuration }) as never as {
          configuration?: { returnImmediately: boolean };
        }
      ).configuration?.returnImmediately;
    expect(parsed(proto)).toBe(undefined);
    expect(
      [{}, { blocking: null }, { blocking: false }, { blocking: true }].map((each) => parsed(proto, each)),
    ).toEqual([true, true, true, false]);
    expect([{}, { blocking: false }, { blocking: true }].map((each) => parsed(schema, each))).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("has the configuration's webhook by either name", () => {
    const push = { id: "p", url: "https://c.example", authentication: { schemes: ["Bearer"] } };
    for (const name of ["pushNotification", "pushNotificationConfig", "push_notification"]) {
      const request = { message: proto, configuration: { [name]: push, blocking: true } };
      expect(again(SendMessageRequestSchema, request)).toEqual({
        message: proto,
        configuration: { pushNotification: push, blocking: true },
      });
    }
  });

  const inner = { id: "p", url: "https://c.example", token: "t" };
  const named = { name: "tasks/t1/pushNotificationConfigs/p", pushNotificationConfig: inner };
  it.each([
    { parent: "tasks/t1", configId: "p", config: named },
    { parent: "tasks/t1", config_id: "p", config: { pushNotificationConfig: { ...inner, id: "other" } } },
    named,
    { taskId: "t1", pushNotificationConfig: inner },
    { taskId: "t1", ...inner },
    { parent: "tasks/t1", config: inner },
  ])("reads the body %j that sets a configuration", (body) => {
    expect(again(TaskPushNotificationConfigSchema, body)).toEqual(named);
  });

  it("refuses names that are none, that disagree, and a webhook without an address", () => {
    const at = (json: object) => violations(TaskPushNotificationConfigSchema, json);
    expect(at({ ...named, name: "t1" })[0]).toMatch(/^name must be a name such as/);
    expect(at({ parent: "tasks/t2", config: named })).toEqual(["config names another task than t2"]);
    expect(at({ name: "tasks/t1/pushNotificationConfigs/p" })).toEqual(["pushNotificationConfig.url is required"]);
    expect(violations(CancelTaskRequestSchema, { name: "x" })).toEqual(["name must be a name such as tasks/{id}"]);
    expect(read(CancelTaskRequestSchema, { name: "tasks/t" })).toMatchObject({ id: "t" });
    expect(read(CancelTaskRequestSchema, {})).toMatchObject({ id: "" });
  });

  it("reads a list of configurations with and without its object", () => {
    const list = { configs: [named] };
    for (const json of [list, list.configs, { ...list, nextPageToken: "" }]) {
      const message = answerReader(ListTaskPushNotificationConfigsResponseSchema, restForm)(structuredClone(json));
      expect(write(ListTaskPushNotificationConfigsResponseSchema, message)).toEqual(list);
    }
  });

  it("tells the dialect of the schema, and writes it in the same wrappers", () => {
    expect(
      [{ message: schema }, { message: { parts: [{ kind: "text" }] } }, { request: { role: "agent" } }].map(
        isSchemaDialect,
      ),
    ).toEqual([true, true, true]);
    expect(
      [{ message: proto }, {}, null, { message: { kind: "message", parts: [{ text: "x" }] } }].map(isSchemaDialect),
    ).toEqual([false, false, false, false]);
    const message = answerReader(SendMessageResponseSchema, restForm)({ message: structuredClone(schema) });
    expect(JSON.parse(jsonWriter(SendMessageResponseSchema, restSchemaForm)(message))).toEqual({ message: schema });
    const event = create(StreamResponseSchema, {
      payload: { case: "statusUpdate", value: { taskId: "t", contextId: "c", status: { state: TaskState.WORKING } } },
    });
    expect(JSON.parse(jsonWriter(StreamResponseSchema, restSchemaForm)(event))).toEqual({
      statusUpdate: { kind: "status-update", taskId: "t", contextId: "c", status: { state: "working" }, final: false },
    });
  });

  it("takes data beside its kind as it is", () => {
    const kinded = { kind: "data", data: { data: { a: 1 } } };
    const request = { message: { messageId: "m", role: "ROLE_USER", content: [kinded, { data: { a: 1 } }] } };
    expect(again(SendMessageRequestSchema, request)).toEqual({
      message: { ...request.message, content: [{ data: { data: { data: { a: 1 } } } }, { data: { data: { a: 1 } } }] },
    });
  });

  it.each([
    [{}, "kind must be one of text, file, data"],
    [{ kind: "video" }, "kind must be one of text, file, data"],
    [{ file: {} }, "file needs fileWithUri or fileWithBytes"],
    [{ data: { data: 5 } }, undefined],
    [{ data: 5 }, "data must be an object"],
    [{ kind: "data", data: { data: { a: 1 } } }, undefined],
  ])("reads the part %j, or refuses it where it is wrong", (part, expected) => {
    const found = violations(SendMessageRequestSchema, {
      message: { messageId: "m", role: "ROLE_USER", content: [part] },
    });
    expect(found).toEqual(expected === undefined ? [] : [`message.content[0].${expected}`]);
  });
});
