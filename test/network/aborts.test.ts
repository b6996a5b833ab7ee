import type { ClientHttp2Session } from "node:http2";
import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { reply } from "../../src/agent/event.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

/** Phases in which a client aborts a request: before it is complete, during its execution, during its answer. */
const phases = ["headers", "body", "handler", "stream"] as const;
type Phase = (typeof phases)[number];

const rpcOf = (phase: Phase): string => (phase === "stream" ? "SendStreamingMessage" : "SendMessage");

/** Builds a request as bytes of HTTP/1.1 for a phase. */
type Text = (phase: Phase, gate: string) => { path: string; type: string; body: Buffer };

const texts: Readonly<Record<string, Text>> = {
  "JSON-RPC": (phase, gate) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: rpcOf(phase), params: messageOf(`gate ${gate}`) });
    return { path: "/", type: "application/json", body: Buffer.from(body) };
  },
  "HTTP+JSON": (phase, gate) => {
    const body = Buffer.from(JSON.stringify(messageOf(`gate ${gate}`)));
    return { path: phase === "stream" ? "/message:stream" : "/message:send", type: "application/json", body };
  },
  Connect: (phase, gate) => {
    const body = Buffer.from(JSON.stringify(messageOf(`gate ${gate}`)));
    const path = `/${A2AService.typeName}/${rpcOf(phase)}`;
    if (phase === "stream") return { path, type: "application/connect+json", body: envelope(body) };
    return { path, type: "application/json", body };
  },
  "gRPC-Web": (phase, gate) => ({
    path: `/${A2AService.typeName}/${rpcOf(phase)}`,
    type: "application/grpc-web+proto",
    body: envelope(bytesOf({ rpc: rpcOf(phase), request: messageOf(`gate ${gate}`) as never })),
  }),
};

async function breakOff(served: Served, phase: Phase, gate: string, text: Text): Promise<void> {
  const { path, type, body } = text(phase, gate);
  const head = Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  const whole = Buffer.concat([head, body]);
  const cut = phase === "headers" ? head.length - 10 : phase === "body" ? whole.length - 10 : whole.length;
  const socket = net.connect(served.port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.on("error", () => {}).write(whole.subarray(0, cut));
  if (cut < whole.length) await sleep(20);
  else await served.gates.reached(gate);
  if (phase === "stream") await new Promise((resolve) => socket.once("data", resolve));
  socket.resetAndDestroy();
}

/** The same with a stream of HTTP/2 that is reset. */
async function reset(served: Served, session: ClientHttp2Session, phase: Phase, gate: string): Promise<void> {
  const path = `/${A2AService.typeName}/${rpcOf(phase)}`;
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers).on("error", () => {});
  const begun = new Promise((resolve) => stream.once("data", resolve));
  const body = envelope(bytesOf({ rpc: rpcOf(phase), request: messageOf(`gate ${gate}`) as never }));
  if (phase === "body") stream.write(body.subarray(0, 10));
  else if (phase !== "headers") stream.end(body);
  if (phase === "headers" || phase === "body") await sleep(20);
  else await served.gates.reached(gate);
  if (phase === "stream") await begun;
  stream.close(8);
}

/** Limits of one call and one stream, so that a call or stream that has not ended makes the next one fail. */
const limits = { maxCalls: 1, maxStreams: 1 };

/** A store that tells how often a task was read from it. */
function countingStore(): { store: TaskStore; loads: () => number } {
  const store = memoryStore();
  const load = store.load.bind(store);
  let loads = 0;
  store.load = (request) => {
    loads++;
    return load(request);
  };
  return { store, loads: () => loads };
}

describe("a request that its client breaks off", () => {
  it.each(Object.entries(texts))("leaves nothing behind over %s, in whichever phase it was", async (_name, text) => {
    const { store, loads } = countingStore();
    const served = await serve({ limits, store });
    for (const phase of phases) {
      await breakOff(served, phase, phase, text);
      await free(served, text);
      served.gates.open(phase);
    }
    await ended(served, loads);
  });

  it.each(Object.entries(texts))(
    "is over at once over %s, although its agent never comes back",
    async (_name, text) => {
      const reached = new Set<string>();
      const agent: Agent = {
        card: { name: "Stuck", description: "Ignores its signal.", version: "1.0.0" },
        responds: "either",
        async *execute(turn) {
          if (turn.text.endsWith("stuck")) {
            reached.add(turn.text);
            await new Promise(() => {});
          }
          yield reply("TASK_STATE_COMPLETED");
        },
      };
      const served = await serve({ limits, agent });
      for (const phase of ["handler", "stream"] as const) {
        reached.clear();
        const { path, type, body } = text(phase, "stuck");
        const socket = net.connect(served.port, "127.0.0.1").on("error", () => {});
        const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
        socket.write(Buffer.concat([Buffer.from(head), body]));
        await until(() => reached.size > 0);
        socket.resetAndDestroy();
        await free(served, text);
      }
      await served.server.close();
      expect(served.errors()).toEqual([]);
    },
  );

  it.each([["port"], ["grpcPort"]] as const)("leaves nothing behind over gRPC on the %s", async (port) => {
    const { store, loads } = countingStore();
    const served = await serve({ limits, store });
    const session = connect(served[port]);
    for (const phase of phases) {
      await reset(served, session, phase, phase);
      await free(served, texts["gRPC-Web"] as Text);
      served.gates.open(phase);
    }
    await ended(served, loads);
  });
});

/** Waits until a call and a stream are taken again: as many as there may be at all. */
async function free(served: Served, make: Text): Promise<void> {
  await until(async () => {
    const calls = (["handler", "stream"] as const).map(async (phase) => {
      const gate = `free-${phase}`;
      served.gates.open(gate);
      const { path, type, body } = make(phase, gate);
      const answer = await http1(served.port)({ path, headers: { "content-type": type }, body });
      const text = answer.body.toString("latin1");
      return text.includes("TASK_STATE_COMPLETED") || text.includes("\u0008\u0003");
    });
    return (await Promise.all(calls)).every(Boolean);
  });
}

/** Checks that the task completed, that memory no longer holds it, and that the server closes in order. */
async function ended(served: Served, loads: () => number): Promise<void> {
  const send = http1(served.port);
  const tasks = async (query: string): Promise<{ id: string }[]> => {
    const { body } = await send({ method: "GET", path: `/tasks?${query}` });
    return (JSON.parse(body.toString()) as { tasks: { id: string }[] }).tasks;
  };
  await until(async () => (await tasks("status=TASK_STATE_WORKING")).length === 0);
  for (const { id } of await tasks("pageSize=100")) {
    // A task in memory is answered without a load, so a load shows that nothing holds the task.
    await until(async () => {
      const before = loads();
      await send({ method: "GET", path: `/tasks/${id}` });
      return loads() > before;
    });
  }
  await served.server.close({ graceMs: 5_000 });
  expect(served.errors()).toEqual([]);
}

describe("a flood of streams that are reset at once", () => {
  it.each([["port"], ["grpcPort"]] as const)("leaves the %s as it was", async (port) => {
    const served = await serve({ limits: { maxCalls: 50, maxStreams: 50 } });
    const path = `/${A2AService.typeName}/ListTasks`;
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const body = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
    let sent = 0;
    for (let round = 0; round < 4; round++) {
      const session = connect(served[port]);
      await new Promise((resolve) => session.once("connect", resolve));
      for (let i = 0; i < 500 && !session.closed && !session.destroyed; i++, sent++) {
        const stream = session.request(headers).on("error", () => {});
        stream.end(body);
        stream.close(8);
        if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
      }
      session.destroy();
    }
    expect(sent).toBeGreaterThan(1_000);
    await until(async () => (await http1(served.port)({ method: "GET", path: "/tasks" })).status === 200);
    await served.server.close({ graceMs: 5_000 });
    expect(served.errors()).toEqual([]);
  });
});

describe("requests that were sent ahead on one connection", () => {
  it("hold no stream when it is gone", async () => {
    const served = await serve({ limits: { maxStreams: 5 } });
    const body = JSON.stringify(messageOf("gate ahead"));
    const one =
      "POST /message:stream HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
      `content-length: ${body.length}\r\n\r\n${body}`;
    const socket = net.connect(served.port, "127.0.0.1");
    cleanup(() => socket.destroy());
    socket.on("error", () => {}).write(one.repeat(5));
    const send = http1(served.port);
    const stream = async (): Promise<number> => {
      const headers = { "content-type": "application/json" };
      return (await send({ path: "/message:stream", headers, body: JSON.stringify(messageOf("hello")) })).status;
    };
    await until(async () => (await stream()) === 429);
    socket.destroy();
    await until(async () => (await stream()) === 200);
  });
});
