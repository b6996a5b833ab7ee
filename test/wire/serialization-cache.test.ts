import { create, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ListTasksResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
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
    // Nobody changes it any more; who does all the same sees that it was written before.
    shared.id = "b";
    expect(writeList(list)).toBe(before);
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
