import { connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { Worker } from "node:worker_threads";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { reply } from "../../../src/agent/event.js";
import { clientError, neverArrived } from "../../../src/client/errors/errors.js";
import type { A2AError } from "../../../src/core/error.js";
import { testTls } from "../../server/tls.js";
import { cardJson } from "../card-server.js";
import { atEnd, connect, echo, proxyTo, serve } from "../world.js";

/** Accepts connections and sends nothing. */
async function mute(isTls = false): Promise<string> {
  const sockets = new Set<Socket>();
  const onSocket = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).resume();
  };
  const tls = { ...testTls, ALPNProtocols: ["h2"] };
  const server = isTls ? createTlsServer(tls, onSocket) : createTcpServer(onSocket);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Listens without accepting connections. Its backlog is full, so that no connection succeeds. */
async function full(): Promise<string> {
  const code = `
    const { parentPort } = require("node:worker_threads");
    const server = require("node:net").createServer().listen(0, "127.0.0.1", 1, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`;
  const worker = new Worker(code, { eval: true });
  atEnd(() => worker.terminate());
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  const fillers = Array.from({ length: 16 }, () => connectTcp(port, "127.0.0.1").on("error", () => {}));
  atEnd(() => {
    for (const socket of fillers) socket.destroy();
  });
  await Promise.race(fillers.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  return `127.0.0.1:${port}`;
}

const tls = { ca: testTls.cert };
const limits = { connectTimeoutMs: 300, maxAttempts: 1, interfaceRestMs: 600_000 };

const failure = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

const cardOf = (...interfaces: (readonly [binding: string, url: string])[]) =>
  cardJson({
    capabilities: { streaming: true },
    supportedInterfaces: interfaces.map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion: "1.0" })),
  });

describe.each([
  ["accepts and says nothing of TLS", "https", () => mute()],
  ["accepts no connection", "http", full],
] as const)("a server of gRPC that %s", (_, scheme, begin) => {
  it("was not reached, and the next interface is called", async () => {
    const server = await serve();
    const card = cardOf(["GRPC", `${scheme}://${await begin()}`], ["JSONRPC", server.url]);
    const calls = [
      async (client: Awaited<ReturnType<typeof connect>>) => (await client.send("say hi", { timeoutMs: 0 })).text,
      async (client: Awaited<ReturnType<typeof connect>>) => {
        let text = "";
        for await (const update of client.stream("say hi")) text += update.text;
        return text;
      },
    ];
    for (const call of calls) {
      const client = await connect(card, { limits, tls, allowHttp: true });
      expect(client.interface.protocolBinding).toBe("GRPC");
      expect(await call(client)).toBe("hi");
      expect(client.interface.protocolBinding).toBe("JSONRPC");
    }
  }, 30_000);

  it("is an error of a call that never left, for each of many", async () => {
    const client = await connect(cardOf(["GRPC", `${scheme}://${await begin()}`]), { limits, tls });
    const calls = Array.from({ length: 120 }, () => failure(client.listTasks({}, { timeoutMs: 0 })));
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({
        reason: "UNAVAILABLE",
        message: expect.stringContaining("no connection could be made in time"),
      });
      expect(neverArrived(error)).toBe(true);
    }
    expect(neverArrived(await failure(client.send("say hi")))).toBe(true);
  }, 30_000);
});

describe.each([
  ["accepts and says nothing", "http", () => mute()],
  ["agrees on TLS and says nothing", "https", () => mute(true)],
] as const)("a server of gRPC that %s", (_, scheme, begin) => {
  it("may have what was sent to it: that is told, and what is read is read by the next interface", async () => {
    const server = await serve();
    const card = cardOf(["GRPC", `${scheme}://${await begin()}`], ["JSONRPC", server.url]);
    const options = { limits: { ...limits, maxAttempts: 2 }, tls, allowHttp: true };
    const sending = await connect(card, options);
    const error = await failure(sending.send("say hi", { timeoutMs: 0 }));
    expect(error).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
    expect(neverArrived(error)).toBe(false);
    const reading = await connect(card, options);
    await reading.listTasks({}, { timeoutMs: 0 });
    expect(reading.interface.protocolBinding).toBe("JSONRPC");
  }, 30_000);
});

describe("a server of gRPC that was reached", () => {
  it.each([
    ["in the clear", {}],
    ["over TLS", { tls: testTls }],
  ])(
    "may take its time (%s)",
    async (_, options) => {
      const slow: Agent = {
        ...echo,
        responds: "message",
        async *execute() {
          await sleep(4 * limits.connectTimeoutMs);
          yield reply("at last");
        },
      };
      const server = await serve({ agent: slow, ...options });
      const url = server.url.replace(/\/\/[^/:]+/, "//localhost");
      const client = await connect(url, { bindings: ["GRPC"], limits, tls });
      expect((await client.send("hi")).text).toBe("at last");
    },
    30_000,
  );

  it("is reached again after it was not", async () => {
    const server = await serve();
    const proxy = await proxyTo(server.grpcPort as number);
    proxy.mode = "hang";
    const client = await connect(cardOf(["GRPC", `http://${proxy.host}`]), { limits });
    expect(await failure(client.listTasks({}))).toMatchObject({ reason: "UNAVAILABLE" });
    proxy.mode = "pass";
    expect((await client.send("say hi")).text).toBe("hi");
  }, 30_000);
});

describe("a server of HTTP/1.1 that accepts no connection", () => {
  it("was not reached, and the next interface is called", async () => {
    const server = await serve();
    const card = cardOf(["JSONRPC", `http://${await full()}`], ["GRPC", `http://127.0.0.1:${server.grpcPort}`]);
    const client = await connect(card, { limits });
    expect((await client.send("say hi")).text).toBe("hi");
    expect(client.interface.protocolBinding).toBe("GRPC");
  }, 30_000);
});

describe("a raw transport of gRPC", () => {
  it("has the same limit", async () => {
    const { createTransport } = await import("../../../src/client/index.js");
    const transport = createTransport("GRPC", await mute(), { limits: { connectTimeoutMs: 300 } });
    atEnd(() => transport.close());
    const error = await failure(createClient(A2AService, transport).listTasks({}));
    expect(clientError(error)).toMatchObject({ reason: "UNAVAILABLE" });
  }, 30_000);
});
