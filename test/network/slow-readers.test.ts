import type { ClientHttp2Stream } from "node:http2";
import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import { callBeside, connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

/** The task that all of them read: 12 MiB in pieces of 16 KiB. */
const pieces = 768;
const pieceBytes = 16 * 1024;
const taskBytes = pieces * pieceBytes;
const taskMib = taskBytes / 2 ** 20;

async function bigTask({ port }: Served): Promise<string> {
  const body = JSON.stringify({ ...messageOf(`flood ${pieces} ${pieceBytes}`), configuration: { historyLength: 0 } });
  const answer = await http1(port)({ path: "/message:send", headers: { "content-type": "application/json" }, body });
  return (JSON.parse(answer.body.toString()) as { task: { id: string } }).task.id;
}

/** A client that asks for a whole stream, takes a little of it and stops reading. */
interface Slow {
  readonly begun: Promise<unknown>;
  /** Reads all that is left, and tells how many bytes came. */
  finish(): Promise<number>;
  leave(): void;
}

const resume = { "last-event-id": "1" };

function overSocket({ port }: Served, taskId: string): Slow {
  const socket = net.connect(port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `GET /tasks/${taskId}:subscribe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nlast-event-id: 1\r\n\r\n`,
  );
  return slow(socket, () => socket.destroy());
}

function overHttp2(port: number, path: string, headers: Record<string, string>, body?: Buffer): Slow {
  const session = connect(port);
  const stream = session.request({
    ":method": body === undefined ? "GET" : "POST",
    ":path": path,
    ...headers,
    ...resume,
  });
  if (body !== undefined) stream.end(body);
  return slow(
    stream.on("error", () => {}),
    () => session.destroy(),
  );
}

function slow(stream: net.Socket | ClientHttp2Stream, leave: () => void): Slow {
  let bytes = 0;
  const begun = new Promise<void>((resolve) => {
    stream.once("data", (chunk: Buffer) => {
      bytes += chunk.length;
      stream.pause();
      resolve();
    });
  });
  const finish = async (): Promise<number> => {
    for await (const chunk of stream) bytes += (chunk as Buffer).length;
    return bytes;
  };
  return { begun, finish, leave };
}

const rpc = `/${A2AService.typeName}/SubscribeToTask`;
const bodyOf = (taskId: string): Buffer => envelope(bytesOf({ rpc: "SubscribeToTask", request: { id: taskId } }));
const grpcHeaders = { "content-type": "application/grpc", te: "trailers" };

const readers: [name: string, open: (served: Served, taskId: string) => Slow][] = [
  ["HTTP/1.1", overSocket],
  ["HTTP/2", ({ port }, taskId) => overHttp2(port, `/tasks/${taskId}:subscribe`, {})],
  ["Connect", ({ port }, id) => overHttp2(port, rpc, { "content-type": "application/connect+proto" }, bodyOf(id))],
  ["gRPC on the HTTP port", ({ port }, taskId) => overHttp2(port, rpc, grpcHeaders, bodyOf(taskId))],
  ["gRPC", ({ grpcPort }, taskId) => overHttp2(grpcPort, rpc, grpcHeaders, bodyOf(taskId))],
];

describe("readers that do not read", () => {
  it.each(readers)("cost next to nothing over %s, and find everything when they go on", async (name, open) => {
    const count = 40;
    const served = await serve({ store: sqliteStore({ path: temporaryFile(), synchronous: "NORMAL" }) });
    const taskId = await bigTask(served);
    const figures = await Figures.begin(held);
    const all = Array.from({ length: count }, () => open(served, taskId));
    await Promise.all(all.map(({ begun }) => begun));
    // The buffers between both sides fill until the server waits.
    await until(settled());
    await callBeside(figures, served.port);
    figures.print(`slow readers over ${name}`);
    // Both sides are in this process. Unbounded, each of them would hold the whole task.
    expect(figures.grown).toBeLessThan((count * taskMib) / 4);
    const [first, ...others] = all;
    expect(await first?.finish()).toBeGreaterThan(taskBytes);
    for (const { leave } of others) leave();
    expect(served.errors()).toEqual([]);
    await served.server.close({ graceMs: 5_000 });
  });
});

/** Returns a check that is true once memory has stopped growing. */
function settled(): () => boolean {
  let last = 0;
  return () => {
    const now = held();
    const still = Math.abs(now - last) < 1024 * 1024;
    last = now;
    return still;
  };
}
