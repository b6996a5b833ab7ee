import { connect, type Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { outgoingWait } from "../../src/service/outgoing-budget.js";
import { clients, type Operator, openTasks, stores, type TaskWorld } from "./task-world.js";
import { tokens } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

/** Starts to read an answer and stops. The kernel buffers a part of it, and the server the rest. */
function unread(address: string, path: string): Promise<Socket> {
  const [host = "", port = ""] = address.split(":");
  const socket = connect({ host, port: Number(port) });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokens.read}\r\n\r\n`);
  return new Promise((resolve) => socket.once("readable", () => resolve(socket)));
}

describe("large answers to operators", () => {
  let world: TaskWorld;
  let admin: Operator;
  let taskId: string;
  const { timeoutMs } = outgoingWait;
  beforeAll(async () => {
    Object.assign(outgoingWait, { timeoutMs: 300 });
    // Space for one of the large answers.
    world = await openTasks(stores.sqlite(), { maxOutgoingBytes: 16 * 1024 * 1024 });
    admin = clients.connect(world.address);
    taskId = await world.send("alice", "fill 24");
  });
  afterAll(async () => {
    Object.assign(outgoingWait, { timeoutMs });
    await world.close();
  });

  it("are refused while earlier ones are unread", async () => {
    const socket = await unread(world.address, `/v1/tasks/${taskId}`);
    const code = (call: Promise<unknown>): Promise<Code | undefined> =>
      call.then(
        () => undefined,
        (error) => ConnectError.from(error).code,
      );
    expect(await code(admin.getTask({ taskId }))).toBe(Code.Unavailable);
    expect(await code(admin.listEntries({ taskId, raw: true }))).toBe(Code.Unavailable);
    const lines = async (): Promise<number> => {
      let length = 0;
      for await (const piece of admin.exportTask({ taskId })) length += piece.lines.length;
      return length;
    };
    expect(await code(lines())).toBe(Code.Unavailable);
    // A small answer fits.
    expect((await admin.listTasks({})).tasks).toHaveLength(1);
    socket.destroy();
    const read = async (): Promise<void> => expect((await admin.getTask({ taskId })).task?.artifacts).toHaveLength(25);
    await vi.waitFor(read, { timeout: 30_000 });
    expect((await admin.listEntries({ taskId, raw: true })).entries.length).toBeGreaterThan(1);
    expect(await lines()).toBeGreaterThan(24 * 1024 * 1024);
  });

  it("are found by the JSON of their data", async () => {
    const found = async (text: string): Promise<number> => (await admin.listTasks({ text })).tasks.length;
    expect(await found('"sum":4711')).toBe(1);
    expect(await found('["Ä","24"]')).toBe(1);
    expect(await found("typeName")).toBe(0);
    expect(await found("structValue")).toBe(0);
  });
});
