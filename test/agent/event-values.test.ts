import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { eventBounds } from "../../src/agent/checked-copies.js";
import type { AgentEvent } from "../../src/agent/event.js";
import { artifact, completed, reply, working } from "../../src/agent/event.js";
import { Bench, settle } from "../engine/support.js";
import { setConstants, setConstantsOfFile } from "../support/constants.js";

setConstantsOfFile(eventBounds, { maxParts: 3, maxValues: 10 });

/** Runs an agent that yields one event and then completes. Returns the final state and the text of its status. */
async function end(event: AgentEvent): Promise<string> {
  const bench = new Bench({
    async *execute() {
      yield event;
      yield completed("done");
    },
  });
  const held = await bench.send("go");
  await settle(held);
  const { status } = held.now().task;
  held.release();
  return `${TaskState[status?.state ?? 0]}: ${status?.message?.parts[0]?.content.value}`;
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => ({ text: `${index}` }));
const tooManyParts =
  "FAILED: The agent's answer is not valid: an event may have at most 3 parts; more come in further events.";
const tooManyValues =
  "FAILED: The agent's answer is not valid: an event may have at most 10 values (members and elements of JSON, extensions).";
const fine = "COMPLETED: done";

describe("an event of an agent", () => {
  it("has at most so many parts, or its task fails with the reason", async () => {
    expect(await end(artifact({ name: "a", parts: texts(3) }))).toBe(fine);
    expect(await end(artifact({ name: "a", parts: texts(4) }))).toBe(tooManyParts);
    expect(await end(artifact({ name: "a", parts: texts(3), text: "one more" }))).toBe(tooManyParts);
    expect(await end(working(texts(3)))).toBe(fine);
    expect(await end(working(texts(4)))).toBe(tooManyParts);
    expect(await end(working({ parts: texts(4) }))).toBe(tooManyParts);
  });

  it("has at most so many values, wherever they are", async () => {
    const list = (count: number): JsonValue => Array.from({ length: count }, (_, index) => index);
    const object = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
    const named = (count: number) => Array.from({ length: count }, (_, index) => `urn:${index}`);
    expect(await end(artifact({ data: list(10) }))).toBe(fine);
    expect(await end(artifact({ data: list(11) }))).toBe(tooManyValues);
    expect(await end(artifact({ data: { a: [object(4), object(3)] } }))).toBe(fine);
    expect(await end(artifact({ data: { a: [object(4), object(4)] } }))).toBe(tooManyValues);
    expect(await end(artifact({ text: "x", metadata: object(11) }))).toBe(tooManyValues);
    expect(await end(artifact({ parts: [{ text: "x", metadata: object(6) }, { data: list(5) }] }))).toBe(tooManyValues);
    expect(await end(artifact({ text: "x", extensions: named(11) }))).toBe(tooManyValues);
    expect(await end(working({ parts: texts(1), metadata: object(11) }))).toBe(tooManyValues);
  });

  it("may be anything: what is no list, or has no end, is refused as well", async () => {
    const loop: Record<string, unknown> = {};
    loop.again = loop;
    expect(await end(artifact({ data: loop as JsonValue }))).toBe(tooManyValues);
    expect(await end(artifact({ parts: "abcdef" as never }))).toContain("must be a list");
    expect(await end(artifact({ parts: [null] as never }))).toMatch(/^FAILED/);
    expect(await end(artifact({ data: new Array(2 ** 32 - 1) as never }))).toBe(tooManyValues);
    setConstants(eventBounds, { maxValues: 50_000 });
    expect(await end(artifact({ data: loop as JsonValue }))).toContain("nested at most");
  });

  it("names the form that content and parts have, where they have another one", async () => {
    const message = "a message is a text, a list of parts, or an object with them as parts";
    const part = "a part is an object with text, data, file (with bytes or url), raw (the bytes of a file) or url";
    for (const content of [5, { answer: 1 }, new Error("x"), true]) {
      expect(await end(completed(content as never))).toContain(message);
    }
    for (const each of [null, 5, "text", {}, { file: "a.txt" }, { file: {} }, { file: { name: "a" } }]) {
      expect(await end(artifact({ parts: [each] as never }))).toContain(part);
      expect(await end(completed([each] as never))).toContain(part);
    }
  });

  it("does not stop the event loop by default: hundreds of thousands of parts are refused before any is looked at", async () => {
    const parts = new Proxy(texts(200_000), {
      get(target, name) {
        if (name === "0") throw new Error("looked at");
        return Reflect.get(target, name);
      },
    });
    setConstants(eventBounds, { maxParts: 10_000 });
    expect(await end(artifact({ parts }))).toContain("an event may have at most 10000 parts");
  });

  it("is a direct answer within the same limits", async () => {
    const bench = new Bench({
      responds: "message",
      async *execute() {
        yield reply(texts(4));
      },
    });
    await expect(bench.reply("x")).rejects.toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: "The agent's answer is not valid: an event may have at most 3 parts; more come in further events.",
    });
  });
});
