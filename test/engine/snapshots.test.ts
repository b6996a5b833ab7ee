import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Bench, settle } from "./support.js";

/**
 * The sizes of a task's log and of all its snapshots in bytes, with the position of the last snapshot and of the end.
 */
async function left(execute: Agent["execute"]): Promise<{ log: number; snapshots: number; at: number; end: number }> {
  const memory = memoryStore();
  let log = 0;
  let snapshots = 0;
  const append = memory.append.bind(memory);
  const save = memory.saveSnapshot.bind(memory);
  memory.append = (request) => {
    for (const { length } of request.entries) log += length;
    return append(request);
  };
  memory.saveSnapshot = (request) => {
    snapshots += request.snapshot.bytes.length;
    return save(request);
  };
  const bench = new Bench({ execute }, {}, memory);
  const held = await bench.send("go");
  await settle(held);
  const taskId = held.now().task.id;
  held.release();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const loaded = await memory.load({ taskId });
  return { log, snapshots, at: loaded?.snapshot?.position ?? 0, end: loaded?.head.position ?? 0 };
}

const pieces = 300;
const large = "x".repeat(64 * 1024);

describe("snapshots", () => {
  it("are not written of a task whose log is read as fast: it would be stored several times", async () => {
    const { log, snapshots } = await left(async function* () {
      for (let piece = 0; piece < pieces; piece++) yield artifact({ name: "a", text: large, append: true });
    });
    expect(log).toBeGreaterThan(pieces * large.length);
    expect(snapshots).toBeLessThan(log / 4);
  });

  it("are written of a task that is smaller than its log", async () => {
    const { snapshots, log, at, end } = await left(async function* () {
      for (let piece = 0; piece < pieces; piece++) yield artifact({ id: "a", text: large });
    });
    expect(at).toBeGreaterThan(end / 2);
    expect(snapshots).toBeLessThan(log / 4);
  });

  it("are written of many small entries, at doubled distances", async () => {
    const { at, end } = await left(async function* () {
      for (let piece = 0; piece < pieces; piece++) yield artifact({ name: "a", text: "some words", append: true });
    });
    expect(at).toBeGreaterThan(end / 2);
  });

  it("come where small entries follow large ones, once there are enough of them", async () => {
    const { at, end, log, snapshots } = await left(async function* () {
      for (let piece = 0; piece < 64; piece++) yield artifact({ name: "a", text: large, append: true });
      for (let piece = 0; piece < 8_000; piece++) yield artifact({ name: "b", text: "some words", append: true });
    });
    expect(at).toBeGreaterThan(end / 4);
    expect(snapshots).toBeLessThan(3 * log);
  });
});
