import { once } from "node:events";
import * as http1Client from "node:http";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

const json = { "content-type": "application/json" };

async function send(served: Served, text: string): Promise<string> {
  const body = JSON.stringify({ ...messageOf(text), configuration: { returnImmediately: true } });
  const answer = await http1(served.port)({ path: "/message:send", headers: json, body });
  return (JSON.parse(answer.body.toString()) as { task: { id: string } }).task.id;
}

/** A stream that is being read, and how it ended. */
interface Reader {
  readonly begun: Promise<void>;
  readonly ended: Promise<string>;
}

function read(stream: ClientHttp2Stream | http1Client.IncomingMessage): Reader {
  let tail = "";
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  stream.on("data", (chunk: Buffer) => {
    begin();
    tail = (tail + chunk.toString("latin1")).slice(-400);
  });
  const ended = new Promise<string>((resolve) => {
    stream.once("end", () => resolve(tail));
    stream.once("error", (error) => resolve(`broken: ${error.message}`));
  });
  return { begun, ended };
}

const overHttp2 = (session: ClientHttp2Session, taskId: string): Reader =>
  read(session.request({ ":method": "GET", ":path": `/tasks/${taskId}:subscribe` }));

const overGrpc = (session: ClientHttp2Session, taskId: string): Reader => {
  const path = `/${A2AService.typeName}/SubscribeToTask`;
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.end(envelope(bytesOf({ rpc: "SubscribeToTask", request: { id: taskId } })));
  return read(stream);
};

function overHttp1(port: number, agent: http1Client.Agent, taskId: string): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, agent, path: `/tasks/${taskId}:subscribe` };
    http1Client.get(options, (response) => resolve(read(response))).once("error", reject);
  });
}

describe("ten thousand streams at once", () => {
  it("of one task and of many, over every kind of connection, all come to the last event", async () => {
    const served = await serve({ limits: { maxSubscriptionsPerTaskPerCaller: 10_000 } });
    const tasks = await Promise.all(Array.from({ length: 50 }, (_, i) => send(served, `gate g${i === 0 ? 0 : i}`)));
    const one = tasks[0] ?? "";
    const readers: Reader[] = [];
    for (let i = 0; i < 40; i++) {
      const session = connect(served.port);
      for (let j = 0; j < 200; j++) readers.push(overHttp2(session, j % 2 === 0 ? one : (tasks[j % 50] ?? one)));
      await Promise.all(readers.slice(-200).map(({ begun }) => begun));
    }
    for (let i = 0; i < 10; i++) {
      const session = connect(served.grpcPort);
      for (let j = 0; j < 150; j++) readers.push(overGrpc(session, tasks[j % 50] ?? one));
    }
    const agent = new http1Client.Agent();
    cleanup(() => agent.destroy());
    for (let j = 0; j < 10; j++) {
      const opening = Array.from({ length: 50 }, (_, i) => overHttp1(served.port, agent, tasks[i] ?? one));
      readers.push(...(await Promise.all(opening)));
    }
    await Promise.all(readers.map(({ begun }) => begun));
    expect(readers).toHaveLength(10_000);
    for (let i = 0; i < 50; i++) served.gates.open(`g${i}`);
    const ends = await Promise.all(readers.map(({ ended }) => ended));
    // In binary the state is a number: field 1 of the status.
    const last = (tail: string): boolean => tail.includes("TASK_STATE_COMPLETED") || tail.includes("\u0008\u0003");
    expect(ends.filter((tail) => !last(tail)).slice(0, 3)).toEqual([]);
    expect(served.errors()).toEqual([]);
    await quiet(served);
  });
});

/** Nothing is left open or held: as many streams as are allowed can be opened anew, and the end comes at once. */
async function quiet(served: Served): Promise<void> {
  const answer = await http1(served.port)({
    path: "/message:send",
    headers: json,
    body: JSON.stringify(messageOf("hello")),
  });
  expect(answer.status).toBe(200);
  await served.server.close({ graceMs: 10_000 });
}

/** Eight streams, or those of them that were not refused, and how their reader goes. */
interface Group {
  readonly opened: number;
  leave(): void;
}

type Leave = (session: ClientHttp2Session, streams: readonly ClientHttp2Stream[]) => void;

/** Over HTTP/2; where `type` is given a protocol of envelopes, else events. */
function group(port: (served: Served) => number, leave: Leave, type?: string) {
  return async (served: Served, taskId: string): Promise<Group> => {
    const session = connect(port(served));
    const streams = Array.from({ length: 8 }, () => {
      const get = { ":method": "GET", ":path": `/tasks/${taskId}:subscribe` };
      const post = { ":method": "POST", ":path": `/${A2AService.typeName}/SubscribeToTask`, te: "trailers" };
      const stream = session.request(type === undefined ? get : { ...post, "content-type": type }, {
        endStream: false,
      });
      stream.on("error", () => {});
      if (type === undefined) stream.end();
      else stream.end(envelope(bytesOf({ rpc: "SubscribeToTask", request: { id: taskId } })));
      return stream;
    });
    // A refusal has headers and an end, or nothing but trailers; a stream that is open says something and stays.
    const open = streams.map(async (stream) => {
      const { begun, ended } = read(stream);
      await Promise.race([begun, ended]);
      return (await Promise.race([ended, sleep(100)])) === undefined;
    });
    const opened = (await Promise.all(open)).filter(Boolean).length;
    return { opened, leave: () => leave(session, streams) };
  };
}

async function overSockets(served: Served, taskId: string): Promise<Group> {
  const sockets = Array.from({ length: 8 }, () => net.connect(served.port, "127.0.0.1"));
  const answers = sockets.map(async (socket) => {
    cleanup(() => socket.destroy());
    socket.on("error", () => {}).write(`GET /tasks/${taskId}:subscribe HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    const [first] = (await once(socket, "data")) as [Buffer];
    return first.toString().startsWith("HTTP/1.1 200");
  });
  const opened = (await Promise.all(answers)).filter(Boolean).length;
  return { opened, leave: () => sockets.forEach((socket) => void socket.resetAndDestroy()) };
}

const http = ({ port }: Served): number => port;
const grpc = ({ grpcPort }: Served): number => grpcPort;
const destroy: Leave = (session) => session.destroy();
const reset: Leave = (_, streams) => {
  for (const stream of streams) stream.close(8);
};

describe("streams whose readers left", () => {
  it("are not counted any more, however they left and on whatever connection", async () => {
    const served = await serve({ limits: { maxStreams: 8 } });
    const taskId = await send(served, "gate g");
    const groups = [
      overSockets,
      group(http, destroy),
      group(http, reset),
      group(http, reset, "application/connect+proto"),
      group(http, destroy, "application/grpc"),
      group(http, reset, "application/grpc-web+proto"),
      group(grpc, reset, "application/grpc"),
      group(grpc, destroy, "application/grpc"),
    ];
    for (const open of [...groups, overSockets]) {
      // Those of the group before may still be on their way out.
      await until(async () => {
        const { opened, leave } = await open(served, taskId);
        if (opened === 8) expect((await overSockets(served, taskId)).opened).toBe(0);
        leave();
        return opened === 8;
      });
    }
    served.gates.open("g");
    await quiet(served);
    expect(served.errors()).toEqual([]);
  });
});
