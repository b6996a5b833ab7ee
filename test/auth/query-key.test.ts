import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { connect, grpc, grpcWeb, type Judge } from "../network/answers.js";
import { http1, http2Client, type RawRequest, type Send } from "../network/raw-http.js";
import { bytesOf, envelope } from "../network/requests.js";
import { type SecuredWorld, say, securedAgent } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/*
 * Keys in the query, over bindings whose clients write no URL. A client that still writes one is judged as over any
 * other binding.
 */

const path = (rpc: string, query: string): string => `/${A2AService.typeName}/${rpc}?${query}`;
const binary = (rpc: string): Buffer => Buffer.from(bytesOf({ rpc, request: say("turn") }));
const framed = (rpc: string): Buffer => envelope(binary(rpc));

interface Way {
  readonly name: string;
  readonly judge: Judge;
  readonly client: (port: number) => Send;
  readonly ask: (query: string) => RawRequest;
  readonly unauthenticated: number | string;
}

const ways: readonly Way[] = [
  {
    name: "Connect",
    judge: connect,
    client: http1,
    ask: (query) => ({
      path: path("SendMessage", query),
      headers: { "content-type": "application/json" },
      body: JSON.stringify(say("turn")),
    }),
    unauthenticated: "unauthenticated",
  },
  {
    name: "Connect, GET",
    judge: connect,
    client: http1,
    ask: (query) => ({ method: "GET", path: path("ListTasks", `connect=v1&encoding=json&message=%7B%7D&${query}`) }),
    unauthenticated: "unauthenticated",
  },
  {
    name: "Connect, streams",
    judge: connect,
    client: http1,
    ask: (query) => ({
      path: path("SendStreamingMessage", query),
      headers: { "content-type": "application/connect+proto" },
      body: framed("SendStreamingMessage"),
    }),
    unauthenticated: "unauthenticated",
  },
  {
    name: "gRPC-Web",
    judge: grpcWeb,
    client: http1,
    ask: (query) => ({
      path: path("SendMessage", query),
      headers: { "content-type": "application/grpc-web+proto" },
      body: framed("SendMessage"),
    }),
    unauthenticated: 16,
  },
  {
    name: "gRPC on the HTTP port",
    judge: grpc,
    client: http2Client,
    ask: (query) => ({
      path: path("SendMessage", query),
      headers: { "content-type": "application/grpc", te: "trailers" },
      body: framed("SendMessage"),
    }),
    unauthenticated: 16,
  },
];

let world: SecuredWorld;
beforeAll(async () => {
  const key = apiKeyScheme({ in: "query", name: "key", keys: [{ owner: "alice", key: "key-of-alice-4711" }] });
  world = await securedAgent({ schemes: { key } });
});
afterAll(() => world.close());

describe.each(ways)("a key in the query, over $name", ({ judge, client, ask, unauthenticated }) => {
  it("lets its owner in, and nobody with another one, and is in no log", async () => {
    const send = client(Number(new URL(world.address.url).port));
    expect(judge(await send(ask("a=b&key=key-of-alice-4711")))).toBeUndefined();
    for (const query of ["", "key=", "key=a-wrong-key-0815", "key=a-wrong-key-0815&key=key-of-alice-4711"]) {
      expect({ query, code: judge(await send(ask(query))) }).toEqual({ query, code: unauthenticated });
    }
    for (const secret of ["key-of-alice", "a-wrong-key"]) expect(world.log.text).not.toContain(secret);
  });
});
