import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { connect as connectJudge, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { http1, http2Client, type RawAnswer, type RawRequest } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, serve } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

const path = `/${A2AService.typeName}/ListTasks`;
const type = (name: string) => ({ "content-type": name, te: "trailers" });
const binary = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" });

interface Wire {
  readonly name: string;
  readonly second?: boolean;
  readonly request: RawRequest;
  readonly judge: Judge;
  /** Statuses of HTTP and codes for a host that is none, and for one that is not allowed. */
  readonly malformed: readonly [number, unknown];
  readonly refused: readonly [number, unknown];
}

const httpOnly: Judge = ({ status }) => (status === 200 ? undefined : status);
const wires: readonly Wire[] = [
  {
    name: "a card",
    request: { method: "GET", path: "/.well-known/agent-card.json" },
    judge: httpOnly,
    malformed: [400, 400],
    refused: [421, 421],
  },
  {
    name: "health",
    request: { method: "GET", path: "/healthz" },
    judge: httpOnly,
    malformed: [400, 400],
    refused: [421, 421],
  },
  {
    name: "readiness",
    request: { method: "GET", path: "/readyz" },
    judge: httpOnly,
    malformed: [400, 400],
    refused: [421, 421],
  },
  {
    name: "JSON-RPC",
    request: { path: "/", headers: type("application/json"), body: call },
    judge: jsonRpc,
    malformed: [400, -32600],
    refused: [421, -32000],
  },
  {
    name: "HTTP+JSON",
    request: { method: "GET", path: "/tasks" },
    judge: rest,
    malformed: [400, 400],
    refused: [421, 421],
  },
  {
    name: "HTTP+JSON over HTTP/2",
    second: true,
    request: { method: "GET", path: "/tasks" },
    judge: rest,
    malformed: [400, 400],
    refused: [421, 421],
  },
  {
    name: "Connect",
    request: { path, headers: type("application/json"), body: "{}" },
    judge: connectJudge,
    malformed: [400, "invalid_argument"],
    refused: [421, "permission_denied"],
  },
  {
    name: "a stream of Connect",
    request: {
      path: path.replace("ListTasks", "SubscribeToTask"),
      headers: type("application/connect+json"),
      body: envelope("{}"),
    },
    judge: connectJudge,
    malformed: [200, "invalid_argument"],
    refused: [200, "permission_denied"],
  },
  {
    name: "gRPC-Web",
    request: { path, headers: type("application/grpc-web"), body: binary },
    judge: grpcWeb,
    malformed: [200, 3],
    refused: [200, 7],
  },
  {
    name: "gRPC on the HTTP port",
    second: true,
    request: { path, headers: type("application/grpc"), body: binary },
    judge: grpc,
    malformed: [200, 3],
    refused: [200, 7],
  },
];

function sendTo(
  port: number,
  { second, request }: Wire,
  host: string,
  more: Record<string, string> = {},
): Promise<RawAnswer> {
  const name = second ? ":authority" : "host";
  const send = second ? http2Client(port) : http1(port);
  return send({ ...request, headers: { ...request.headers, ...more, [name]: host } });
}

describe.each(wires)("the host that a request to $name names", (wire) => {
  const { judge, malformed, refused } = wire;

  it("has to be one", async () => {
    const served = await serve({ allowedHosts: true });
    // The HTTP/2 library refuses hosts that a header cannot contain.
    const others = wire.second ? [] : ["a b", "a/b", "a\\b", "a?b", "a#b"];
    for (const host of ["a@b", "user:pw@localhost", "localhost:99999", "localhost:x", "[::1", ...others]) {
      const answer = await sendTo(served.port, wire, host);
      expect([host, answer.status, judge(answer)]).toEqual([host, ...malformed]);
    }
    for (const host of ["evil.example", "localhost", "127.0.0.1:80", "[::1]:80", "a_b", "LOCALHOST.", "localhost:"]) {
      const answer = await sendTo(served.port, wire, host);
      expect([host, answer.status < 400 || answer.status === 404]).toEqual([host, true]);
      expect(judge(answer)).not.toBe(malformed[1] === 3 ? 3 : "none");
    }
    expect(served.errors()).toEqual([]);
  });

  it("has to be this machine's where only this machine is listened to", async () => {
    const served = await serve({ publicUrl: "https://agents.example.com/a" });
    for (const host of [
      "evil.example",
      `evil.example:${served.port}`,
      "localhost.evil.example",
      "agents.example.com.evil",
      "127.0.0.1.nip.io",
      "2130706433",
    ]) {
      // A page of that host is of the same origin to the browser.
      const answer = await sendTo(served.port, wire, host, { origin: `http://${host}` });
      expect([host, answer.status, judge(answer)]).toEqual([host, ...refused]);
    }
    for (const host of [
      "localhost",
      `LocalHost:${served.port}`,
      "x.localhost",
      "127.0.0.1",
      "[::1]:80",
      "192.0.2.1",
      "agents.example.com",
    ]) {
      const answer = await sendTo(served.port, wire, host);
      expect([host, judge(answer) === refused[1], answer.status]).toEqual([host, false, answer.status]);
      expect(answer.status).toBeLessThan(405);
    }
    expect(served.errors()).toEqual([]);
  });
});

describe("the hosts that a server answers to", () => {
  const [card] = wires as [Wire];

  it("are those that it is told, wherever it listens", async () => {
    const served = await serve({ host: "0.0.0.0", allowedHosts: ["agents.example.com", "*.example.org"] });
    const status = async (host: string): Promise<number> => (await sendTo(served.port, card, host)).status;
    for (const host of [
      "agents.example.com",
      "Agents.Example.com:443",
      "a.example.org",
      "a.b.example.org",
      "localhost",
    ]) {
      expect([host, await status(host)]).toEqual([host, 200]);
    }
    for (const host of ["example.org", "xexample.org", "b.agents.example.com", "evil.example"]) {
      expect([host, await status(host)]).toEqual([host, 421]);
    }
  });

  it("are all where it listens to other machines and is told nothing", async () => {
    const served = await serve({ host: "0.0.0.0" });
    expect((await sendTo(served.port, card, "any.example")).status).toBe(200);
  });

  it("are all where it is embedded, unless that is told", async () => {
    const agent = { card: { name: "A", description: "A.", version: "1" }, async *execute() {} };
    const any = createA2A({ agent, store: memoryStore() });
    const told = createA2A({ agent, store: memoryStore(), allowedHosts: ["agents.example.com"] });
    for (const [{ handler, close }, status] of [
      [any, 200],
      [told, 421],
    ] as const) {
      const http = (await import("node:http")).createServer(handler);
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      cleanup(() => http.close());
      const { port } = http.address() as net.AddressInfo;
      expect((await sendTo(port, card, "any.example")).status).toBe(status);
      await close();
    }
  });

  it("count in the target as well, and only one may be named", async () => {
    const { port } = await serve();
    const get = (target: string, ...hosts: string[]): string =>
      `GET ${target} HTTP/1.1\r\n${hosts.map((host) => `host: ${host}\r\n`).join("")}connection: close\r\n\r\n`;
    const status = async (text: string): Promise<string | undefined> =>
      /^HTTP\/1\.1 (\d+)/.exec(await say(port, text))?.[1];
    expect(await status(get("http://localhost/tasks", "localhost"))).toBe("200");
    expect(await status(get("http://evil.example/tasks", "localhost"))).toBe("421");
    expect(await status(get("http://a@localhost/tasks", "localhost"))).toBe("400");
    expect(await status(get("/tasks", "localhost", "localhost"))).toBe("400");
    expect(await status(get("/tasks", "localhost", "evil.example"))).toBe("400");
    expect(await status(get("/tasks"))).toBe("400");
    expect(await status("GET /tasks HTTP/1.0\r\n\r\n")).toBe("200");
  });
});

function say(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = net.connect(port, "127.0.0.1", () => socket.write(text));
    cleanup(() => socket.destroy());
    socket.on("data", (data) => {
      heard += data.toString();
    });
    socket.on("error", () => {}).once("close", () => resolve(heard));
  });
}
