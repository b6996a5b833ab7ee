import { create, type DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  SendMessageRequestSchema,
  TaskArtifactUpdateEventSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../../../src/core/error.js";
import { makeForm } from "../../../src/version/forms/make-form.js";
import type { FormTables, TypeForm } from "../../../src/version/forms/tables.js";
import type { Fields, JsonForm } from "../../../src/wire/json-form.js";
import { answerReader, jsonReader } from "../../../src/wire/json-reader.js";
import { quote } from "../../../src/wire/json-text.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { jsonPieces } from "../../../src/wire/large/large.js";
import type { Violations } from "../../../src/wire/violations.js";

const formOf = (types: Record<string, TypeForm>, more: Partial<FormTables> = {}): JsonForm =>
  makeForm({
    name: "test",
    types: Object.fromEntries(Object.entries(types).map(([name, type]) => [`lf.a2a.v1.${name}`, type])),
    ...more,
  });

const again = (desc: DescMessage, json: unknown, form: JsonForm): unknown =>
  JSON.parse(jsonWriter(desc, form)(jsonReader(desc, form)(structuredClone(json))));

function violations(desc: DescMessage, json: unknown, form: JsonForm): string[] {
  try {
    jsonReader(desc, form)(json);
  } catch (error) {
    return ((error as A2AError).violations ?? []).map(({ field, description }) => `${field} ${description}`);
  }
  return [];
}

describe("a form of JSON", () => {
  it("has no field that it does not name, and ignores what it does not know", () => {
    const form = formOf({ Task: { members: ["id"] } });
    expect(again(TaskSchema, { id: "t", contextId: "c", x: 1 }, form)).toEqual({ id: "t" });
    expect(jsonReader(TaskSchema, form)({ contextId: "c" })).toEqual(create(TaskSchema));
  });

  it("knows fields when it is compiled, so that a table cannot be wrong unnoticed", () => {
    const form = formOf({ Task: { members: ["ident"] } });
    expect(() => jsonWriter(TaskSchema, form)).toThrow("lf.a2a.v1.Task has no field ident");
    expect(() => jsonReader(TaskSchema, form)).toThrow("lf.a2a.v1.Task has no field ident");
    const bare = formOf({ Part: { bare: "nothing" } });
    expect(() => jsonWriter(PartSchema, bare)).toThrow("lf.a2a.v1.Part has no nothing");
    expect(() => jsonReader(PartSchema, bare)).toThrow("lf.a2a.v1.Part has no nothing");
  });

  it("leaves types alone that it has no table for, with those inside that it has", () => {
    const form = formOf({ Part: { members: [{ field: "text", name: "t" }] } });
    const json = { artifactId: "a", name: "n", parts: [{ t: "x" }] };
    expect(again(ArtifactSchema, json, form)).toEqual(json);
    expect(jsonWriter(ArtifactSchema)(jsonReader(ArtifactSchema, form)(json))).toContain('"parts":[{"text":"x"}]');
  });

  it("may have members of a message in the object of the one around it", () => {
    const form = formOf({
      SendMessageRequest: {
        members: ["message", { flat: "configuration", members: ["historyLength", "acceptedOutputModes"] }],
      },
    });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
    const json = { message, historyLength: 3, acceptedOutputModes: ["a"] };
    expect(again(SendMessageRequestSchema, json, form)).toEqual(json);
    const without = jsonReader(SendMessageRequestSchema, form)({ message, historyLength: null });
    expect(without.configuration).toBe(undefined);
    expect(violations(SendMessageRequestSchema, { message, historyLength: "x" }, form)[0]).toMatch(
      /^historyLength must/,
    );
  });

  const inside = formOf({
    TaskArtifactUpdateEvent: {
      members: [{ field: "taskId", name: "id" }, { field: "artifact", inside: ["append", "lastChunk"] }, "metadata"],
    },
  });

  it("may have members of a message in the object of one that it holds", () => {
    const artifact = { artifactId: "a", parts: [{ text: "x" }], append: true };
    const json = { id: "t", artifact, metadata: { a: 1 } };
    expect(again(TaskArtifactUpdateEventSchema, json, inside)).toEqual(json);
    expect(jsonReader(TaskArtifactUpdateEventSchema, inside)(json)).toMatchObject({ append: true, lastChunk: false });
    expect(violations(TaskArtifactUpdateEventSchema, { artifact: { append: 1 } }, inside)).toEqual([
      "artifact.append must be true or false",
    ]);
  });

  it.each([0, 1, 3])("writes those in pieces as well, behind %i large parts", (count) => {
    const parts = Array.from({ length: count }, () => ({ content: { case: "text", value: "é".repeat(100_000) } }));
    const event = create(TaskArtifactUpdateEventSchema, {
      taskId: "t",
      artifact: { artifactId: "a", parts },
      append: true,
      metadata: { a: 1 },
    } as never);
    const pieces = [...jsonPieces(TaskArtifactUpdateEventSchema, event, inside)];
    expect(Buffer.concat(pieces).toString()).toBe(jsonWriter(TaskArtifactUpdateEventSchema, inside)(event));
    expect(pieces.length).toBeGreaterThanOrEqual(count);
  });

  it("may compute members, read them, and put right what belongs together", () => {
    const form = formOf({
      Artifact: {
        members: [
          {
            name: "index",
            write: ({ artifactId }: Fields) => (artifactId === "" ? undefined : String(artifactId)),
            read: (message: Fields, json: unknown, at: Violations) => {
              if (typeof json === "number") message.artifactId = String(json);
              else at.add("must be a number");
            },
          },
          { name: "shown", write: () => quote("yes") },
          "parts",
        ],
        prepare: (json) => (Array.isArray(json) ? Object.assign({}, ...json) : json),
        settle: (message, json, at) => {
          if (json.index === undefined) at.add("is missing", "index");
          message.name = "settled";
        },
      },
    });
    expect(again(ArtifactSchema, { index: 4, parts: [{ text: "x" }] }, form)).toEqual({
      index: 4,
      shown: "yes",
      parts: [{ text: "x" }],
    });
    expect(jsonReader(ArtifactSchema, form)([{ index: 4 }, { parts: [] }])).toMatchObject({
      artifactId: "4",
      name: "settled",
    });
    expect(violations(ArtifactSchema, { parts: [] }, form)).toEqual(["index is missing"]);
    expect(violations(ArtifactSchema, { index: "x" }, form)).toEqual(["index must be a number"]);
  });

  it("reads other names of a member, of which there can be one", () => {
    const form = formOf({ Message: { members: ["messageId", { field: "parts", name: "content", also: ["parts"] }] } });
    const json = { messageId: "m", content: [{ text: "x" }] };
    expect(again(MessageSchema, { messageId: "m", parts: json.content }, form)).toEqual(json);
    const both = { ...json, parts: [{ text: "y" }] };
    expect(violations(MessageSchema, both, form)).toEqual(["parts is the same as content, of which there can be one"]);
    expect(answerReader(MessageSchema, form)(structuredClone(both)).parts[0]?.content.value).toBe("x");
    expect(again(MessageSchema, { ...json, parts: null }, form)).toEqual(json);
    expect(violations(MessageSchema, { parts: [{ text: 1 }] }, form)[0]).toMatch(/^parts\[0\]\.text must/);
  });

  it("reads names in snake_case where it says so", () => {
    const tables = { Message: { members: ["messageId", { field: "taskId", name: "ofTask" }] } } as const;
    const json = { message_id: "m", of_task: "t" };
    expect(again(MessageSchema, json, formOf(tables, { takesSnakeCase: true }))).toEqual({
      messageId: "m",
      ofTask: "t",
    });
    expect(again(MessageSchema, json, formOf(tables))).toEqual({ messageId: "" });
  });

  it("may hold messages, and lists of them, in a form of their own", () => {
    const form = formOf({
      Task: { members: [{ field: "history", as: { members: [{ field: "messageId", name: "m" }] } }, "status"] },
    });
    const message = { messageId: "b", role: "ROLE_AGENT", parts: [] };
    const json = { history: [{ m: "a" }], status: { state: "TASK_STATE_WORKING", message } };
    expect(again(TaskSchema, json, form)).toEqual(json);
    expect(violations(TaskSchema, { history: [{ m: 1 }] }, form)).toEqual([
      "history[0].m must be a string of Unicode characters",
    ]);
  });

  it("leaves a group out that is empty, and says where something in it is missing", () => {
    const form = formOf({
      TaskPushNotificationConfig: {
        members: [
          "taskId",
          {
            group: "config",
            isRequired: true,
            members: [{ field: "url", isAlways: false, isRequired: true }, "token"],
          },
        ],
      },
    });
    expect(jsonWriter(TaskPushNotificationConfigSchema, form)(create(TaskPushNotificationConfigSchema))).toBe("{}");
    expect(violations(TaskPushNotificationConfigSchema, {}, form)).toEqual(["config is required"]);
    expect(violations(TaskPushNotificationConfigSchema, { config: {} }, form)).toEqual(["config.url is required"]);
    expect(violations(TaskPushNotificationConfigSchema, { config: { url: "" } }, form)).toEqual([
      "config.url is required",
    ]);
    expect(violations(TaskPushNotificationConfigSchema, { config: [] }, form)).toEqual(["config must be an object"]);
    expect(answerReader(TaskPushNotificationConfigSchema, form)({})).toEqual(create(TaskPushNotificationConfigSchema));
  });

  it("says with an error what it has no words for", () => {
    const form = formOf({
      Part: { oneof: "content", by: "is", variants: { text: { cases: ["text"], members: ["text"] } } },
    });
    for (const content of [{ case: undefined }, { case: "url", value: "x" }] as const) {
      expect(() => jsonWriter(PartSchema, form)(create(PartSchema, { content }))).toThrow("Internal error");
    }
  });
});
