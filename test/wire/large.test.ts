import { create, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ListTasksResponseSchema,
  PartSchema,
  StreamResponseSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { binaryWriter } from "../../src/wire/binary-writer.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { binaryPieces, jsonPieces, type MeasuredPieces, measuredJson } from "../../src/wire/large/large.js";
import { cacheForms } from "../../src/wire/serialization-cache.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

const whole = (pieces: Iterable<Uint8Array>): Buffer => Buffer.concat([...pieces]);

function measured({ length, pieces }: MeasuredPieces): Buffer {
  const bytes = whole(pieces);
  expect(bytes.length).toBe(length);
  return bytes;
}

/** Marks the tasks in a message as shared. */
function shareTasks(message: Message): void {
  const { task, tasks = [], payload } = message as { task?: Task; tasks?: Task[]; payload?: { value?: Message } };
  for (const each of [task, payload?.value, ...tasks]) if (each !== undefined) cacheForms(each);
}

/** A task of so many parts. Its texts and bytes are longer than a piece and full of characters that JSON escapes. */
function largeTask(parts = 40): Task {
  const text = 'é"\u2028😀\n'.repeat(30_000);
  const raw = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i & 0xff));
  const contents = [
    { case: "text", value: text },
    { case: "raw", value: raw },
    { case: "text", value: "short" },
  ] as const;
  return create(TaskSchema, {
    id: "t",
    artifacts: [{ artifactId: "a", parts: Array.from({ length: parts }, (_, i) => ({ content: contents[i % 3] })) }],
    history: [{ messageId: "m", parts: [{ content: contents[0] }] }],
  } as never);
}

describe("a large message in pieces", () => {
  it.each(contractTypes.map((desc) => [desc.name, desc] as const))("is any %s, on both wires", async (_name, desc) => {
    await fc.assert(
      fc.asyncProperty(anyMessage(desc), fc.boolean(), async (message, shared) => {
        const json = JSON.parse(jsonWriter(desc)(message));
        const bytes = binaryWriter(desc)(message);
        if (shared) shareTasks(message);
        expect(JSON.parse(whole(jsonPieces(desc, message)).toString())).toEqual(json);
        expect(JSON.parse(measured(await measuredJson(desc, message)).toString())).toEqual(json);
        expect(measured(await binaryPieces(desc, message))).toEqual(Buffer.from(bytes));
      }),
      { numRuns: 30 },
    );
  });

  it("is cut within its texts and bytes, and no piece is large", async () => {
    const task = largeTask();
    expect(JSON.parse(whole(jsonPieces(TaskSchema, task)).toString())).toEqual(
      JSON.parse(jsonWriter(TaskSchema)(task)),
    );
    const { length, pieces } = await binaryPieces(TaskSchema, task);
    const all = [...pieces];
    expect(Buffer.concat(all).equals(binaryWriter(TaskSchema)(task))).toBe(true);
    expect(length).toBe(Buffer.concat(all).length);
    const largest = Math.max(...[...jsonPieces(TaskSchema, task), ...all].map((piece) => piece.length));
    expect(largest).toBeLessThan(512 * 1024);
    // The output contains no character that some readers of SSE treat as a line break.
    expect(whole(jsonPieces(TaskSchema, task)).toString()).not.toMatch(/[\u0085\u2028\u2029]/);
  });

  it("is made once for readers that are close to each other, whatever they read it in", async () => {
    const task = cacheForms(largeTask(6));
    const answer = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    const page = create(ListTasksResponseSchema, { tasks: [task] });
    const alone = [...jsonPieces(TaskSchema, task)];
    for (const other of [jsonPieces(StreamResponseSchema, answer), jsonPieces(ListTasksResponseSchema, page)]) {
      // The very same memory, not a copy of it.
      const same = new Set([...other]);
      expect(alone.every((piece) => same.has(piece))).toBe(true);
    }
    const { pieces } = await binaryPieces(TaskSchema, task);
    const inAnswer = new Set((await binaryPieces(StreamResponseSchema, answer)).pieces);
    expect([...pieces].every((piece) => inAnswer.has(piece))).toBe(true);
  });

  it("is made again for a reader that comes when its pieces are not kept any more", async () => {
    const task = cacheForms(largeTask(6));
    const first = jsonPieces(TaskSchema, task)[Symbol.iterator]();
    const begin = first.next().value as Uint8Array;
    // More than is kept of all messages together.
    const contents = Array.from({ length: 24 }, () => ({ content: { case: "text", value: "x".repeat(1024 * 1024) } }));
    const other = create(TaskSchema, { artifacts: [{ artifactId: "a", parts: contents }] } as never);
    expect(whole(jsonPieces(TaskSchema, cacheForms(other))).length).toBeGreaterThan(24 * 1024 * 1024);
    const rest: Uint8Array[] = [begin];
    for (let next = first.next(); next.done !== true; next = first.next()) rest.push(next.value);
    expect(Buffer.concat(rest).equals(whole(jsonPieces(TaskSchema, task)))).toBe(true);
  });

  it("fails every reader alike where it has no form", () => {
    const broken = create(PartSchema, { content: { case: "text", value: "x" } });
    Object.assign(broken, { filename: 5 });
    const task = cacheForms(create(TaskSchema, { id: "t", artifacts: [{ artifactId: "a", parts: [] }] }));
    task.artifacts[0]?.parts.push(broken);
    for (let i = 0; i < 2; i++) expect(() => whole(jsonPieces(TaskSchema, task))).toThrow("Internal error");
  });
});
