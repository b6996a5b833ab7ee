import type * as http from "node:http";
import { get } from "node:http";
import { type ClientHttp2Session, constants } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { A2AService, StreamResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Figures } from "../support/figures.js";
import { type Child, MIB, settled, start, task } from "./child.js";
import { callBeside, connect, http1, http2Client as http2 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, until } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

const children: Child[] = [];
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.end()));
});

async function child(heapMib: number, limits: object = {}, constants: object = {}): Promise<Child> {
  const started = await start(heapMib, limits, constants);
  children.push(started);
  return started;
}

const json = { "content-type": "application/json" };
const rpcPath = (rpc: string): string => `/${A2AService.typeName}/${rpc}`;

interface Response {
  readonly id: number;
  readonly result?: { readonly id: string; readonly artifacts: { parts: unknown[] }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

async function batch({ port }: Child, members: readonly object[]): Promise<Response[]> {
  const body = JSON.stringify(members.map((member, id) => ({ jsonrpc: "2.0", id, ...member })));
  const answer = await http1(port)({ path: "/", headers: json, body });
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  return JSON.parse(answer.body.toString()) as Response[];
}

const read = (id: string): object => ({ method: "GetTask", params: { id } });
const byId = (responses: readonly Response[]): Response[] => responses.toSorted((a, b) => a.id - b.id);

describe("a JSON-RPC batch of a hundred reads of a large task", () => {
  it("is answered up to a limit, and every member behind it by an error, in a small heap", async () => {
    const served = await child(192, { maxOutgoingBytesPerCaller: 64 * MIB });
    const large = await task(served, "flood 16 524288");
    const small = await task(served, "flood 1 1");
    const members = [...Array.from({ length: 99 }, () => read(large)), read(small)];
    const responses = byId(await batch(served, members));
    expect(responses.map(({ id }) => id)).toEqual(members.map((_, id) => id));
    const results = responses.filter(({ result }) => result !== undefined);
    // 8 MiB each.
    expect(results.length).toBe(7);
    for (const { result } of results) expect([result?.id, result?.artifacts[0]?.parts.length]).toEqual([large, 16]);
    const messages = responses.flatMap(({ error }) => (error === undefined ? [] : [error.message]));
    expect(new Set(messages)).toEqual(
      new Set([`The answers of the batch exceed ${64 * MIB} bytes; ask for this one alone.`]),
    );
    expect(served.ended()).toBe(false);
  });

  it("does not hold back what changes something, and says that it was done", async () => {
    const served = await child(192, { maxOutgoingBytesPerCaller: MIB });
    const large = await task(served, "flood 16 131072");
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "flood 16 131072" }] };
    const send = { method: "SendMessage", params: { message, configuration: { historyLength: 0 } } };
    const responses = byId(await batch(served, [read(large), send, read("nope"), { method: "Nothing" }]));
    expect(responses.map(({ error }) => error?.message)).toEqual([
      `The answers of the batch exceed ${MIB} bytes; ask for this one alone.`,
      `The answers of the batch exceed ${MIB} bytes; the call was carried out.`,
      // The server may skip reads that come after the refused answer.
      expect.stringMatching(/does not exist|exceed/),
      "Method not found",
    ]);
    const list = await http1(served.port)({ method: "GET", path: "/tasks?pageSize=10" });
    expect(JSON.parse(list.body.toString()).totalSize).toBe(2);
  });
});

/** Reads of the whole task over each binding. */
const readers: readonly [string, (child: Child, id: string) => Promise<Task | object>][] = [
  ["REST", async ({ port }, id) => JSON.parse(`${(await http1(port)({ method: "GET", path: `/tasks/${id}` })).body}`)],
  [
    "REST over HTTP/2",
    async ({ port }, id) => JSON.parse(`${(await http2(port)({ method: "GET", path: `/tasks/${id}` })).body}`),
  ],
  [
    "JSON-RPC",
    async ({ port }, id) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...read(id) });
      return JSON.parse(`${(await http1(port)({ path: "/", headers: json, body })).body}`).result;
    },
  ],
  ["a batch", async (served, id) => (await batch(served, [read(id)]))[0]?.result as object],
  [
    "Connect in JSON",
    async ({ port }, id) =>
      JSON.parse(
        `${(await http1(port)({ path: rpcPath("GetTask"), headers: json, body: JSON.stringify({ id }) })).body}`,
      ),
  ],
  [
    "Connect with a deadline",
    async ({ port }, id) => {
      const headers = { ...json, "connect-timeout-ms": "60000" };
      return JSON.parse(
        `${(await http1(port)({ path: rpcPath("GetTask"), headers, body: JSON.stringify({ id }) })).body}`,
      );
    },
  ],
  [
    "Connect",
    async ({ port }, id) => {
      const request = { path: rpcPath("GetTask"), headers: { "content-type": "application/proto" } };
      const answer = await http1(port)({ ...request, body: bytesOf({ rpc: "GetTask", request: { id } }) });
      return fromBinary(TaskSchema, answer.body);
    },
  ],
  ...(["grpc", "grpc-web+proto", "own port"] as const).map((type): (typeof readers)[number] => [
    `gRPC, ${type}`,
    async ({ port, grpcPort }, id) => {
      const own = type === "own port";
      const headers = { "content-type": `application/${own ? "grpc" : type}`, te: "trailers" };
      const body = envelope(bytesOf({ rpc: "GetTask", request: { id } }));
      const answer = await http2(own ? grpcPort : port)({ path: rpcPath("GetTask"), headers, body });
      const [message, ...others] = envelopes(answer.body);
      if (type !== "grpc-web+proto") expect([others.length, answer.headers["grpc-status"]]).toEqual([0, "0"]);
      else expect(`${others[0]}`).toContain("grpc-status: 0");
      return fromBinary(TaskSchema, message as Buffer);
    },
  ]),
];

function envelopes(body: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at + 1);
    found.push(body.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return found;
}

describe("a large task", () => {
  it("comes whole over every binding, to whoever reads", async () => {
    const served = await child(256);
    const id = await task(served, "flood 24 131072");
    const lengths: Record<string, unknown> = {};
    for (const [name, ask] of readers) {
      const found = (await ask(served, id)) as {
        id: string;
        artifacts: { parts: { text?: string; content?: { value: string } }[] }[];
      };
      const texts = found.artifacts[0]?.parts.map(({ text, content }) => (text ?? content?.value ?? "").length);
      lengths[name] = [found.id === id, texts?.length, new Set(texts).size, texts?.[0]];
    }
    expect(lengths).toEqual(Object.fromEntries(readers.map(([name]) => [name, [true, 24, 1, 131072]])));
  });

  it.each(["application/connect+json", "application/connect+proto", "application/grpc", "own port"])(
    "is the first frame of a stream, and its events come behind it: %s",
    async (type) => {
      const served = await child(256);
      const id = await task(served, "pause 24 131072");
      const own = type === "own port";
      const isJson = type.endsWith("json");
      const body = isJson
        ? envelope(JSON.stringify({ id }))
        : envelope(bytesOf({ rpc: "SubscribeToTask", request: { id } }));
      const headers = { "content-type": own ? "application/grpc" : type, te: "trailers" };
      const answered = http2(own ? served.grpcPort : served.port)({ path: rpcPath("SubscribeToTask"), headers, body });
      const message = { taskId: id, messageId: "n", role: "ROLE_USER", parts: [{ text: "flood 2 300000" }] };
      await http1(served.port)({
        path: "/message:send",
        headers: json,
        body: JSON.stringify({ message, configuration: { returnImmediately: true, historyLength: 0 } }),
      });
      const frames = envelopes((await answered).body);
      const cases = frames.map((frame) => {
        if (isJson) return Object.keys(JSON.parse(frame.toString()) as object)[0] ?? "end";
        // The last frame of Connect is JSON.
        return frame[0] === 0x7b ? "end" : fromBinary(StreamResponseSchema, frame).payload.case;
      });
      const end = type.startsWith("application/connect") ? ["end"] : [];
      expect(cases.filter((each) => each !== "statusUpdate")).toEqual([
        "task",
        "artifactUpdate",
        "artifactUpdate",
        ...end,
      ]);
    },
  );
});

describe("an answer beyond what the server sends over gRPC", () => {
  it.each(["application/grpc", "application/grpc-web+proto", "own port"])(
    "is refused with an error that says what to do: %s",
    async (type) => {
      const served = await child(256, { maxGrpcAnswerBytes: MIB });
      const id = await task(served, "flood 24 131072");
      const own = type === "own port";
      const headers = { "content-type": own ? "application/grpc" : type, te: "trailers" };
      const body = envelope(bytesOf({ rpc: "GetTask", request: { id } }));
      const answer = await http2(own ? served.grpcPort : served.port)({ path: rpcPath("GetTask"), headers, body });
      const told = `${JSON.stringify(answer.headers)} ${answer.body}`;
      expect(told).toMatch(/grpc-status(": ?"|: )8/);
      expect(told).toMatch(/historyLength/);
    },
  );
});

/** Asks for a task by REST and takes nothing of it until it is resumed. */
function deaf({ port }: Child, id: string, localAddress = "127.0.0.1"): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: `/tasks/${id}`, agent: false, localAddress };
    const request = get(options, (response) => resolve(response.pause()));
    cleanup(() => request.destroy());
    request.on("error", reject);
  });
}

/** Asks for a task and takes next to nothing of it: 200 when it comes, else the status of HTTP, or of gRPC. */
function firstHeaders(session: ClientHttp2Session, isGrpc: boolean, id: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = session.request(
      isGrpc
        ? { ":method": "POST", ":path": rpcPath("GetTask"), "content-type": "application/grpc", te: "trailers" }
        : { ":path": `/tasks/${id}` },
    );
    request.on("response", (headers) => {
      if (!isGrpc) resolve(String(headers[":status"]));
      else if (headers["grpc-status"] !== undefined) resolve(String(headers["grpc-status"]));
    });
    request.on("trailers", (trailers) => resolve(String(trailers["grpc-status"])));
    // The first of it comes, and no more is taken.
    if (isGrpc)
      request.once("data", () => {
        request.pause();
        resolve("200");
      });
    request.on("error", reject);
    request.end(isGrpc ? envelope(bytesOf({ rpc: "GetTask", request: { id } })) : undefined);
  });
}

async function statusOf({ port }: Child, id: string): Promise<number> {
  const answer = await http1(port)({ method: "GET", path: `/tasks/${id}?historyLength=0` });
  return answer.status;
}

describe("what waits for slow readers", () => {
  const limits = { maxOutgoingBytesPerCaller: 24 * MIB };
  const wait = { outgoingWaitMs: 300 };

  it("has room for so much of one caller; the next large answer is refused, and small ones are not", async () => {
    const served = await child(512, limits, wait);
    const tasks = [await task(served, "flood 32 524288"), await task(served, "flood 32 524288")];
    const small = await task(served, "flood 1 1");
    const first = await deaf(served, tasks[0] ?? "");
    // Readers of one task share its bytes.
    const second = await deaf(served, tasks[0] ?? "");
    expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
    expect([await statusOf(served, tasks[1] ?? ""), await statusOf(served, small)]).toEqual([429, 200]);
    first.destroy();
    second.destroy();
    await until(async () => (await statusOf(served, tasks[1] ?? "")) === 200);
  });

  it("has room for so much of one connection, whatever its caller has left", async () => {
    const served = await child(512, { maxOutgoingBytesPerCaller: 48 * MIB }, wait);
    const tasks = [await task(served, "flood 32 524288"), await task(served, "flood 32 524288")];
    const ports = [served.port, served.grpcPort];
    for (const port of ports) {
      const session = connect(port);
      const deafTo = (id: string): Promise<string> => firstHeaders(session, port === served.grpcPort, id);
      expect(await deafTo(tasks[0] ?? "")).toBe("200");
      // gRPC tells by its own status: RESOURCE_EXHAUSTED.
      expect(await deafTo(tasks[1] ?? "")).toBe(port === served.grpcPort ? "8" : "429");
      expect(await statusOf(served, tasks[1] ?? "")).toBe(200);
      session.destroy();
    }
  });

  it.runIf(process.platform === "linux")("has room for so much of all callers together, whoever they are", async () => {
    const served = await child(512, { ...limits, maxOutgoingBytes: 24 * MIB }, wait);
    const tasks = [await task(served, "flood 32 524288"), await task(served, "flood 32 524288")];
    const [first = "", second = ""] = tasks;
    const one = await deaf(served, first);
    // It has all of its own room left, and is told that the server has none: come again.
    const refused = await deaf(served, second, "127.0.0.2");
    expect([one.statusCode, refused.statusCode]).toEqual([200, 503]);
    // A held answer counts once, whichever address asks for it.
    const same = await deaf(served, first, "127.0.0.3");
    expect(same.statusCode).toBe(200);
    one.destroy();
    same.destroy();
    await until(async () => {
      const answer = await deaf(served, second, "127.0.0.2");
      answer.destroy();
      return answer.statusCode === 200;
    });
  });

  it("waits for room that another reader is about to make", async () => {
    const served = await child(512, limits, { outgoingWaitMs: 60_000 });
    const tasks = [await task(served, "flood 32 524288"), await task(served, "flood 32 524288")];
    const first = await deaf(served, tasks[0] ?? "");
    const second = statusOf(served, tasks[1] ?? "");
    await sleep(300);
    first.resume();
    expect(await second).toBe(200);
  });

  it.each(["HTTP/1.1", "HTTP/2", "gRPC", "Connect"])(
    "is cut off when its reader takes nothing, over %s",
    async (name) => {
      const served = await child(512, {}, { slowReaderMs: 500 });
      const id = await task(served, "flood 32 524288");
      if (name === "HTTP/1.1") {
        const response = await deaf(served, id);
        const closed = new Promise((resolve) => response.once("error", resolve).once("close", resolve));
        await sleep(1_500);
        response.resume();
        await closed;
        expect(response.complete).toBe(false);
      } else {
        const session = connect(name === "gRPC" ? served.grpcPort : served.port, { initialWindowSize: 16 });
        const path = name === "HTTP/2" ? `/tasks/${id}` : rpcPath("GetTask");
        const type = { gRPC: "application/grpc", Connect: "application/connect+proto" }[name] ?? "";
        const stream = session.request({
          ":method": name === "HTTP/2" ? "GET" : "POST",
          ":path": name === "Connect" ? rpcPath("SubscribeToTask") : path,
          ...(type === "" ? {} : { "content-type": type, te: "trailers" }),
        });
        stream.on("error", () => {});
        stream.pause();
        const closed = new Promise((resolve) => stream.once("close", resolve));
        const rpc = name === "Connect" ? "SubscribeToTask" : "GetTask";
        if (name === "Connect") {
          const live = await task(served, "pause 32 524288");
          stream.end(envelope(bytesOf({ rpc, request: { id: live } })));
        } else if (name !== "HTTP/2") stream.end(envelope(bytesOf({ rpc, request: { id } })));
        await sleep(1_500);
        stream.resume();
        await closed;
        // The reset tells the client that the answer is incomplete.
        expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        expect(session.destroyed).toBe(false);
      }
    },
  );
});

describe("one connection that subscribes as often as it may", () => {
  it("to a task of 2 MiB, and never reads, costs the task once", async () => {
    const served = await child(256);
    const id = await task(served, "pause 16 131072");
    const figures = await Figures.begin(async () => (await served.memory()).held);
    const session = connect(served.port, { initialWindowSize: 16 });
    for (let i = 0; i < 600; i++) {
      const stream = session.request({ ":path": `/tasks/${id}:subscribe` });
      stream.on("error", () => {});
      stream.pause();
    }
    await sleep(500);
    await settled(served);
    await callBeside(figures, served.port);
    figures.print("600 subscriptions of one connection");
    // It was 2.4 GB.
    expect(figures.grown).toBeLessThan(100);
    expect(await statusOf(served, id)).toBe(200);
  });
});
