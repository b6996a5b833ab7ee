import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../src/core/error.js";
import { parseSse, SSE_HEARTBEAT, type SseEvent, sseFrame } from "../../src/wire/sse.js";

async function* chunks(bytes: Uint8Array, cuts: readonly number[]) {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(bytes.length, Math.max(from, cut));
    yield bytes.subarray(from, to);
    from = to;
  }
  yield bytes.subarray(from);
}

async function events(text: string, cuts: readonly number[] = [], maxLength?: number): Promise<SseEvent[]> {
  const found: SseEvent[] = [];
  for await (const event of parseSse(chunks(Buffer.from(text), cuts), maxLength)) found.push(event);
  return found;
}

const event = (data: string, id = "", name?: string): SseEvent => ({ data, id, event: name });

describe("sseFrame()", () => {
  it("is read back, whatever the JSON and wherever the bytes are cut", async () => {
    const frame = fc.record({ value: fc.jsonValue(), id: fc.option(fc.nat(), { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 5 }), fc.array(fc.nat(400)), async (frames, cuts) => {
        const text = frames.map(({ value, id }) => sseFrame(JSON.stringify(value), id)).join(SSE_HEARTBEAT);
        let last = "";
        const expected = frames.map(({ value, id }) => {
          last = id === undefined ? last : `${id}`;
          return event(JSON.stringify(value), last);
        });
        expect(await events(text, cuts)).toEqual(expected);
      }),
    );
  });
});

describe("parseSse()", () => {
  it("finds the same events wherever the bytes are cut", async () => {
    const piece = fc.constantFrom(
      "data: a",
      "data",
      "data:b",
      ": note",
      "id: 1",
      "id",
      "event: x",
      "é😀",
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "\r\n\r\n",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 25 }), fc.array(fc.nat(100)), async (pieces, cuts) => {
        expect(await events(pieces.join(""), cuts)).toEqual(await events(pieces.join("")));
      }),
    );
  });

  it("follows the HTML standard", async () => {
    expect(await events("\ufeffdata: a\ndata:b\ndata\n\n")).toEqual([event("a\nb\n")]);
    expect(await events("id: 7\r\nevent: note\r\ndata:  x\r\n\r\ndata: y\r\r")).toEqual([
      event(" x", "7", "note"),
      event("y", "7"),
    ]);
    expect(await events("event: x\n\n: comment\n\ndata: z\n\n")).toEqual([event("z")]);
    expect(await events("id: a\0b\ndata: x\n\nid\ndata: y\n\n")).toEqual([event("x"), event("y")]);
    expect(await events("data: cut off\n")).toEqual([]);
  });

  it("refuses an endless event", async () => {
    await expect(events(`data: ${"x".repeat(200)}`, [50, 100, 150], 100)).rejects.toThrow(A2AError);
    await expect(events("data: x\n".repeat(50), [100, 200], 100)).rejects.toThrow(A2AError);
    expect(await events("data: x\n\n".repeat(50), [100, 200], 100)).toHaveLength(50);
  });
});
