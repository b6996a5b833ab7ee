import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpBasicScheme, httpBearerScheme } from "../../src/auth/index.js";
import { begun, DATA, END_HEADERS, END_STREAM, fields, frame, HEADERS } from "../network/frames.js";
import { type SecuredWorld, securedAgent } from "./world.js";

const good = "Bearer token-of-carol";
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

let world: SecuredWorld;
beforeAll(async () => {
  const schemes = {
    basic: httpBasicScheme({ users: [{ name: "bob", password: "password-of-bob" }] }),
    bearer: httpBearerScheme({ tokens: [{ owner: "carol", token: "token-of-carol" }] }),
  };
  world = await securedAgent({ schemes });
});
afterAll(() => world.close());

/** Sends bytes on a new connection. Returns the server's answer as text. */
async function exchange(port: number, bytes: Uint8Array, isOver: (text: string) => boolean): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(bytes);
  let text = "";
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString("latin1");
    if (isOver(text)) break;
  }
  socket.destroy();
  return text;
}

/** A call over HTTP/2 that may send a header field twice. */
function http2Call(headers: readonly (readonly [string, string])[], body = new Uint8Array()): Buffer {
  const all = Buffer.concat(headers.map(([name, value]) => fields({ [name]: value })));
  return Buffer.concat([begun, frame(HEADERS, END_HEADERS, 1, all), frame(DATA, END_STREAM, 1, body)]);
}

/** Makes a call over HTTP/1.1. Returns its answer when the server closes the connection. */
function http1Call(
  line: string,
  headers: readonly string[],
  authorization: readonly string[],
  body = "",
): Promise<string> {
  const more = ["host: localhost", "connection: close", `content-length: ${body.length}`];
  const lines = [...more, ...headers, ...authorization.map((value) => `authorization: ${value}`)];
  const request = `${line} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
  return exchange(port(), Buffer.from(request), () => false);
}

const port = (): number => Number(new URL(world.address.url).port);

/** Ways to send several Authorization headers. Each returns true if the server refuses them. */
const ways: Record<string, (authorization: readonly string[]) => Promise<boolean>> = {
  "HTTP/1.1": async (authorization) => {
    const answer = await http1Call("GET /tasks", ["a2a-version: 1.0"], authorization);
    return answer.startsWith("HTTP/1.1 401 ");
  },
  "Connect, by its own handler": async (authorization) => {
    const headers = ["content-type: application/json", "connect-timeout-ms: 10000"];
    const answer = await http1Call("POST /lf.a2a.v1.A2AService/ListTasks", headers, authorization, "{}");
    return answer.startsWith("HTTP/1.1 401 ");
  },
  "gRPC-Web": async (authorization) => {
    const headers = ["content-type: application/grpc-web"];
    const answer = await http1Call("POST /lf.a2a.v1.A2AService/ListTasks", headers, authorization, "\0".repeat(5));
    return /grpc-status: *16/i.test(answer);
  },
  "HTTP/2": async (authorization) => {
    const call = http2Call([
      [":method", "GET"],
      [":scheme", "http"],
      [":authority", "localhost"],
      [":path", "/tasks"],
      ["a2a-version", "1.0"],
      ...authorization.map((value) => ["authorization", value] as const),
    ]);
    return (await exchange(port(), call, (text) => /tasks|error/.test(text))).includes('"UNAUTHENTICATED"');
  },
  gRPC: (authorization) => refusedByGrpc(world.address.grpcPort, authorization),
  "gRPC on the port for HTTP": (authorization) => refusedByGrpc(port(), authorization),
};

async function refusedByGrpc(grpcPort: number, authorization: readonly string[]): Promise<boolean> {
  const headers = [
    [":method", "POST"],
    [":scheme", "http"],
    [":authority", "localhost"],
    [":path", "/lf.a2a.v1.A2AService/ListTasks"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...authorization.map((value) => ["authorization", value] as const),
  ] as const;
  // The trailers with the status are compressed, so the status is read from the log of calls.
  const before = world.log.text.length;
  const seen = (): string => world.log.text.slice(before);
  await exchange(grpcPort, http2Call(headers, new Uint8Array(5)), () => seen().includes("grpc"));
  await expect.poll(seen).toContain("ListTasks");
  return seen().includes("UNAUTHENTICATED");
}

describe.each(Object.keys(ways))("a call with Authorization headers over %s", (name) => {
  const isRefused = ways[name] as (authorization: readonly string[]) => Promise<boolean>;

  it("is let in by a good one", async () => {
    expect(await isRefused([good])).toBe(false);
  });

  it.each([
    ["the same twice", [good, good]],
    ["a good one, then a wrong one", [good, "Bearer wrong"]],
    ["a wrong one, then a good one", ["Bearer wrong", good]],
    ["good ones of two schemes", [good, basic("bob:password-of-bob")]],
    ["good ones of two schemes, the other way round", [basic("bob:password-of-bob"), good]],
    ["a good one, then an empty one", [good, ""]],
  ])("is refused with two: %s", async (_name, authorization) => {
    expect(await isRefused(authorization)).toBe(true);
  });
});
