import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Role, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError } from "../../../src/client/errors/errors.js";
import { A2AError, type Reason } from "../../../src/core/error.js";
import { envelope } from "../../network/requests.js";
import { scaled } from "../../support/soak.js";
import { clientOf, type Rpc, type Way, ways } from "./world.js";

type Answer = (response: http.ServerResponse, body: string) => void;

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A foreign server over HTTP/1.1. */
async function serverOf(answer: Answer): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece) => (body += piece));
    request.on("end", () => answer(response, body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.push(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function open(way: Way, answer: Answer): Promise<Rpc> {
  const { rpc, platform } = clientOf(way, await serverOf(answer));
  opened.push(() => platform.close());
  return rpc;
}

const message = { messageId: "m", role: Role.USER, parts: [{ content: { case: "text" as const, value: "x" } }] };

async function reasonOf(call: Promise<unknown>): Promise<Reason | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return undefined;
  expect(error).toBeInstanceOf(ConnectError);
  expect(clientError(error)).toBeInstanceOf(A2AError);
  return clientError(error).reason;
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of stream) found.push(each);
  return found;
}

const json = { "content-type": "application/json" };
const sse = { "content-type": "text/event-stream" };
const idOf = (body: string): unknown => (body === "" ? undefined : JSON.parse(body).id);
const isRpc = (way: Way): boolean => way.name.endsWith("JSON-RPC");
/** Wraps a result in the form of the binding. */
const wrap = (way: Way, result: unknown, body: string): string =>
  JSON.stringify(isRpc(way) ? { jsonrpc: "2.0", id: idOf(body), result } : result);

const jsonWays = ways.filter(({ isJson }) => isJson);
const overHttp = ways.filter(({ name }) => !name.endsWith("gRPC"));

describe.each(jsonWays.map((way) => [way.name, way] as const))("%s, of other servers", (_, way) => {
  it("reads what is newer, careless, or of another alphabet", async () => {
    const task = {
      id: "t",
      context_id: "c",
      newField: { a: [1] },
      status: { state: "TASK_STATE_PONDERING", timestamp: "2026-01-02T03:04:05.678901" },
      artifacts: [
        {
          artifactId: "a",
          parts: [
            { text: "half \ud83d", data: null },
            { text: "x", url: null, raw: null },
          ],
        },
      ],
      metadata: { half: "\ud83d", deep: { list: [null, 1] } },
    };
    const rpc = await open(way, (response, body) => response.writeHead(200, json).end(wrap(way, task, body)));
    const read = await rpc.getTask({ id: "t" });
    expect(read).toMatchObject({ id: "t", contextId: "c", metadata: { half: "\ud83d" } });
    expect(read.status?.state).toBe(TaskState.UNSPECIFIED);
    expect(Number(read.status?.timestamp?.seconds)).toBe(Date.parse("2026-01-02T03:04:05Z") / 1000);
    expect(read.artifacts[0]?.parts.map(({ content }) => content)).toEqual([
      { case: "text", value: "half \ud83d" },
      { case: "text", value: "x" },
    ]);
  });

  it("reads the card for known callers in the forms that libraries write", async () => {
    // Requirements in the form of a2a-go 2.3, and schemes in that of `@a2a-js/sdk` 1.3.
    const card = {
      name: "Known",
      securitySchemes: { key: { scheme: { $case: "apiKeySecurityScheme", value: { location: "header", name: "X" } } } },
      securityRequirements: [{ schemes: { key: [] } }],
      skills: [{ id: "s", securityRequirements: [{ schemes: { key: ["read"] } }] }],
    };
    const rpc = await open(way, (response, body) => response.writeHead(200, json).end(wrap(way, card, body)));
    const read = await rpc.getExtendedAgentCard({});
    expect(read.securitySchemes.key?.scheme).toMatchObject({ case: "apiKeySecurityScheme", value: { name: "X" } });
    expect(read.securityRequirements).toMatchObject([{ schemes: { key: { list: [] } } }]);
    expect(read.skills[0]?.securityRequirements).toMatchObject([{ schemes: { key: { list: ["read"] } } }]);
  });

  it("takes no content for a deletion, null, and an answer without a result", async () => {
    const empty = await open(way, (response) => response.writeHead(204).end());
    await empty.deleteTaskPushNotificationConfig({ taskId: "t", id: "c" });
    const nothing = await open(way, (response, body) => response.writeHead(200, json).end(wrap(way, null, body)));
    await nothing.deleteTaskPushNotificationConfig({ taskId: "t", id: "c" });
    if (!isRpc(way)) return;
    // a2a-go 2.3 answers without a result.
    const neither = await open(way, (response, body) => response.writeHead(200, json).end(wrap(way, undefined, body)));
    await neither.deleteTaskPushNotificationConfig({ taskId: "t", id: "c" });
    expect(await reasonOf(neither.getTask({ id: "t" }))).toBe("INVALID_AGENT_RESPONSE");
  });

  const wrong: readonly (readonly [string, Reason, Answer])[] = [
    [
      "a page",
      "INVALID_AGENT_RESPONSE",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    ],
    [
      "a page of a proxy",
      "UNAVAILABLE",
      (response) => response.writeHead(502, { "content-type": "text/html" }).end("<html>"),
    ],
    ["no content", "INVALID_AGENT_RESPONSE", (response) => response.writeHead(204).end()],
    [
      "a redirect",
      "INVALID_AGENT_RESPONSE",
      (response) => response.writeHead(307, { location: "https://elsewhere" }).end(),
    ],
    ["something else in JSON", "INVALID_AGENT_RESPONSE", (response) => response.writeHead(200, json).end("[1]")],
    ["half of it", "INVALID_AGENT_RESPONSE", (response) => response.writeHead(200, json).end('{"id":')],
    [
      "another type of a field",
      "INVALID_AGENT_RESPONSE",
      (response, body) => response.writeHead(200, json).end(wrap(way, { id: 7 }, body)),
    ],
    [
      "a connection that ends",
      "UNAVAILABLE",
      (response) => {
        const { socket } = response;
        response.writeHead(200, { ...json, "content-length": "99" }).end("{}", () => socket?.destroy());
      },
    ],
    ["no answer at all", "UNAVAILABLE", (response) => response.destroy()],
    ["a stream", "INVALID_AGENT_RESPONSE", (response) => response.writeHead(200, sse).write(":\n\n")],
  ];
  it.each(wrong)("says what is wrong with %s", async (name, reason, answer) => {
    const rpc = await open(way, answer);
    expect(await reasonOf(rpc.getTask({ id: "t" }))).toBe(reason);
    // This stream would not end.
    if (name === "a stream") return;
    expect(await reasonOf(all(rpc.sendStreamingMessage({ message })))).toMatch(
      /^(?:INVALID_AGENT_RESPONSE|UNAVAILABLE)$/,
    );
  });

  it("ends a stream with the error that comes in it, and with a cut", async () => {
    const event = (body: string): string =>
      wrap(way, { statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } }, body);
    const fault = { code: isRpc(way) ? -32001 : 404, status: "NOT_FOUND", message: "gone" };
    const failing = await open(way, (response, body) => {
      const frame = JSON.stringify(isRpc(way) ? { jsonrpc: "2.0", id: idOf(body), error: fault } : { error: fault });
      response
        .writeHead(200, sse)
        .end(`: hello\n\nid: 7\ndata: ${event(body)}\n\n:\n\nevent: error\ndata: ${frame}\n\n`);
    });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const each of failing.sendStreamingMessage({ message })) seen.push(each.payload.case);
    })();
    expect(await reasonOf(reading)).toBe("TASK_NOT_FOUND");
    expect(seen).toEqual(["statusUpdate"]);
    const cut = await open(way, (response, body) => {
      response.writeHead(200, sse).write(`data: ${event(body)}\n\ndata: {"half`);
      setTimeout(() => response.destroy(), 20);
    });
    expect(await reasonOf(all(cut.sendStreamingMessage({ message })))).toBe("UNAVAILABLE");
  });

  it("reads no faster than it is asked", async () => {
    let written = 0;
    const event = {
      artifactUpdate: {
        taskId: "t",
        contextId: "c",
        artifact: { artifactId: "a", parts: [{ text: "x".repeat(10_000) }] },
      },
    };
    const rpc = await open(way, (response, body) => {
      const frame = `data: ${wrap(way, event, body)}\n\n`;
      response.writeHead(200, sse);
      const more = (): void => {
        while (written < 200e6 && !response.destroyed) {
          written += frame.length;
          if (!response.write(frame)) return void response.once("drain", more);
        }
      };
      more();
    });
    const stop = new AbortController();
    const stream = rpc.sendStreamingMessage({ message }, { signal: stop.signal })[Symbol.asyncIterator]();
    await stream.next();
    let before = -1;
    const isStill = (): boolean => {
      const same = before === written;
      before = written;
      return same;
    };
    await expect.poll(isStill, { interval: 200, timeout: 10_000 }).toBe(true);
    expect(written).toBeLessThan(32e6);
    for (let i = 0; i < 3; i++) expect((await stream.next()).done).toBe(false);
    stop.abort();
    expect(await reasonOf(stream.next())).toBe("CANCELLED");
  });
});

describe("HTTP+JSON", () => {
  const way = ways.find(({ name }) => name === "Node.js, HTTP+JSON") as Way;

  it("subscribes by POST where GET is not known, and puts what would be hidden in a path elsewhere", async () => {
    const asked: string[] = [];
    const server = http.createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      if (request.method === "GET" && request.url?.includes(":subscribe")) response.writeHead(405).end();
      else if (request.url?.includes(":subscribe")) response.writeHead(200, sse).end(`data: {"task":{"id":"t"}}\n\n`);
      else response.writeHead(200, json).end("{}");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    opened.push(() => server.close().closeAllConnections());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/?key=1`;
    const { rpc, platform } = clientOf(way, url);
    opened.push(() => platform.close());
    expect((await all(rpc.subscribeToTask({ id: "a/b c" }))).map(({ payload }) => payload.case)).toEqual(["task"]);
    await rpc.getTask({ id: "t", tenant: "north", historyLength: 2 });
    await rpc.getTask({ id: "t", tenant: "tasks" });
    await rpc.getTask({ id: "t", tenant: "a/b" });
    expect(asked).toEqual([
      "GET /base/tasks/a%2Fb%20c:subscribe?key=1",
      "POST /base/tasks/a%2Fb%20c:subscribe?key=1",
      "GET /base/north/tasks/t?historyLength=2&key=1",
      "GET /base/tasks/t?tenant=tasks&key=1",
      "GET /base/tasks/t?tenant=a%2Fb&key=1",
    ]);
    expect(await reasonOf(rpc.getTask({}))).toBe("INVALID_PARAMS");
  });
});

describe("any answer over HTTP", () => {
  let current: Answer = () => {};
  let url = "";
  beforeAll(async () => {
    const server = http.createServer((request, response) => {
      request.resume().on("end", () => current(response, ""));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return () => void server.close().closeAllConnections();
  });

  const type = fc.constantFrom(
    "application/json",
    "application/a2a+json",
    "text/event-stream",
    "application/proto",
    "application/connect+proto",
    "application/grpc-web+proto",
    "text/html",
    "",
  );
  const frames = fc
    .array(
      fc.tuple(fc.constantFrom(0, 1, 2, 128, 255), fc.uint8Array({ maxLength: 20 }), fc.integer({ min: -2, max: 3 })),
    )
    .map((list) =>
      Buffer.concat(
        list.map(([flags, data, off]) => Buffer.from([flags, 0, 0, 0, Math.max(0, data.length + off), ...data])),
      ),
    );
  const text = fc.oneof(
    fc.json(),
    fc.string(),
    fc.json().map((data) => `data: ${data}\n\n`),
    fc.json().map((data) => `id: 5\ndata: {"jsonrpc":"2.0","id":1,"result":${data}}\n\ndata: {"half`),
    fc.json().map((data) => `{"jsonrpc":"2.0","id":1,"result":${data}}`),
    fc.json().map((data) => `{"error":${data}}`),
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    text.map((it) => Buffer.from(it)),
    frames,
  );
  const status = fc.oneof(fc.constant(200), fc.constantFrom(201, 204, 304, 400, 401, 404, 500, 503));

  it.each(overHttp.map((way) => [way.name, way] as const))(
    "is a message or an A2AError over %s, and never a hang",
    async (_, way) => {
      const { rpc, platform } = clientOf(way, url);
      opened.push(() => platform.close());
      await fc.assert(
        fc.asyncProperty(status, type, body, fc.boolean(), async (code, contentType, bytes, isCut) => {
          current = (response) => {
            response.writeHead(code, contentType === "" ? {} : { "content-type": contentType });
            if (!isCut) response.end(bytes);
            else response.write(bytes, () => response.destroy());
          };
          await reasonOf(rpc.getTask({ id: "t" }));
          await reasonOf(all(rpc.sendStreamingMessage({ message })));
        }),
        { numRuns: scaled(25, 60) },
      );
    },
    60_000,
  );
});

const binaryWays = overHttp.filter(({ isJson }) => !isJson);

describe.each(binaryWays.map((way) => [way.name, way] as const))("%s, of other servers", (name, way) => {
  it("reads answers whose media type is in capitals", async () => {
    const bytes = toBinary(TaskSchema, create(TaskSchema, { id: "t" }));
    const isConnect = name.endsWith("Connect");
    const rpc = await open(way, (response) => {
      response.writeHead(200, { "content-type": isConnect ? "Application/Proto" : "Application/gRPC-Web+Proto" });
      response.end(
        isConnect ? bytes : Buffer.concat([envelope(bytes), envelope(Buffer.from("grpc-status: 0\r\n"), 0x80)]),
      );
    });
    expect((await rpc.getTask({ id: "t" })).id).toBe("t");
  });
});
