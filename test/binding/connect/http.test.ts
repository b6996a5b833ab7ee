import * as http from "node:http";
import * as http2 from "node:http2";
import { connect as connectTcp } from "node:net";
import { create, toJson } from "@bufbuild/protobuf";
import { type ContextValues, createClient, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Client, credentials, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  A2AService,
  ListTasksResponseSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { contextValues } from "../../../src/binding/connect/call.js";
import type { Call } from "../../../src/core/call.js";
import { A2AError, taskNotFound } from "../../../src/core/error.js";
import { peerOf } from "../../../src/http/node/peer.js";
import type { NodeServerRequest } from "../../../src/http/node/types.js";
import { cleanup, settled, taskEvent, until } from "../grpc/support.js";
import { listen, serve } from "./support.js";

const { getTask, listTasks, sendMessage, subscribeToTask } = A2AService.method;
const task = create(TaskSchema, { id: "t-1", status: { state: TaskState.WORKING } });
const pathOf = (method: { name: string }): string => `/${A2AService.typeName}/${method.name}`;

function post(
  url: string,
  method: { name: string },
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const contentType = { "content-type": "application/json" };
  return fetch(`${url}${pathOf(method)}`, { method: "POST", headers: { ...contentType, ...headers }, body });
}

function get(url: string, method: { name: string }, message: object, more = ""): Promise<Response> {
  const query = new URLSearchParams({ connect: "v1", encoding: "json", message: JSON.stringify(message) });
  return fetch(`${url}${pathOf(method)}?${query}${more}`);
}

describe("JSON over Connect", () => {
  it("has REQUIRED members at their default, and no others (SRV-GEN-09, SRV-LIST-05, SRV-LIST-07, SRV-LIST-15)", async () => {
    const { h1 } = await serve(({ request }) => {
      const tasks = "contextId" in request && request.contextId === "some" ? [task] : [];
      return create(ListTasksResponseSchema, { tasks });
    });
    expect(await (await post(h1, listTasks, "{}")).json()).toEqual({
      tasks: [],
      nextPageToken: "",
      pageSize: 0,
      totalSize: 0,
    });
    expect(await (await post(h1, listTasks, '{"contextId":"some"}')).json()).toEqual({
      tasks: [{ id: "t-1", status: { state: "TASK_STATE_WORKING" } }],
      nextPageToken: "",
      pageSize: 0,
      totalSize: 0,
    });
  });

  it("has timestamps with three fraction digits, and any JSON in metadata (SRV-TIME-02)", async () => {
    const metadata = { number: 1.5, nothing: null, list: [1, { deep: "ü" }], "": {} };
    const { h1 } = await serve(() =>
      create(TaskSchema, {
        id: "t",
        status: { state: TaskState.FAILED, timestamp: { seconds: 0n, nanos: 0 } },
        metadata,
      }),
    );
    expect(await (await post(h1, getTask, '{"id":"t"}')).json()).toEqual({
      id: "t",
      status: { state: "TASK_STATE_FAILED", timestamp: "1970-01-01T00:00:00.000Z" },
      metadata,
    });
  });

  it("reads what the other bindings read, and ignores what it does not know (SRV-GEN-13)", async () => {
    const seen: unknown[] = [];
    const { h1 } = await serve(({ method, request }) => {
      seen.push(toJson(method.input, request));
      return create(method.output);
    });
    const message = {
      message_id: "m",
      role: 1,
      parts: [{ text: "x" }, { data: { a: [1] } }],
      metadata: { deep: [[[[1]]]] },
    };
    expect((await post(h1, sendMessage, JSON.stringify({ message, unknown: [{ a: 1 }] }))).status).toBe(200);
    expect(seen).toEqual([{ message: { ...message, message_id: undefined, messageId: "m", role: "ROLE_USER" } }]);
  });

  it("names every violation of a request that does not fit (SRV-ERR-10)", async () => {
    const { h1, lines } = await serve(() => {
      throw new Error("not reached");
    });
    const response = await post(h1, sendMessage, '{"message":{"messageId":5,"parts":"none"}}');
    expect(response.status).toBe(400);
    const body = (await response.json()) as { details: { type: string; debug: object }[] };
    expect(body).toMatchObject({ code: "invalid_argument" });
    expect(body.details.map((detail) => detail.type)).toEqual(["google.rpc.ErrorInfo", "google.rpc.BadRequest"]);
    expect(body.details[1]?.debug).toMatchObject({
      fieldViolations: [{ field: "message.messageId" }, { field: "message.parts" }],
    });
    expect(lines).toEqual([]);
  });

  it.each(["", "{", "nonsense", '{"id":"a","id":"b"}', "[".repeat(100_000)])(
    "refuses the malformed body %#",
    async (body) => {
      const { h1, lines } = await serve(() => {
        throw new Error("not reached");
      });
      const response = await post(h1, getTask, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_argument", message: expect.any(String) });
      expect(lines).toEqual([]);
    },
  );

  it("answers errors with Connect's own HTTP status and the details (SRV-ERR-06)", async () => {
    const { h1 } = await serve(() => {
      throw taskNotFound("t");
    });
    const response = await post(h1, getTask, '{"id":"t"}');
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      code: "not_found",
      message: "Task not found: it does not exist or is not accessible.",
      details: [
        {
          type: "google.rpc.ErrorInfo",
          value: expect.any(String),
          debug: { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org", metadata: { taskId: "t" } },
        },
      ],
    });
  });

  it("answers a deadline that passes on the server, and asks for one that timers can hold", async () => {
    const signals: AbortSignal[] = [];
    const { h1 } = await serve(({ call }) => {
      signals.push(call.signal);
      return new Promise(() => {});
    });
    const late = await post(h1, getTask, "{}", { "connect-timeout-ms": "100" });
    expect(late.status).toBe(504);
    expect(await late.json()).toMatchObject({
      code: "deadline_exceeded",
      details: [{ debug: { reason: "DEADLINE_EXCEEDED" } }],
    });
    expect(signals[0]?.reason).toMatchObject({ name: "ConnectError" });
    expect((await post(h1, getTask, "{}", { "connect-timeout-ms": "99999999999" })).status).toBe(400);
    expect(signals).toHaveLength(1);
  });
});

describe("GET over Connect", () => {
  it("serves methods that the contract marks as reading (SRV-GEN-14)", async () => {
    const { h1, h2, binding } = await serve(({ request }) =>
      create(TaskSchema, { id: "id" in request ? String(request.id) : "" }),
    );
    const response = await get(h1, getTask, { id: "t-7" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({ id: "t-7" });
    expect(binding.match("GET", pathOf(getTask))).toBeDefined();
    const session = http2.connect(h2);
    const stream = session.request({ ":path": `/mount${pathOf(getTask)}?connect=v1&encoding=proto&base64=1&message=` });
    const [headers] = await new Promise<[http2.IncomingHttpHeaders]>((resolve) =>
      stream.once("response", (h) => resolve([h])),
    );
    expect(headers[":status"]).toBe(200);
    session.destroy();
  });

  it("answers errors, too", async () => {
    const { h1 } = await serve(() => {
      throw taskNotFound("t");
    });
    const response = await get(h1, getTask, { id: "t" });
    expect(response.status).toBe(404);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({ code: "not_found" });
  });

  it.each([sendMessage, subscribeToTask])("refuses $name, which is none of them", async (method) => {
    const { h1 } = await serve(() => {
      throw new Error("not reached");
    });
    const response = await get(h1, method, {});
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });

  it("names both verbs to those that try another", async () => {
    const { h1 } = await serve(() => task);
    const response = await fetch(`${h1}${pathOf(getTask)}`, { method: "PUT", body: "{}" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST, GET");
  });
});

describe("ConnectBinding.handle()", () => {
  it("matches the paths of the service's methods and nothing else", async () => {
    const { binding } = await serve(() => task);
    for (const method of A2AService.methods) expect(binding.match("POST", pathOf(method))).toBeDefined();
    for (const path of [
      "/",
      "/tasks",
      `/${A2AService.typeName}`,
      `${pathOf(getTask)}/`,
      "/lf.a2a.v1.A2AService/Nothing",
    ]) {
      expect(binding.match("POST", path)).toBeUndefined();
    }
  });

  it("answers media types that it does not have with 415", async () => {
    const { h1 } = await serve(() => task);
    expect((await post(h1, getTask, "{}", { "content-type": "text/plain" })).status).toBe(415);
  });

  it("answers a request without a usable host", async () => {
    const { h1, handled, lines } = await serve(() => task);
    const { port } = new URL(h1);
    const answerTo = (head: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTcp(Number(port), "127.0.0.1", () => socket.write(head));
        let text = "";
        socket.on("data", (chunk) => {
          text += chunk;
        });
        socket.on("close", () => resolve(text));
      });
    const start = `POST /mount${pathOf(getTask)} HTTP`;
    const rest = "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    expect(await answerTo(`${start}/1.0\r\n${rest}`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await answerTo(`${start}/1.1\r\nhost: [\r\n${rest}`)).toMatch(/^HTTP\/1\.1 400 /);
    await until(() => handled.length === 2);
    expect(lines).toEqual([]);
  });

  it.each(["h1", "h2"] as const)(
    "takes no more than the client and the connection take, and leaves when it is gone (%s)",
    async (version) => {
      const seen = { made: 0, left: false, aborted: false };
      const { [version]: url, handled } = await serve(async function* ({ call }) {
        try {
          for (;;) {
            const metadata = { filler: "x".repeat(65_536) };
            yield create(StreamResponseSchema, {
              payload: { case: "task", value: { id: `${seen.made++}`, metadata } },
            });
          }
        } finally {
          seen.left = true;
          seen.aborted = call.signal.aborted;
        }
      });
      const client = version === "h1" ? lazyHttp1(url) : lazyHttp2(url);
      await until(() => seen.made > 0);
      const stalled = await settled(() => seen.made);
      // The buffers of two HTTP/1.1 sockets hold some MiB.
      expect(stalled).toBeLessThan(200);
      client.destroy();
      await until(() => seen.left);
      expect(seen.aborted).toBe(true);
      expect(seen.made).toBeLessThan(stalled + 10);
      await until(() => handled.length === 1);
    },
  );

  it("leaves a stream that the service gives only after the client is gone", async () => {
    const seen = { left: false, begun: false };
    let give = (): void => {};
    const { h1 } = await serve(async () => {
      seen.begun = true;
      await new Promise<void>((resolve) => {
        give = resolve;
      });
      const iterator = {
        next: async () => ({ done: false as const, value: taskEvent("0") }),
        return: async () => {
          seen.left = true;
          return { done: true as const, value: undefined };
        },
      };
      return { [Symbol.asyncIterator]: () => iterator };
    });
    const client = lazyHttp1(h1);
    await until(() => seen.begun);
    client.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    give();
    await until(() => seen.left);
  });
});

describe("ConnectBinding.routes", () => {
  it("mounts in an adapter of one's own, where calls know their peer by contextValues", async () => {
    const calls: Call[] = [];
    const { binding } = await serve(({ call }) => {
      calls.push(call);
      return task;
    });
    const ofConnection = (request: NodeServerRequest): ContextValues => contextValues(peerOf(request));
    for (const options of [{ routes: binding.routes, contextValues: ofConnection }, { routes: binding.routes }]) {
      const url = await listen(http.createServer(connectNodeAdapter(options)));
      expect(await (await post(url, getTask, "{}")).json()).toEqual({
        id: "t-1",
        status: { state: "TASK_STATE_WORKING" },
      });
    }
    expect(calls.map(({ peer }) => peer)).toEqual([
      { address: "127.0.0.1", encrypted: false, port: expect.any(Number) },
      { address: "", encrypted: false },
    ]);
  });

  it("works in memory", async () => {
    const { binding } = await serve(() => task);
    const client = createClient(A2AService, createRouterTransport(binding.routes));
    expect(await client.getTask({ id: "t-1" })).toEqual(task);
  });
});

/** A streaming call by a client that does not read. */
function lazyHttp1(url: string): { destroy(): void } {
  const headers = { "content-type": "application/connect+json" };
  const request = http.request(`${url}${pathOf(subscribeToTask)}`, { method: "POST", headers });
  request.on("error", () => {});
  request.on("response", (response) => response.on("error", () => {}).pause());
  request.end(Buffer.from("\0\0\0\0\u0002{}", "latin1"));
  return request;
}

function lazyHttp2(url: string): { destroy(): void } {
  const session = http2.connect(url);
  session.on("error", () => {});
  const path = `/mount${pathOf(subscribeToTask)}`;
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/connect+json" });
  stream.on("error", () => {});
  stream.end(Buffer.from("\0\0\0\0\u0002{}", "latin1"));
  return session;
}

describe("gRPC on the HTTP port", () => {
  it("has messages that grpc-js decodes", async () => {
    const message = 'The server is 100 % busy; try "later", ü?';
    const { h2 } = await serve(() => {
      throw new A2AError("UNAVAILABLE", message);
    });
    const client = new Client(new URL(h2).host, credentials.createInsecure());
    cleanup(() => client.close());
    const same = (bytes: Buffer): Buffer => bytes;
    const path = `/mount${pathOf(getTask)}`;
    const error = await new Promise((resolve) => {
      client.makeUnaryRequest(path, same, same, Buffer.alloc(0), resolve);
    });
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: message });
  });
});
