import { create, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ListTasksResponseSchema, MessageSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { makeForm } from "../../src/version/forms/make-form.js";
import type { JsonForm } from "../../src/wire/json-form.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { cachedEnvelope, cachedText, cacheForms, sharedCopy } from "../../src/wire/serialization-cache.js";

const writeTask = (message: Message): string => jsonWriter(TaskSchema)(message as Task);
const writeList = jsonWriter(ListTasksResponseSchema);

describe("a shared message", () => {
  it("is written once, alone or in lists, with the same text", () => {
    const plain = create(TaskSchema, { id: "a", contextId: "c", metadata: { of: "this" } });
    const shared = cacheForms(create(TaskSchema, { id: "a", contextId: "c", metadata: { of: "this" } }));
    const before = writeList(create(ListTasksResponseSchema, { tasks: [plain, plain] }));
    const list = create(ListTasksResponseSchema);
    list.tasks = [shared, shared];
    expect(writeList(list)).toBe(before);
    expect(cachedText(shared, () => "made again" as never)).toBe(writeTask(plain));
    // A cached message must not change. A change here shows that the list reuses the earlier text.
    shared.id = "b";
    expect(writeList(list)).toBe(before);
  });

  it("has a text in each form, for readers of several at once", () => {
    const forms = ["a", "b"].map((name) =>
      makeForm({
        name,
        types: { "lf.a2a.v1.Task": { members: [{ constant: "form", value: name }, "id", "history"] } },
      }),
    );
    const [first, second] = forms as [JsonForm, JsonForm];
    const history = [cacheForms(create(MessageSchema, { messageId: "m" }))];
    const shared = cacheForms(create(TaskSchema, { id: "t" }));
    shared.history = history;
    const textsOf = () => [
      cachedText(shared, writeTask),
      ...forms.map((form) => cachedText(shared, jsonWriter(TaskSchema, form) as typeof writeTask, form)),
      cachedText(shared, writeTask),
    ];
    const texts = textsOf();
    const message = '{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[]}';
    expect(texts.slice(1, 3)).toEqual(["a", "b"].map((form) => `{"form":"${form}","id":"t","history":[${message}]}`));
    expect(texts[0]).toBe(texts[3]);
    // Cached messages must not change. A change here shows that each list reuses the earlier text.
    shared.id = "u";
    (history[0] as { messageId: string }).messageId = "n";
    expect(textsOf()).toEqual(texts);
    const never = () => "made again";
    for (const form of [undefined, first, second]) expect(cachedText(shared, never, form)).not.toBe(never());
    expect(cachedText(create(TaskSchema), never, first)).toBe(never());
    const copy = sharedCopy(shared, { id: "c" });
    expect(cachedText(copy, jsonWriter(TaskSchema, first) as typeof writeTask, first)).toContain('"id":"c"');
    expect(cachedText(shared, never, first)).toContain('"id":"t"');
  });

  it("gives copies that are written anew", () => {
    const shared = cacheForms(create(TaskSchema, { id: "a", contextId: "c" }));
    const list = create(ListTasksResponseSchema);
    list.tasks = [shared];
    writeList(list);
    cachedEnvelope(shared, () => Buffer.from("bytes"));
    const copy = sharedCopy(shared, { metadata: { generation: 7 } });
    expect(cachedText(copy, writeTask)).toContain('"generation":7');
    expect(`${cachedEnvelope(copy, () => Buffer.from("others"))}`).toBe("others");
    expect(cachedText(shared, writeTask)).not.toContain("generation");
    const plain = create(TaskSchema, { id: "a" });
    expect(cachedText(sharedCopy(plain, { id: "b" }), writeTask)).toContain('"id":"b"');
  });
});
