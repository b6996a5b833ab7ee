import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { reply } from "../../src/agent/event.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import type { ServerOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";

const agent: Agent = {
  card: { name: "Probe", description: "Replies.", version: "1.0.0" },
  responds: "message",
  async *execute() {
    yield reply("yes");
  },
};

const servers: Server[] = [];

async function open(options: Partial<ServerOptions>): Promise<Server> {
  const given = { agent, store: memoryStore(), port: 0, grpcPort: false, ...options } as ServerOptions;
  const server = await createServer(given);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close({ graceMs: 0 })));
});

const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } });

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

async function send(port: number, path: string, agent?: http.Agent): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const method = path === "/readyz" ? "GET" : "POST";
  const request = http.request({ host: "127.0.0.1", port, path, method, headers, ...(agent && { agent }) });
  request.end(method === "POST" ? body : undefined);
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  return { status: response.statusCode, connection: response.headers.connection, text: await text(response) };
}

describe("close() with a drain delay", () => {
  it("answers calls meanwhile, asks for the end of their connections, and reports the shutdown", async () => {
    const { port, close } = await open({ drainDelayMs: 2_000 });
    const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
    expect(await send(port, "/message:send", kept)).toMatchObject({ status: 200, connection: "keep-alive" });
    let isClosed = false;
    const closed = close().then(() => {
      isClosed = true;
    });
    // Clients would connect to this server again.
    expect(await send(port, "/message:send", kept)).toMatchObject({ status: 200, connection: "keep-alive" });
    expect(await send(port, "/readyz")).toMatchObject({ status: 503, text: '{"status":"draining"}' });
    await sleep(1_600);
    expect(await send(port, "/message:send", kept)).toMatchObject({ status: 200, connection: "close" });
    expect(isClosed).toBe(false);
    await closed;
    kept.destroy();
    await expect(send(port, "/readyz")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("still answers calls on open connections after a timer that fires late", async () => {
    const { port, close } = await open({ drainDelayMs: 2_000 });
    const head = `POST /message:send HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const kept = connect(port, "127.0.0.1").on("error", () => {});
    await once(kept, "connect");
    const closed = close();
    await sleep(1_300);
    for (const from = performance.now(); performance.now() - from < 800; );
    await sleep(50);
    kept.write(head + body);
    expect(await text(kept)).toMatch(/^HTTP\/1.1 200 .*"yes"/s);
    await closed;
  });

  it("waits for the call of a client that has only connected", async () => {
    const { port, close } = await open({});
    const silent = connect(port, "127.0.0.1");
    await once(silent, "connect");
    const closed = close({ drainDelayMs: 400 });
    await sleep(600);
    silent.write(
      `POST /message:send HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    expect(await text(silent)).toMatch(/^HTTP\/1.1 200 .*"yes"/s);
    await closed;
  });

  it("answers a call that has arrived but waits for its authentication when connections end", async () => {
    let isFirst = true;
    const idle = new http.Agent({ keepAlive: true, maxSockets: 1 });
    let asked = (): void => {};
    const waits = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const ended = new Promise<void>((resolve) => {
      idle.on("free", (socket) => socket.once("close", resolve));
    });
    const authenticate = async (): Promise<{ owner: string }> => {
      if (!isFirst) {
        asked();
        await ended;
      }
      isFirst = false;
      return { owner: "caller" };
    };
    const { port, close } = await open({ authenticator: { authenticate } });
    expect(await send(port, "/message:send", idle)).toMatchObject({ status: 200 });
    const waiting = send(port, "/message:send");
    await waits;
    const closed = close({ drainDelayMs: 400 });
    expect(await waiting).toMatchObject({ status: 200 });
    await closed;
    idle.destroy();
  });

  it("does not wait for a client that only connects to the gRPC port", async () => {
    const { grpcPort = 0, close } = await open({ grpcPort: 0 });
    const silent = connect(grpcPort, "127.0.0.1").on("error", () => {});
    await once(silent, "connect");
    // An hour, which no test waits for.
    await close({ graceMs: 3_600_000 });
    silent.destroy();
  });

  it.each(["port", "grpcPort"] as const)(
    "asks an HTTP/2 client for another connection while it answers its last call (%s)",
    async (which) => {
      const server = await open({ grpcPort: 0 });
      const session = http2.connect(`http://127.0.0.1:${server[which]}`);
      const seen: unknown[] = [];
      session.on("goaway", (...[code, lastStream]) => seen.push([code, lastStream]));
      expect(await status(session)).toBe(200);
      const closed = server.close({ drainDelayMs: 800 });
      await sleep(700);
      expect(seen).toEqual([]);
      seen.push(await status(session));
      expect(seen).toEqual([[http2.constants.NGHTTP2_NO_ERROR, 3], 200]);
      await closed;
      session.destroy();
    },
  );

  it("refuses calls at once without one", async () => {
    let go = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      go = resolve;
    });
    let begun = (): void => {};
    const works = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const slow: Agent = {
      ...agent,
      async *execute() {
        begun();
        await waiting;
        yield reply("late");
      },
    };
    const { port, close } = await open({ agent: slow });
    const first = send(port, "/message:send");
    await works;
    const closed = close();
    expect(await send(port, "/message:send")).toMatchObject({ status: 503 });
    go();
    expect(await first).toMatchObject({ status: 200 });
    await closed;
  });
});

/** Status of the answer to a request that every port answers over HTTP/2. */
async function status(session: http2.ClientHttp2Session): Promise<number | undefined> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.end(Buffer.alloc(5));
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders & { ":status"?: number }];
  stream.resume();
  return headers[":status"];
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const sharesPorts = process.platform === "linux" && (major > 23 || (major === 22 && minor >= 12));

describe("reusePort", () => {
  it.runIf(sharesPorts)(
    "lets two servers listen on one port, and new connections reach the one that stays",
    async () => {
      const first = await open({ reusePort: true });
      const { port } = await open({ reusePort: true, port: first.port });
      expect(port).toBe(first.port);
      await first.close();
      for (let i = 0; i < 20; i++) expect(await send(port, "/message:send")).toMatchObject({ status: 200 });
      await expect(open({ port })).rejects.toThrow(/already in use/);
    },
  );

  it.skipIf(sharesPorts || process.platform !== "linux")("is refused where Node.js would ignore it", async () => {
    await expect(open({ reusePort: true })).rejects.toThrow(/reusePort needs Node.js 22.12 or later/);
    await open({ reusePort: false });
  });
});
