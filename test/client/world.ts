import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { type Connect, connectWith } from "../../src/client/connect.js";
import { CardCache } from "../../src/client/discovery/card-cache.js";
import type { CardSource } from "../../src/client/discovery/discovery.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import type { ClientOptions } from "../../src/client/options.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import type { ServerOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { afterEachTest } from "../support/clean-up.js";

const opened: (() => unknown)[] = [];
afterEachTest(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Closes something at the end of the test, in reverse order of opening. */
export function atEnd(close: () => unknown): void {
  opened.push(close);
}

/**
 * Echoes the text after `say`. Other words select: `task <text>` makes a task, `count` streams, `ask` asks, `wait` does
 * not end.
 */
export const echo: Agent = {
  card: { name: "Echo", description: "Says what it was told.", version: "1.0.0" },
  responds: "either",
  async *execute(turn) {
    const [word = "", rest = ""] = /^(\w+) ?(.*)$/.exec(turn.text)?.slice(1) ?? [];
    if (word === "say") return yield reply(rest);
    yield working();
    if (word === "count")
      for (const text of ["one ", "two ", "three"]) yield artifact({ name: "n", text, append: true });
    else if (word === "ask") return yield inputRequired("What?");
    else if (word === "wait") await sleep(600_000, undefined, { signal: turn.signal });
    else yield artifact({ text: turn.text });
    yield completed();
  },
};

/** A server on loopback that closes when the test ends. */
export async function serve(options: Partial<ServerOptions> = {}): Promise<Server> {
  const store = memoryStore();
  const server = await createServer({ agent: echo, store, port: 0, grpcPort: 0, ...options } as ServerOptions);
  atEnd(() => server.close({ graceMs: 0 }));
  return server;
}

const connectNode: Connect = connectWith(nodePlatform);

/** Delays between attempts that do not slow a test down. */
export const quick = { retryMs: 1, maxRetryMs: 5 };

/**
 * Cards fetched in this test. The cache is cleared after each test, because the system reuses ports for other servers.
 */
let cards = new CardCache();
afterEachTest(() => {
  cards = new CardCache();
});

/** Connects a client that closes when the test ends. */
export async function connect(agent: CardSource, { limits, card, ...options }: ClientOptions = {}): Promise<A2AClient> {
  const all = { ...options, limits: { ...quick, ...limits }, card: card ?? { cache: cards } };
  const client = await connectNode(agent, all);
  atEnd(() => client.close());
  return client;
}

/** A TCP proxy between clients and a server. */
export interface Proxy {
  readonly host: string;
  /** Number of connections so far. */
  readonly connections: number;
  /** Treatment of new connections: forward them, close them at once, or read without answering. */
  mode: "pass" | "close" | "hang";
  /** Cuts all open connections. */
  cut(): void;
}

/** Starts a TCP proxy for a port of this machine. */
export async function proxyTo(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const proxy = { host: "", connections: 0, mode: "pass" as Proxy["mode"], cut };
  const server = createTcpServer((socket) => {
    proxy.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    if (proxy.mode === "close") return socket.destroy();
    if (proxy.mode === "hang") return socket.resume();
    const upstream = connectTcp(port, "127.0.0.1");
    upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEnd(() => {
    cut();
    server.close();
  });
  return proxy;
}

/** A port of this machine that does not listen. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
