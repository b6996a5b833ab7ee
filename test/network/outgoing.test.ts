import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { ClientHttp2Session } from "node:http2";
import * as net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, until } from "./serve.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const MIB = 1024 * 1024;

interface Memory {
  /** Bytes in the heap of JavaScript and outside of it, after a collection. */
  readonly held: number;
  readonly rss: number;
  /** The longest stop of the event loop since it was asked for last, in milliseconds. */
  readonly longestMs: number;
}

/** A server in a process of its own, with a heap of so many MiB. */
interface Child {
  readonly port: number;
  readonly grpcPort: number;
  memory(): Promise<Memory>;
  /** Whether it has ended, which it never should. */
  readonly ended: () => boolean;
  end(): Promise<void>;
}

async function start(heapMib: number, limits: object = {}): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), "parley-outgoing-"));
  const file = join(folder, "tasks.db");
  const script = fileURLToPath(new URL("./outgoing-server.ts", import.meta.url));
  const execArgv = ["--import", "tsx", "--expose-gc", `--max-old-space-size=${heapMib}`];
  const child = fork(script, [file, JSON.stringify(limits)], {
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let ended = false;
  child.once("exit", () => (ended = true));
  const end = async (): Promise<void> => {
    if (ended) return;
    child.kill("SIGKILL");
    await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  };
  const answer = async <T>(): Promise<T> => {
    const gone = once(child, "exit").then(() => Promise.reject(new Error("the server has ended")));
    gone.catch(() => {});
    return (await Promise.race([once(child, "message"), gone]))[0] as T;
  };
  const ports = await answer<{ port: number; grpcPort: number }>();
  return {
    ...ports,
    ended: () => ended,
    end,
    memory: () => {
      child.send("memory");
      return answer<Memory>();
    },
  };
}

const json = { "content-type": "application/json" };

/** Makes a task and gives its id. */
async function task({ port }: Child, text: string): Promise<string> {
  const body = JSON.stringify({ ...messageOf(text), configuration: { historyLength: 0, returnImmediately: true } });
  const answer = await http1(port)({ path: "/message:send", headers: json, body });
  const { id } = (JSON.parse(answer.body.toString()) as { task: { id: string } }).task;
  const state = async () => {
    const path = `/tasks?pageSize=100`;
    const list = await http1(port)({ method: "GET", path });
    const { tasks } = JSON.parse(list.body.toString()) as { tasks: { id: string; status: { state: string } }[] };
    return tasks.find((each) => each.id === id)?.status.state;
  };
  await until(async () => /COMPLETED|INPUT/.test((await state()) ?? ""));
  return id;
}

/** Polls until the server's memory stays as it is. */
async function settled(child: Child): Promise<Memory> {
  let last = 0;
  let memory = await child.memory();
  await until(async () => {
    last = memory.held;
    await new Promise((resolve) => setTimeout(resolve, 250));
    memory = await child.memory();
    return Math.abs(memory.held - last) < MIB;
  });
  return memory;
}

/** Asks and never reads: over HTTP/1.1. */
function deafSocket(port: number, request: string): void {
  const socket = net.connect(port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  socket.write(request);
}

/** A connection that has a window, and streams on it that never take more than that. */
function deafStream(session: ClientHttp2Session, headers: Record<string, string>, body?: Buffer): void {
  const stream = session.request({ ":method": body === undefined ? "GET" : "POST", ...headers });
  stream.on("error", () => {});
  stream.pause();
  if (body !== undefined) stream.end(body);
}

const rpcPath = (rpc: string): string => `/${A2AService.typeName}/${rpc}`;
const requestOf = (rpc: string, id: string): Buffer => envelope(bytesOf({ rpc, request: { id } }));
const post = (path: string, type: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const rpcBody = (method: string, id: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { id } });
const window = { initialWindowSize: 16 };

/** How somebody asks for a task over each binding, as a whole or as the first frame of a stream, and does not read. */
const ways: readonly [name: string, ask: (child: Child, id: string) => void][] = [
  ["REST", ({ port }, id) => deafSocket(port, `GET /tasks/${id} HTTP/1.1\r\nhost: localhost\r\n\r\n`)],
  [
    "a stream of REST",
    ({ port }, id) => deafSocket(port, `GET /tasks/${id}:subscribe HTTP/1.1\r\nhost: localhost\r\n\r\n`),
  ],
  ["REST over HTTP/2", ({ port }, id) => deafStream(connect(port, window), { ":path": `/tasks/${id}` })],
  ["JSON-RPC", ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("GetTask", id)))],
  [
    "a stream of JSON-RPC",
    ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("SubscribeToTask", id))),
  ],
  [
    "Connect in JSON",
    ({ port }, id) => deafSocket(port, post(rpcPath("GetTask"), "application/json", JSON.stringify({ id }))),
  ],
  ...(["application/proto"] as const).map((type): (typeof ways)[number] => [
    "Connect",
    ({ port }, id) =>
      deafStream(
        connect(port, window),
        { ":path": rpcPath("GetTask"), "content-type": type },
        Buffer.from(bytesOf({ rpc: "GetTask", request: { id } })),
      ),
  ]),
  ...["application/connect+json", "application/connect+proto"].map((type): (typeof ways)[number] => [
    `a stream of ${type}`,
    ({ port }, id) => {
      const body = type.endsWith("json") ? envelope(JSON.stringify({ id })) : requestOf("SubscribeToTask", id);
      deafStream(connect(port, window), { ":path": rpcPath("SubscribeToTask"), "content-type": type }, body);
    },
  ]),
  ...["GetTask", "SubscribeToTask"].flatMap((rpc) =>
    (["gRPC-Web", "gRPC on the HTTP port", "gRPC"] as const).map((name): (typeof ways)[number] => [
      `${rpc === "GetTask" ? "" : "a stream of "}${name}`,
      ({ port, grpcPort }, id) => {
        const type = name === "gRPC-Web" ? "application/grpc-web+proto" : "application/grpc";
        const session = connect(name === "gRPC" ? grpcPort : port, window);
        deafStream(session, { ":path": rpcPath(rpc), "content-type": type, te: "trailers" }, requestOf(rpc, id));
      },
    ]),
  ),
];

describe("readers of a large task who never read", () => {
  let child: Child;
  let id: string;
  beforeAll(async () => {
    child = await start(512, { maxOutgoingBytesPerCaller: 2 ** 30 });
    // As its client sees it, it has 24 MiB.
    id = await task(child, "pause 48 524288");
  });
  afterAll(() => child.end());

  it.each(ways)("cost the task once, over %s", async (_name, ask) => {
    const before = await child.memory();
    for (let i = 0; i < 12; i++) ask(child, id);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const after = await settled(child);
    // Unshared they are twelve times 24 MiB at least: here the task itself, its pieces that are kept, and change.
    expect((after.held - before.held) / MIB).toBeLessThan(24 + 16 + 40);
    expect(child.ended()).toBe(false);
  });
});
