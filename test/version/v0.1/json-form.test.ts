import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../../src/core/error.js";
import { TaskFold, viewTask } from "../../../src/task/fold.js";
import { v01Form } from "../../../src/version/v0.1/json-form.js";
import { shownTask } from "../../../src/version/v0.1/view.js";
import { answerReader, jsonReader } from "../../../src/wire/json-reader.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { jsonPieces } from "../../../src/wire/large/large.js";
import { scaled } from "../../support/soak.js";
import { log } from "../../task/arbitraries.js";

const read = (desc: DescMessage, json: unknown): Message => jsonReader(desc, v01Form)(structuredClone(json));
const answered = (desc: DescMessage, json: unknown): Message => answerReader(desc, v01Form)(structuredClone(json));
const write = (desc: DescMessage, message: Message): unknown => JSON.parse(jsonWriter(desc, v01Form)(message));

/** Path and text of each fault in a request. */
function violations(desc: DescMessage, json: unknown): string[] {
  try {
    read(desc, json);
  } catch (error) {
    return ((error as A2AError).violations ?? []).map(({ field, description }) => `${field} ${description}`);
  }
  return [];
}

const text = { type: "text", text: "tell me a joke" };
const params = { id: "t", message: { role: "user", parts: [text] } };

describe("the JSON of 0.1", () => {
  it("has the ids of task and session beside the message, and asks for no messages", () => {
    const request = read(SendMessageRequestSchema, { ...params, sessionId: "s", metadata: { a: 1 } });
    expect(request).toMatchObject({
      message: { taskId: "t", contextId: "s", messageId: expect.stringMatching(/.+/) },
      configuration: { historyLength: 0, returnImmediately: false },
      metadata: { a: 1 },
    });
  });

  it("takes null for what is not there", () => {
    const nothing = { sessionId: null, pushNotification: null, historyLength: null, metadata: null };
    const message = { ...params.message, metadata: null };
    const request = read(SendMessageRequestSchema, { ...params, ...nothing, message }) as SendMessageRequest;
    expect(request.message?.contextId).toBe("");
    expect(request.configuration).toMatchObject({ historyLength: 0 });
    expect(request.configuration?.taskPushNotificationConfig).toBeUndefined();
  });

  it("takes what examples have: parts called data, bytes called data, kind for type, no role", () => {
    const file = { type: "file", file: { name: "a", mimeType: "image/png", data: "aGk=" } };
    const request = read(SendMessageRequestSchema, {
      id: "t",
      message: { data: [text, file, { kind: "text", text: "x" }] },
    });
    expect((request as SendMessageRequest).message?.parts.map(({ content }) => content.case)).toEqual([
      ...["text", "raw", "text"],
    ]);
    expect(write(SendMessageRequestSchema, request)).toMatchObject({ message: { role: "user" } });
  });

  it("has objects and lists as data, and other values in an object", () => {
    const parts = [{ a: 1 }, [1, 2], { value: [1], other: 2 }].map((data) => ({ type: "data", data }));
    const request = read(SendMessageRequestSchema, { id: "t", message: { role: "user", parts } });
    expect(write(SendMessageRequestSchema, request)).toMatchObject({ message: { parts } });
    const message = { role: 2, messageId: "m", parts: [{ content: { case: "data" as const, value: dataOf(7) } }] };
    const event = create(StreamResponseSchema, {
      payload: { case: "statusUpdate", value: { taskId: "t", status: { state: TaskState.WORKING, message } } },
    });
    expect(write(StreamResponseSchema, event)).toMatchObject({
      status: { message: { parts: [{ type: "data", data: { value: 7 }, metadata: { data_part_compat: true } }] } },
    });
    expect(answered(StreamResponseSchema, write(StreamResponseSchema, event))).toMatchObject({
      payload: { value: { status: { message: { parts: [{ content: { value: { kind: { value: 7 } } } }] } } } },
    });
  });

  it("has a push configuration without an id, which may be none", () => {
    const config = {
      url: "https://a.example/hook",
      token: "t",
      authentication: { schemes: ["jwt"], credentials: "c" },
    };
    for (const pushNotificationConfig of [config, null]) {
      const json = { id: "t", pushNotificationConfig };
      expect(write(TaskPushNotificationConfigSchema, read(TaskPushNotificationConfigSchema, json))).toEqual(json);
    }
    const inline = read(SendMessageRequestSchema, { ...params, pushNotification: config });
    expect((inline as SendMessageRequest).configuration?.taskPushNotificationConfig).toMatchObject({
      url: config.url,
      authentication: { scheme: "jwt" },
    });
    expect(write(SendMessageRequestSchema, inline)).toMatchObject({ pushNotification: config });
  });

  it("names what is wrong as its own documents do", () => {
    const send = SendMessageRequestSchema;
    expect(violations(send, { message: params.message })).toEqual(["id is required"]);
    expect(violations(send, { ...params, id: 7 })).toEqual(["id must be a string"]);
    expect(violations(send, { ...params, sessionId: [] })).toEqual(["sessionId must be a string"]);
    expect(violations(send, { id: "t" })).toEqual(["message is required"]);
    const part = (one: unknown): string[] => violations(send, { id: "t", message: { role: "user", parts: [one] } });
    expect(part({ type: "video" })).toEqual(["message.parts[0].type must be one of text, file, data"]);
    expect(part({ type: "file", file: { name: "x" } })).toEqual(["message.parts[0].file needs bytes or uri"]);
    expect(part({ type: "data", data: 7 })).toEqual(["message.parts[0].data must be an object or a list"]);
    expect(violations(GetTaskRequestSchema, {})).toEqual(["id is required"]);
    expect(violations(CancelTaskRequestSchema, { id: "t", metadata: 1 })).toHaveLength(1);
    expect(violations(TaskPushNotificationConfigSchema, { id: "t" })).toEqual(["pushNotificationConfig is required"]);
    expect(violations(TaskPushNotificationConfigSchema, { id: "t", pushNotificationConfig: { token: "x" } })).toEqual([
      "pushNotificationConfig.url is required",
    ]);
  });

  it("reads answers of old servers: artifacts without an index, times without a zone, agents without a role", () => {
    const json = {
      id: "t",
      status: { state: "input-required", message: { parts: [text] }, timestamp: "2025-04-02T16:59:25.331844" },
      artifacts: [{ parts: [text] }, { parts: [text], index: 5 }],
    };
    expect(answered(TaskSchema, json)).toMatchObject({
      contextId: "",
      status: { state: TaskState.INPUT_REQUIRED, message: { role: 2 }, timestamp: { seconds: 1743613165n } },
      artifacts: [{ artifactId: "0" }, { artifactId: "5" }],
    });
    const event = answered(StreamResponseSchema, { id: "t", artifact: { parts: [text], append: true } });
    expect(event).toMatchObject({
      payload: { case: "artifactUpdate", value: { taskId: "t", append: true, artifact: { artifactId: "0" } } },
    });
  });
});

function dataOf(number: number) {
  return { $typeName: "google.protobuf.Value" as const, kind: { case: "numberValue" as const, value: number } };
}

/** Tasks of any log, as 0.1 shows them. */
const tasks = log.map((entries) => {
  const fold = new TaskFold();
  for (const entry of entries) fold.apply(entry);
  return shownTask(viewTask(fold.task));
});

describe("any task in the JSON of 0.1", () => {
  it("is the same after it was read and written again", () => {
    fc.assert(
      fc.property(tasks, (task) => {
        const json = write(TaskSchema, task);
        const back = shownTask(answered(TaskSchema, json) as Task);
        expect(write(TaskSchema, back)).toEqual(json);
        expect(back.artifacts.map(({ artifactId }) => artifactId)).toEqual(task.artifacts.map((_, i) => String(i)));
      }),
    );
  });

  it("loses only what 0.1 has no place for", () => {
    fc.assert(
      fc.property(tasks, (task) => {
        const back = answered(TaskSchema, write(TaskSchema, task)) as Task;
        expect([back.id, back.contextId]).toEqual([task.id, task.contextId]);
        const worded = (state = 0): number =>
          state === TaskState.REJECTED
            ? TaskState.FAILED
            : state === TaskState.AUTH_REQUIRED
              ? TaskState.INPUT_REQUIRED
              : state;
        expect(back.status?.state).toBe(worded(task.status?.state));
        const said = ({ history }: Task) => history.map(({ role, parts, metadata }) => ({ role, parts, metadata }));
        expect(said(back)).toEqual(said(task));
        const made = ({ artifacts }: Task) =>
          artifacts.map(({ name, description, parts, metadata }) => ({ name, description, parts, metadata }));
        expect(made(back)).toEqual(made(task));
      }),
    );
  });

  it("is the same in pieces, and has no member that 0.1 does not know", () => {
    const known = ["id", "sessionId", "status", "artifacts", "history", "metadata"];
    fc.assert(
      fc.property(tasks, (task) => {
        const json = write(TaskSchema, task) as object;
        const decoder = new TextDecoder();
        let pieces = "";
        for (const piece of jsonPieces(TaskSchema, task, v01Form)) {
          pieces += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
        }
        expect(JSON.parse(pieces)).toEqual(json);
        expect(Object.keys(json).filter((name) => !known.includes(name))).toEqual([]);
        expect(JSON.stringify(json)).not.toMatch(/"(?:kind|artifactId|messageId|contextId|taskId)":/);
      }),
    );
  });
});

describe("any JSON in the place of params", () => {
  it("is read, or refused with what is wrong", () => {
    const part = fc.oneof(
      fc.record({ type: fc.constantFrom("text", "file", "data", "x"), text: fc.anything(), file: fc.anything() }),
      fc.anything(),
    );
    const json = fc.oneof(
      fc.anything(),
      fc.record(
        {
          id: fc.oneof(fc.string(), fc.anything()),
          sessionId: fc.anything(),
          message: fc.oneof(
            fc.record({ role: fc.anything(), parts: fc.array(part), data: fc.anything() }),
            fc.anything(),
          ),
          pushNotification: fc.anything(),
          pushNotificationConfig: fc.anything(),
          historyLength: fc.anything(),
          metadata: fc.anything(),
        },
        { requiredKeys: [] },
      ),
    );
    const types = [SendMessageRequestSchema, GetTaskRequestSchema, TaskPushNotificationConfigSchema];
    fc.assert(
      fc.property(fc.constantFrom<DescMessage>(...types), json, (desc, value) => {
        const text = JSON.stringify(value);
        if (text === undefined) return;
        try {
          const message = jsonReader(desc, v01Form)(JSON.parse(text));
          jsonWriter(desc, v01Form)(message);
        } catch (error) {
          expect(error).toBeInstanceOf(A2AError);
          expect((error as A2AError).reason).toBe("INVALID_PARAMS");
        }
      }),
      { numRuns: scaled(50, 300) },
    );
  });
});
