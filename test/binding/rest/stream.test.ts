import * as net from "node:net";
import { create, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { BindingOptions, HttpBinding } from "../../../src/binding/binding.js";
import { createJsonRpcBinding } from "../../../src/binding/jsonrpc/binding.js";
import { createRestBinding } from "../../../src/binding/rest/binding.js";
import { A2AError, taskNotFound } from "../../../src/core/error.js";
import { heartbeat } from "../../../src/http/event-stream.js";
import { mark } from "../../../src/wire/marks.js";
import { parseSse, type SseEvent } from "../../../src/wire/sse.js";
import { setConstants } from "../../support/constants.js";
import {
  deferred,
  feed,
  type Open,
  open,
  protocols,
  type Sent,
  type Setup,
  send,
  serve,
  start,
  until,
} from "./harness.js";

/** Differences between the streams of the two bindings. */
interface Dialect {
  readonly name: string;
  readonly make: (options: BindingOptions) => HttpBinding;
  readonly subscribe: Sent;
  /** The message in an event, as JSON. */
  readonly result: (data: string) => unknown;
  /** The reason in an error. */
  readonly reason: (data: string) => string;
  readonly errorStatus: number;
}

const rpc = (method: string): string => JSON.stringify({ jsonrpc: "2.0", id: "s", method, params: { id: "t" } });

const dialects: readonly Dialect[] = [
  {
    name: "REST",
    make: createRestBinding,
    subscribe: { path: "/tasks/t:subscribe" },
    result: (data) => JSON.parse(data),
    reason: (data) => JSON.parse(data).error.details[0].reason,
    errorStatus: 404,
  },
  {
    name: "JSON-RPC",
    make: createJsonRpcBinding,
    subscribe: {
      verb: "POST",
      path: "/",
      body: rpc("SubscribeToTask"),
      headers: { "content-type": "application/json" },
    },
    result: (data) => {
      const { jsonrpc, id, result } = JSON.parse(data);
      expect([jsonrpc, id]).toEqual(["2.0", "s"]);
      return result;
    },
    reason: (data) => JSON.parse(data).error.data[0].reason,
    errorStatus: 200,
  },
];

const cases = dialects.flatMap((dialect) => protocols.map((protocol) => ({ ...dialect, protocol })));

const update = (taskId: string): StreamResponse =>
  create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { taskId, contextId: "c", status: { state: TaskState.WORKING } } },
  });
const updateJson = (taskId: string) => ({
  statusUpdate: { taskId, contextId: "c", status: { state: "TASK_STATE_WORKING" } },
});

async function read({ body }: Open): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of parseSse(body)) events.push(event);
  return events;
}

describe.each(cases)(
  "a stream over $name and $protocol",
  ({ make, protocol, subscribe, result, reason, errorStatus }) => {
    const started = (messages: () => AsyncIterable<Message>, setup: Setup = {}) =>
      serve(make, {
        protocol,
        ...setup,
        invoke: ({ call }) => {
          call.responseHeaders.set("x-request-id", "r");
          return messages();
        },
      });

    it("sends each message as an event, with its generation as the id", async () => {
      const served = await started(async function* () {
        yield update("a");
        yield mark(update("b"), { generation: 7 });
      });
      const opened = await open(served, subscribe);
      expect(opened.status).toBe(200);
      expect(opened.headers).toMatchObject({
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "x-request-id": "r",
      });
      const events = await read(opened);
      expect(events.map(({ id, event }) => [id, event])).toEqual([
        ["", undefined],
        ["7", undefined],
      ]);
      expect(events.map(({ data }) => result(data))).toEqual([updateJson("a"), updateJson("b")]);
      expect(served.calls[0]?.call.signal.aborted).toBe(false);
    });

    it("ends a stream without messages", async () => {
      const opened = await open(await started(async function* () {}), subscribe);
      expect([opened.status, opened.headers["content-type"], await read(opened)]).toEqual([
        200,
        "text/event-stream",
        [],
      ]);
    });

    it("answers an error before the first message like any other", async () => {
      const { messages, push } = feed();
      push(taskNotFound("t"));
      const served = await started(() => messages);
      const { status, headers, text } = await send(served, subscribe);
      expect([status, reason(text), headers["x-request-id"]]).toEqual([errorStatus, "TASK_NOT_FOUND", "r"]);
      expect(headers["content-type"]).toContain("json");
    });

    it("ends with an error that comes later", async () => {
      const served = await started(async function* () {
        yield update("a");
        throw new A2AError("UNAVAILABLE", "Going down.");
      });
      const events = await read(await open(served, subscribe));
      expect(events.length).toBe(2);
      expect(reason(events[1]?.data ?? "")).toBe("UNAVAILABLE");
      expect(served.lines).toMatchObject([{ level: "debug", facts: { reason: "UNAVAILABLE" } }]);
    });

    it("ends with an error at a message that cannot be written, and tells the service", async () => {
      const { messages, push, closed } = feed();
      const served = await started(() => messages);
      const bad = update("b");
      Object.assign(bad.payload.value as object, { metadata: { n: Number.NaN } });
      push(update("a"), bad);
      const events = await read(await open(served, subscribe));
      await closed;
      expect([events.length, reason(events[1]?.data ?? "")]).toEqual([2, "INTERNAL"]);
      expect(served.lines[0]).toMatchObject({ level: "error", facts: { err: expect.any(TypeError) } });
    });

    it("sends an event at once", async () => {
      const { messages, push } = feed();
      push(update("a"));
      const opened = await open(await started(() => messages), subscribe);
      const events = parseSse(opened.body);
      for (const name of ["a", "b", "c"]) {
        expect(result((await events.next()).value?.data ?? "")).toEqual(updateJson(name));
        push(update(String.fromCharCode(name.charCodeAt(0) + 1)));
      }
    });

    it("keeps a silent stream open with comments", async () => {
      const { messages, push } = feed();
      push(update("a"));
      setConstants(heartbeat, { intervalMs: 20 });
      const { body } = await open(await started(() => messages), subscribe);
      let text = "";
      for await (const chunk of body) {
        text += chunk;
        if (text.endsWith("\n\n:\n\n:\n\n")) push(update("b"));
        if (text.includes('"b"')) push("end");
      }
      expect(text.replaceAll(/data: .*\n\n/g, "x").replace(/(:\n\n)+$/, "")).toMatch(/^x(:\n\n){2,}x$/);
    });

    it("lets the service go when the client leaves", async () => {
      const { messages, push, closed } = feed();
      const served = await started(() => messages);
      push(update("a"));
      const opened = await open(served, subscribe);
      opened.leave();
      await closed;
      expect(served.calls[0]?.call.signal.aborted).toBe(true);
      push(update("b"), new Error("late"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([served.lines, served.broken]).toEqual([[], []]);
    });

    it("lets the service go when the client leaves before the first message", async () => {
      const { messages, push, closed, asked } = feed();
      const served = await started(() => messages);
      const { leave } = start(served, subscribe);
      await until(() => asked() === 1);
      leave();
      await closed;
      push(new Error("late"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([served.lines, served.broken]).toEqual([[], []]);
    });

    it("waits for a slow reader instead of piling up", async () => {
      let made = 0;
      let ended = false;
      const total = 20_000;
      const served = await started(async function* () {
        try {
          const one = update("x".repeat(1_000));
          for (; made < total; made++) yield one;
        } finally {
          ended = true;
        }
      });
      const opened = await open(served, subscribe);
      opened.body.pause();
      // The server pulls no more events after the buffers of both ends are full.
      let before = 0;
      let quiet = 0;
      await until(() => {
        quiet = made === before && made > 0 ? quiet + 1 : 0;
        before = made;
        return quiet > 20;
      });
      const stuck = made;
      expect(stuck).toBeLessThan(total);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(made).toBe(stuck);
      expect(await read(opened)).toHaveLength(total);
      expect([made, ended]).toEqual([total, true]);
    });

    it("lets the service go when a reader that does not read leaves", async () => {
      const done = deferred();
      const served = await started(async function* () {
        try {
          const one = update("x".repeat(1_000));
          for (;;) yield one;
        } finally {
          done.resolve();
        }
      });
      const opened = await open(served, subscribe);
      opened.body.pause();
      await new Promise((resolve) => setTimeout(resolve, 50));
      opened.leave();
      await done.promise;
      expect([served.lines, served.broken]).toEqual([[], []]);
    });
  },
);

describe("HTTP/1.1", () => {
  it("puts events into one piece that are ready in one tick", async () => {
    let haveFirst = (): void => {};
    const first = new Promise<void>((resolve) => (haveFirst = resolve));
    const served = await serve(createRestBinding, {
      invoke: () =>
        (async function* () {
          for (const name of ["a", "b", "c"]) yield update(name);
          await first;
          yield update("d");
        })(),
    });
    const { body } = await open(served, { path: "/tasks/t:subscribe" });
    const pieces: string[] = [];
    for await (const chunk of body) {
      pieces.push(chunk.toString());
      haveFirst();
    }
    expect(pieces.map((piece) => piece.split("\n\n").length - 1)).toEqual([3, 1]);
  });

  it("answers pipelined requests in their order, and goes on after errors", async () => {
    const served = await serve(createRestBinding, {
      invoke: async ({ request, method }) => {
        const { id } = request as { id?: string };
        await new Promise((resolve) => setTimeout(resolve, id === "slow" ? 30 : 0));
        return create(method.output, { id: id ?? "" } as never);
      },
    });
    const socket = net.connect(served.port, "127.0.0.1");
    const request = (line: string, body = "") =>
      `${line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    socket.write(
      request("GET /tasks/slow") +
        request("POST /message:send", "{oops") +
        request("PUT /nowhere", "ignored") +
        request("GET /tasks/quick").replace("content-length", "connection: close\r\ncontent-length"),
    );
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect([...text.matchAll(/HTTP\/1.1 (\d+)|"id":"(\w+)"/g)].map(([, status, id]) => status ?? id)).toEqual([
      "200",
      "slow",
      "400",
      "404",
      "200",
      "quick",
    ]);
  });
});
