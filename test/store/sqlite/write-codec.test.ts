import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf, headOf } from "../../../contract/setup.js";
import { readEntries } from "../../../src/store/segment.js";
import type { OtherWrite, Write } from "../../../src/store/sqlite/write.js";
import { type Message, MessageBuilder, readMessage } from "../../../src/store/sqlite/write-codec.js";
import type { AppendRequest, SnapshotPiece, TaskHead } from "../../../src/store/task-store.js";

/** Returns a message as another thread receives it. */
function arrived(message: Message): Message {
  return structuredClone(message, { transfer: [message.bytes] });
}

const bytes = fc.uint8Array({ maxLength: 3_000 });
const text = fc.string({ unit: "binary", maxLength: 12 });
const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const append: fc.Arbitrary<AppendRequest> = fc
  .record({
    taskId: text,
    tenant: text,
    owner: text,
    contextId: text,
    state: fc.nat(8),
    statusTime: time,
    expected: fc.nat(1_000_000),
    generation: fc.nat(1_000_000),
    fence: fc.option(fc.record({ holder: text, attempt: fc.nat(9) }), { nil: undefined }),
    lease: fc.option(fc.record({ holder: text, turn: fc.nat(9), attempt: fc.nat(9) }), { nil: undefined }),
    entries: fc.array(bytes, { minLength: 1, maxLength: 6 }),
    send: fc.option(
      fc.record({ tenant: text, owner: text, key: text, fingerprint: text, taskId: text, position: fc.nat(9) }),
      { nil: undefined },
    ),
    time: fc.option(time, { nil: undefined }),
    pushConfig: fc.option(
      fc.record({
        ...{ configId: text, target: text, maxPerTask: fc.nat(9), maxPerOwner: fc.nat(9) },
        ...{ ofAllTenants: fc.boolean(), bytes },
      }),
      { nil: undefined },
    ),
    conversation: fc.option(fc.record({ expected: time, version: time, bytes }), { nil: undefined }),
  })
  .map(({ expected, entries, send, fence, lease, time, pushConfig, conversation, ...head }) => ({
    head: { ...head, position: expected + entries.length },
    expected,
    entries,
    fence,
    lease,
    time,
    pushConfig,
    conversation,
    ...(send && { send }),
  }));

const piece = fc.record({ position: fc.nat(), bytes, piece: fc.nat(9), last: fc.boolean() });
const snapshot = fc.record({ taskId: text, snapshot: fc.oneof(piece, fc.record({ position: fc.nat(), bytes })) });

const other: fc.Arbitrary<OtherWrite> = fc.oneof(
  fc.record({
    method: fc.constant("claimLeases" as const),
    request: fc.record({ holder: text, leaseMs: time, limit: fc.nat(9) }),
  }),
  fc.record({
    method: fc.constant("deletePushConfig" as const),
    request: fc.record({ taskId: text, configId: text }),
  }),
);

type Sent =
  | { append: AppendRequest }
  | { snapshot: { taskId: string; snapshot: SnapshotPiece } }
  | { other: OtherWrite };

const sent: fc.Arbitrary<Sent> = fc.oneof(
  append.map((each) => ({ append: each })),
  snapshot.map((each) => ({ snapshot: each })),
  other.map((each) => ({ other: each })),
);

function build(builder: MessageBuilder, sent: readonly Sent[]): Message {
  for (const each of sent) {
    if ("append" in each) builder.addAppend(each.append, each.append.head.state === 3);
    else if ("snapshot" in each) builder.addSnapshot(each.snapshot.taskId, each.snapshot.snapshot);
    else builder.addOther(each.other);
  }
  return builder.take();
}

function check(write: Write, sent: Sent): void {
  if ("other" in sent) return expect(write).toEqual(sent.other);
  if ("snapshot" in sent) {
    const { taskId, snapshot } = sent.snapshot;
    const request = { taskId, snapshot: { piece: 0, last: true, ...snapshot } };
    return expect(write).toEqual({ method: "saveSnapshot", request });
  }
  const { head, expected, entries, send, fence, lease, pushConfig, conversation, time = head.statusTime } = sent.append;
  const { lease: _, ...row } = head as TaskHead;
  expect(write).toMatchObject({ method: "append", head: row, expected, finishes: head.state === 3 });
  if (write.method !== "append") return;
  const { send: kept, fence: relied, lease: wanted, pushConfig: put, conversation: state, time: at } = write;
  expect({ kept, relied, wanted, put, state, at }).toEqual({
    state: conversation,
    kept: send,
    relied: fence,
    wanted: lease,
    put: pushConfig,
    at: time,
  });
  const read: Uint8Array[] = [];
  for (const segment of write.segments) readEntries(segment, 0, Number.POSITIVE_INFINITY, read);
  expect(read).toEqual(entries);
}

describe("MessageBuilder", () => {
  it("brings every write to the other thread, in order", () => {
    const builder = new MessageBuilder();
    fc.assert(
      fc.property(fc.array(sent, { maxLength: 8 }), (all) => {
        const message = arrived(build(builder, all));
        expect(message.count).toBe(all.length);
        const writes = readMessage(message);
        expect(writes).toHaveLength(all.length);
        writes.forEach((write, index) => {
          check(write, all[index]!);
        });
      }),
    );
  });

  it("has its own copy of the bytes before it is sent", () => {
    const builder = new MessageBuilder();
    const entry = bytesOf("entry");
    const fold = bytesOf("fold");
    builder.addAppend({ head: headOf({ taskId: "a" }), expected: 0, creates: true, entries: [entry] }, false);
    builder.addSnapshot("a", { position: 1, bytes: fold });
    entry.fill(0);
    fold.fill(0);
    const [append, snapshot] = readMessage(arrived(builder.take()));
    check(append!, {
      append: { head: headOf({ taskId: "a" }), expected: 0, creates: true, entries: [bytesOf("entry")] },
    });
    check(snapshot!, { snapshot: { taskId: "a", snapshot: { position: 1, bytes: bytesOf("fold") } } });
  });

  it("tells its size, and begins anew after it was taken", () => {
    const builder = new MessageBuilder();
    expect(builder.size).toBe(0);
    builder.addSnapshot("a", { position: 1, bytes: new Uint8Array(100_000) });
    expect(builder.size).toBe(100_000);
    expect(builder.take().count).toBe(1);
    expect(builder.size).toBe(0);
    expect(builder.take()).toMatchObject({ count: 0, fields: [] });
  });
});
