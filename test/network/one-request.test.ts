import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed } from "../../src/agent/event.js";
import { heartbeat } from "../../src/http/event-stream.js";
import type { NodeServerRequest, NodeServerResponse } from "../../src/http/node/types.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { setConstants } from "../support/constants.js";
import { uncaughtFaults } from "../support/faults.js";
import { cleanup, type Line, messageOf } from "./serve.js";

/**
 * A fault while one request is handled, in our code or in what an embedder puts around it, is the end of this request:
 * never of the process, and never of another one on the same connection.
 */

const faults = uncaughtFaults();

const thrower = (): never => {
  throw new Error("a fault");
};
const throwing = (...names: string[]): Record<string, () => never> =>
  Object.fromEntries(names.map((name) => [name, thrower]));

/** Faults put into a response or its request before the handler gets them. */
const breaks: Record<string, (response: NodeServerResponse, request: NodeServerRequest) => unknown> = {
  "setHeader throws": (response) => Object.assign(response, throwing("setHeader")),
  "writeHead throws": (response) => Object.assign(response, throwing("writeHead")),
  "write throws": (response) => Object.assign(response, throwing("write")),
  "end throws": (response) => Object.assign(response, throwing("end")),
  "all of it throws": (response) => Object.assign(response, throwing("setHeader", "writeHead", "write", "end")),
  "its listeners cannot be added": (response) => Object.assign(response, throwing("on", "once")),
  "it has ended": (response) => response.end(),
  "the request is destroyed": (_response, request) => request.destroy(),
  "it is destroyed": (response) => response.destroy(),
  "it is destroyed in the next round": (response) => setImmediate(() => response.destroy()),
  "it is destroyed some rounds later": (response) => setTimeout(() => response.destroy(), 5),
};

const text = JSON.stringify(messageOf("x"));
const rpc = (method: string): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: messageOf("x") });
const json = "application/json";
const enveloped = Buffer.concat([Buffer.from([0, 0, 0, 0, Buffer.byteLength(text)]), Buffer.from(text)]);

interface Asked {
  readonly path: string;
  readonly type?: string;
  readonly body?: string | Uint8Array;
}

const requests: Record<string, Asked> = {
  "HTTP+JSON": { path: "/message:send", type: json, body: text },
  "a stream of HTTP+JSON": { path: "/message:stream", type: json, body: text },
  "an error of HTTP+JSON": { path: "/tasks/none" },
  "JSON-RPC": { path: "/", type: json, body: rpc("SendMessage") },
  "a stream of JSON-RPC": { path: "/", type: json, body: rpc("SendStreamingMessage") },
  Connect: { path: "/lf.a2a.v1.A2AService/SendMessage", type: json, body: text },
  "a stream of Connect": {
    path: "/lf.a2a.v1.A2AService/SendStreamingMessage",
    type: "application/connect+json",
    body: enveloped,
  },
  "gRPC-Web": {
    path: "/lf.a2a.v1.A2AService/SendStreamingMessage",
    type: "application/grpc-web+json",
    body: enveloped,
  },
  gRPC: { path: "/lf.a2a.v1.A2AService/SendMessage", type: "application/grpc+json", body: enveloped },
  "the card": { path: "/.well-known/agent-card.json" },
  nothing: { path: "/nowhere" },
};

const agent: Agent = {
  card: { name: "Slow", description: "Says three things.", version: "1.0.0" },
  async *execute() {
    for (let i = 0; i < 3; i++) {
      yield artifact({ name: "a", text: `${i}`, append: i > 0 });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield completed();
  },
};

/** An embedder's server with our handler. It causes the fault that a request's header names. */
async function embedded(version: 1 | 2): Promise<{ port: number; lines: Line[] }> {
  const lines: Line[] = [];
  setConstants(heartbeat, { intervalMs: 2 });
  const at = (level: Line["level"]) => (facts: object, message: string) => void lines.push({ level, facts, message });
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const a2a = createA2A({ agent, store: memoryStore(), logger });
  cleanup(() => a2a.close({ graceMs: 0 }));
  await a2a.start();
  const handler = (request: NodeServerRequest, response: NodeServerResponse): void => {
    breaks[String(request.headers["x-fault"])]?.(response, request);
    a2a.handler(request, response);
  };
  const server = version === 1 ? http.createServer(handler) : http2.createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup(() => void server.close());
  if (server instanceof http.Server) cleanup(() => server.closeAllConnections());
  return { port: (server.address() as AddressInfo).port, lines };
}

/** Resolves when the request is over, with the status of an answer that came as a whole. */
type Ask = (asked: Asked, fault?: string) => Promise<number | "broken off">;

function headersOf({ type, body }: Asked, fault?: string): Record<string, string> {
  return {
    ...(type === undefined ? {} : { "content-type": type, "content-length": `${Buffer.byteLength(body ?? "")}` }),
    ...(fault === undefined ? {} : { "x-fault": fault }),
  };
}

function over1(port: number): Ask {
  return (asked, fault) =>
    new Promise((resolve) => {
      const method = asked.body === undefined ? "GET" : "POST";
      const headers = headersOf(asked, fault);
      const request = http.request({ host: "127.0.0.1", port, path: asked.path, method, headers });
      let answer: http.IncomingMessage | undefined;
      request.on("response", (response) => {
        answer = response.on("error", () => {}).resume();
      });
      const ended = (): void => resolve(answer?.complete ? (answer.statusCode ?? 0) : "broken off");
      request.on("error", () => {}).on("close", ended);
      request.end(asked.body);
    });
}

function over2(port: number): Ask {
  const session = http2.connect(`http://127.0.0.1:${port}`).on("error", () => {});
  cleanup(() => session.destroy());
  return (asked, fault) =>
    new Promise((resolve) => {
      const method = asked.body === undefined ? "GET" : "POST";
      const stream = session.request({ ":path": asked.path, ":method": method, ...headersOf(asked, fault) });
      let status = 0;
      stream.on("response", (headers) => {
        status = headers[":status"] ?? 0;
      });
      const ended = (): void => resolve(stream.rstCode === 0 && status > 0 ? status : "broken off");
      stream.on("error", () => {}).on("close", ended);
      stream.resume().end(asked.body);
    });
}

async function late(ms: number, name: string): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`${name} does not end`);
}

describe.each([
  ["HTTP/1.1", 1, over1],
  ["HTTP/2", 2, over2],
] as const)("a fault in one request over %s", (_name, version, over) => {
  it.each(Object.keys(breaks))("ends this one: %s", async (fault) => {
    const { port, lines } = await embedded(version);
    const ask = over(port);
    for (const [name, asked] of Object.entries(requests)) {
      if (name === "gRPC" && version === 1) continue;
      lines.length = 0;
      // Others on the same connection, before and after.
      const others = [ask(requests["a stream of HTTP+JSON"] as Asked)];
      const broken = ask(asked, fault);
      others.push(ask(requests["HTTP+JSON"] as Asked));
      const status = await Promise.race([broken, late(10_000, name)]);
      expect(await Promise.all(others), name).toEqual([200, 200]);
      if (!fault.includes("throws") || status === 200 || status === 404) continue;
      expect([name, ...lines.filter(({ level }) => level === "error")]).not.toHaveLength(1);
    }
    // Errors thrown in a timer or a promise arrive one round of the event loop later.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(faults).toEqual([]);
  });
});
