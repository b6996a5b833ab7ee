import { once } from "node:events";
import * as http2 from "node:http2";
import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  A2AService,
  AgentCardSchema,
  MessageSchema,
  Role,
  type SendMessageRequestSchema,
  type StreamResponse,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, reply, working } from "../../src/agent/event.js";
import { createServer, type Server, versionLoading } from "../../src/server/create-server.js";
import type { ServerOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { v03 } from "../../src/version/v0.3/index.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { setConstants } from "../support/constants.js";
import { freePort } from "../support/free-port.js";
import { testTls } from "./tls.js";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Echoes; `wait <ms>` works for that time. */
const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  responds: "either",
  async *execute(turn) {
    const [, ms] = /^wait (\d+)$/.exec(turn.text) ?? [];
    if (ms === undefined) {
      yield reply(turn.text);
      return;
    }
    yield working();
    await sleep(Number(ms), undefined, { signal: turn.signal });
    yield artifact({ text: "done" });
    yield completed();
  },
};

async function start(more: Partial<ServerOptions> = {}): Promise<Server> {
  const server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, ...more });
  opened.push(() => server.close({ graceMs: 0 }));
  return server;
}

type A2AClient = Client<typeof A2AService>;

function connect({ url }: Server, httpVersion: "1.1" | "2" = "1.1"): A2AClient {
  const nodeOptions = { ca: testTls.cert };
  return createClient(A2AService, createConnectTransport({ baseUrl: url, httpVersion, nodeOptions }));
}

function grpc({ url, grpcAddress }: Server): A2AClient {
  const scheme = url.startsWith("https:") ? "https" : "http";
  const nodeOptions = { ca: testTls.cert };
  return createClient(A2AService, createGrpcTransport({ baseUrl: `${scheme}://${grpcAddress}`, nodeOptions }));
}

function request(text: string, tenant = ""): MessageInitShape<typeof SendMessageRequestSchema> {
  const parts = [{ content: { case: "text" as const, value: text } }];
  return { tenant, message: create(MessageSchema, { messageId: "m", role: Role.USER, parts }) };
}

async function textOf(client: A2AClient, tenant = ""): Promise<unknown> {
  const { payload } = await client.sendMessage(request("hello", tenant));
  return payload.case === "message" ? payload.value.parts[0]?.content.value : payload.case;
}

const codeOf = (promise: Promise<unknown>): Promise<Code | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );

interface Card {
  name: string;
  supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string; tenant?: string }[];
}

async function cardAt(url: string, headers: Record<string, string> = {}): Promise<Card> {
  return (await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()) as Card;
}

const urlsOf = ({ supportedInterfaces }: Card): string[] => [...new Set(supportedInterfaces.map(({ url }) => url))];

describe("createServer()", () => {
  it("serves every binding on two ports", async () => {
    const server = await start();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(server.grpcAddress).toBe(`127.0.0.1:${server.grpcPort}`);
    for (const client of [connect(server), connect(server, "2"), grpc(server)])
      expect(await textOf(client)).toBe("hello");
    const body = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } };
    const post = { method: "POST", headers: { "content-type": "application/json", "a2a-version": "1.0" } };
    const rest = await fetch(`${server.url}/message:send`, { ...post, body: JSON.stringify(body) });
    expect(await rest.json()).toMatchObject({ message: { parts: [{ text: "hello" }] } });
    const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: body };
    const rpc = await fetch(server.url, { ...post, body: JSON.stringify(call) });
    expect(await rpc.json()).toMatchObject({ id: 1, result: { message: { parts: [{ text: "hello" }] } } });
  });

  it("serves them over TLS", async () => {
    const server = await start({ tls: testTls, host: "localhost" });
    expect(server.url).toBe(`https://localhost:${server.port}`);
    for (const client of [connect(server), connect(server, "2"), grpc(server)])
      expect(await textOf(client)).toBe("hello");
    expect(urlsOf(jsonCard(server))).toEqual([server.grpcAddress, server.url]);
  });

  it("asks browsers to stay with TLS where it speaks it", async () => {
    const hsts = async (more: Partial<ServerOptions>, path: string): Promise<unknown> => {
      const { url } = await start({ host: "localhost", ...more });
      const session = http2.connect(url, { ca: testTls.cert });
      opened.push(() => session.destroy());
      const [headers] = (await once(session.request({ ":path": path }), "response")) as [http2.IncomingHttpHeaders];
      return headers["strict-transport-security"];
    };
    for (const path of ["/healthz", "/tasks"]) {
      expect(await hsts({ tls: testTls }, path)).toBe("max-age=31536000");
      expect(await hsts({}, path)).toBeUndefined();
    }
  });

  it("says so for as long as asked, and behind a proxy that says https", async () => {
    const over = async (more: Partial<ServerOptions>, headers: Record<string, string> = {}): Promise<string | null> => {
      const { port } = await start(more);
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { headers });
      return answer.headers.get("strict-transport-security");
    };
    const https = { "x-forwarded-proto": "https" };
    const trusting = { trustProxy: "loopback", hstsMaxAgeSeconds: 60 };
    expect(await over(trusting, https)).toBe("max-age=60");
    expect(await over(trusting, { "x-forwarded-proto": "http" })).toBeNull();
    expect(await over(trusting)).toBeNull();
    expect(await over({ hstsMaxAgeSeconds: 60 }, https)).toBeNull();
    expect(await over({ ...trusting, hstsMaxAgeSeconds: 0 }, https)).toBeNull();
  });

  it("answers unknown paths with a well-formed error", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/nowhere/at/all/here`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 404, details: [{ reason: "METHOD_NOT_FOUND" }] } });
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("answers gRPC calls to unknown services with a gRPC status, on both ports", async () => {
    const server = await start();
    for (const port of [server.port, server.grpcPort]) {
      const session = http2.connect(`http://127.0.0.1:${port}`);
      opened.push(() => session.destroy());
      for (const [path, type] of [
        ["/other.Service/Method", "application/grpc"],
        ["/lf.a2a.v1.A2AService/Other", "application/grpc+proto"],
      ]) {
        const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, te: "trailers" });
        stream.end(Buffer.alloc(5));
        const [headers] = (await once(stream.resume(), "response")) as [http2.IncomingHttpHeaders];
        expect([headers[":status"], headers["grpc-status"]]).toEqual([200, `${Code.Unimplemented}`]);
        expect(headers["content-type"]).toMatch(/^application\/grpc/);
      }
    }
    const web = { method: "POST", headers: { "content-type": "application/grpc-web+proto" }, body: new Uint8Array(5) };
    const response = await fetch(`${server.url}/other.Service/Method`, web);
    expect([response.status, response.headers.get("grpc-status"), await response.text()]).toEqual([200, "12", ""]);
    const plain = await fetch(`${server.url}/other.Service/Method`, {
      ...web,
      headers: { "content-type": "application/json" },
    });
    expect(plain.status).toBe(404);
  });

  it("says in one error that a port is in use, and keeps nothing open", async () => {
    const first = await start();
    const store = memoryStore();
    await expect(start({ store, port: first.port })).rejects.toThrow(
      `Cannot listen: port ${first.port} on 127.0.0.1 is already in use; choose another one with port (--port)`,
    );
    const port = await freePort();
    await expect(start({ store, port, grpcPort: first.grpcPort ?? 0 })).rejects.toThrow(
      "is already in use; choose another one with grpcPort (--grpc-port)",
    );
    const again = await start({ store, port });
    expect(again.port).toBe(port);
  });

  it("names every wrong option at once", async () => {
    await expect(start({ port: -1, host: "" })).rejects.toThrow(/port is -1.*host is "", not a name or address/);
  });

  it("is not ready, and lets requests wait, until its store knows of it", async () => {
    const port = await freePort();
    let known = (): void => {};
    const store = memoryStore();
    const heartbeat = store.heartbeat.bind(store);
    store.heartbeat = async (request) => {
      await new Promise<void>((resolve) => (known = resolve));
      store.heartbeat = heartbeat;
      return heartbeat(request);
    };
    const starting = start({ store, port });
    const at = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
    await expect
      .poll(() =>
        at("/healthz").then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    expect((await at("/readyz")).status).toBe(503);
    const card = at("/.well-known/agent-card.json");
    known();
    await starting;
    expect((await card).status).toBe(200);
    expect((await at("/readyz")).status).toBe(200);
  });
});

describe("the card", () => {
  it("names the ports that listen, gRPC first", async () => {
    const server = await start({ versions: ["1.0"] });
    const { supportedInterfaces } = await cardAt(server.url);
    expect(supportedInterfaces).toEqual([
      { url: server.grpcAddress, protocolBinding: "GRPC", protocolVersion: "1.0" },
      { url: server.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: server.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: server.url, protocolBinding: "urn:parley:binding:connect:v1", protocolVersion: "1.0" },
    ]);
    expect(await cardAt(server.url)).toEqual(jsonCard(server));
  });

  it("names no gRPC where it is off", async () => {
    const server = await start({ grpcPort: false });
    expect([server.grpcPort, server.grpcAddress]).toEqual([undefined, undefined]);
    expect(urlsOf(await cardAt(server.url))).toEqual([server.url]);
  });

  it("names gRPC by the URL where it is asked to, and speaks it there", async () => {
    const server = await start({ cardGrpc: "url", grpcPort: false, versions: ["1.0"] });
    const { supportedInterfaces } = (await cardAt(server.url)) as {
      supportedInterfaces: { protocolBinding: string; url: string }[];
    };
    // Last, because most clients cannot use it.
    const last = supportedInterfaces.at(-1);
    expect(last).toMatchObject({ protocolBinding: "GRPC", url: server.url });
    const transport = createGrpcTransport({ baseUrl: last?.url ?? "" });
    const { totalSize } = await createClient(A2AService, transport).listTasks({});
    expect(totalSize).toBe(0);
  });

  it("names no gRPC where it is not wanted", async () => {
    const server = await start({ cardGrpc: "omit" });
    expect(urlsOf(await cardAt(server.url))).toEqual([server.url]);
    expect(await textOf(grpc(server))).toBe("hello");
  });

  it("names this machine for a wildcard, and IPv6 in brackets", async () => {
    const wildcard = await start({ host: "0.0.0.0" });
    expect(wildcard.url).toBe(`http://localhost:${wildcard.port}`);
    const six = await start({ host: "::1" });
    expect(urlsOf(await cardAt(six.url))).toEqual([`[::1]:${six.grpcPort}`, `http://[::1]:${six.port}`]);
    expect(await textOf(grpc(six))).toBe("hello");
  });

  it("names the public address", async () => {
    const server = await start({ publicUrl: "https://example.org/agents", grpcPublicUrl: "grpc.example.org:443" });
    expect(urlsOf(await cardAt(server.url))).toEqual(["grpc.example.org:443", "https://example.org/agents"]);
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
  });

  it("believes a proxy that is trusted, and no other", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "example.org" };
    const trusting = await start({ trustProxy: "loopback" });
    expect(urlsOf(await cardAt(trusting.url, headers))).toEqual([
      `example.org:${trusting.grpcPort}`,
      "https://example.org",
    ]);
    const response = await fetch(`${trusting.url}/.well-known/agent-card.json`, { headers });
    expect(response.headers.get("vary")).toBe("A2A-Version, X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Prefix");
    for (const trustProxy of [false, "10.0.0.0/8"]) {
      const server = await start({ trustProxy });
      expect(urlsOf(await cardAt(server.url, headers))).toEqual([server.grpcAddress, server.url]);
    }
  });

  it("can be asked for again for nothing", async () => {
    const { url } = await start({ cardMaxAgeSeconds: 60 });
    const path = `${url}/.well-known/agent-card.json`;
    const { headers } = await fetch(path);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("public, max-age=60");
    const etag = headers.get("etag") ?? "";
    const again = await fetch(path, { headers: { "if-none-match": `"other", W/${etag}` } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    const since = { "if-modified-since": headers.get("last-modified") ?? "" };
    expect((await fetch(path, { headers: since })).status).toBe(304);
    const head = await fetch(path, { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("content-length")]).toEqual([
      200,
      "",
      headers.get("content-length"),
    ]);
    expect((await fetch(path, { method: "POST" })).status).toBe(405);
  });

  it("is one for each agent where there are several, and calls say whom they mean", async () => {
    const named = (name: string): Agent => ({ ...agent, card: { ...agent.card, name } });
    const agents = { "a b": named("A"), b: named("B") };
    const server = await createServer({ agents, store: memoryStore(), port: 0, grpcPort: 0 });
    opened.push(() => server.close({ graceMs: 0 }));
    expect((await cardAt(server.url)).name).toBe("A");
    const second = await cardAt(`${server.url}/b`);
    expect(second.name).toBe("B");
    const own = second.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "1.0");
    expect(own.map(({ tenant }) => tenant)).toEqual(["b", "b", "b", "b"]);
    expect((await cardAt(`${server.url}/a%20b`)).name).toBe("A");
    for (const tenant of ["c", "%", "b/b"]) {
      expect((await fetch(`${server.url}/${tenant}/.well-known/agent-card.json`)).status).toBe(404);
    }
    expect(await textOf(connect(server), "b")).toBe("hello");
    expect(await codeOf(textOf(grpc(server)))).toBe(Code.InvalidArgument);
  });
});

describe("close()", () => {
  it("ends at once when nothing is going on, and closes the store last", async () => {
    const store = memoryStore();
    const order: string[] = [];
    const close = store.close.bind(store);
    store.close = () => {
      order.push("store");
      return close();
    };
    const server = await start({ store });
    for (const client of [connect(server, "2"), grpc(server)]) await textOf(client);
    const socket = net.connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    socket.on("close", () => order.push("connection"));
    socket.on("error", () => {});
    await Promise.all([server.close(), server.close()]);
    expect(order.at(-1)).toBe("store");
    expect(order.filter((what) => what === "store")).toHaveLength(1);
    expect(await codeOf(textOf(connect(server)))).toBe(Code.Unavailable);
  });

  it("gives running work its time, ends streams with an invitation to come back, and refuses new calls", async () => {
    const server = await start();
    const [http, rpc] = [connect(server), grpc(server)];
    const ends = [http, rpc].map((client) => endOf(client.sendStreamingMessage(request("wait 3000"))));
    const blocking = http.sendMessage(request("wait 3000"));
    const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait 3000" }] } });
    const headers = { "content-type": "application/json" };
    const events = await fetch(`${server.url}/message:stream`, { method: "POST", headers, body });
    const working = { status: TaskState.WORKING };
    await expect.poll(async () => (await http.listTasks(working)).totalSize, { timeout: 10_000 }).toBe(4);
    const closed = server.close({ graceMs: 10_000 });
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status, { timeout: 10_000 }).toBe(503);
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, ready.headers.get("connection")]).toEqual([503, "close"]);
    expect(await codeOf(textOf(connect(server)))).toBe(Code.Unavailable);
    for (const { states, code } of await Promise.all(ends)) {
      expect(code).toBe(Code.Unavailable);
      expect(states).toContain(TaskState.WORKING);
    }
    expect(await events.text()).toMatch(/TASK_STATE_WORKING.*"status":"UNAVAILABLE"/s);
    const { payload } = await blocking;
    expect(payload.case === "task" && payload.value.status?.state).toBe(TaskState.COMPLETED);
    await closed;
  });

  it("does not wait for work longer than the grace", async () => {
    const server = await start();
    const running = codeOf(connect(server).sendMessage(request("wait 60000")));
    const http = connect(server);
    const working = { status: TaskState.WORKING };
    await expect.poll(async () => (await http.listTasks(working)).totalSize, { timeout: 10_000 }).toBe(1);
    await server.close({ graceMs: 100 });
    await running;
  });

  it("closes the store even if something fails before", async () => {
    const store: TaskStore = memoryStore();
    const server = await start({ store });
    store.leasesOf = () => Promise.reject(new Error("broken"));
    store.setLease = () => Promise.reject(new Error("broken"));
    await server.close({ graceMs: 0 }).catch(() => {});
    await expect(store.head({ taskId: "x" })).rejects.toMatchObject({ kind: "closed" });
  });
});

/** Reads a stream to its end and returns its states and the code of its error. */
async function endOf(stream: AsyncIterable<StreamResponse>): Promise<{ states: unknown[]; code: Code | undefined }> {
  const states: unknown[] = [];
  try {
    for await (const { payload } of stream) {
      if (payload.case === "task" || payload.case === "statusUpdate") states.push(payload.value.status?.state);
    }
    return { states, code: undefined };
  } catch (error) {
    return { states, code: ConnectError.from(error).code };
  }
}

function jsonCard({ card }: Server): Card {
  return JSON.parse(jsonWriter(AgentCardSchema)(card)) as Card;
}

describe("other protocol versions", () => {
  // Servers of all versions share what one has loaded.
  const versions = ["1.0", "0.3"];
  afterEach(() => void vi.restoreAllMocks());

  it("are loaded in the background after the start, without a call of theirs", async () => {
    setConstants(versionLoading, { delayMs: 1 });
    const load = vi.spyOn(v03, "load");
    await start({ versions });
    await expect.poll(() => load.mock.calls.length).toBe(1);
  });

  it("are not loaded before that, and not once the server drains", async () => {
    setConstants(versionLoading, { delayMs: 500 });
    const load = vi.spyOn(v03, "load");
    const server = await createServer({ agent, store: memoryStore(), port: 0, versions });
    expect(load).not.toHaveBeenCalled();
    await server.close({ graceMs: 0 });
    await sleep(600);
    expect(load).not.toHaveBeenCalled();
  });
});
