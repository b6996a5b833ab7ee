import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpBasic, httpBearer } from "../../src/index.js";
import { begun, DATA, END_HEADERS, END_STREAM, fields, frame, HEADERS } from "../network/frames.js";
import { type SecuredWorld, securedAgent } from "./world.js";

const good = "Bearer token-of-carol";
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

let world: SecuredWorld;
beforeAll(async () => {
  const schemes = {
    basic: httpBasic({ users: [{ name: "bob", password: "password-of-bob" }] }),
    bearer: httpBearer({ tokens: [{ owner: "carol", token: "token-of-carol" }] }),
  };
  world = await securedAgent({ schemes });
});
afterAll(() => world.close());

/** What a server answers on a connection, as text. */
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

/** A call of HTTP/2 whose header fields may have one name twice. */
function http2Call(headers: readonly (readonly [string, string])[], body = new Uint8Array()): Buffer {
  const all = Buffer.concat(headers.map(([name, value]) => fields({ [name]: value })));
  return Buffer.concat([begun, frame(HEADERS, END_HEADERS, 1, all), frame(DATA, END_STREAM, 1, body)]);
}

const port = (): number => Number(new URL(world.address.url).port);

/** Whether a server refuses the credentials, by the ways that a client may send two of them. */
const ways: Record<string, (authorization: readonly string[]) => Promise<boolean>> = {
  "HTTP/1.1": async (authorization) => {
    const lines = authorization.map((value) => `authorization: ${value}\r\n`).join("");
    const request = `GET /tasks HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n${lines}\r\n`;
    const answer = await exchange(port(), Buffer.from(request), (text) => text.includes("\r\n\r\n"));
    return answer.startsWith("HTTP/1.1 401 ");
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
  gRPC: async (authorization) => {
    const headers = [
      [":method", "POST"],
      [":scheme", "http"],
      [":authority", "localhost"],
      [":path", "/lf.a2a.v1.A2AService/ListTasks"],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...authorization.map((value) => ["authorization", value] as const),
    ] as const;
    // The status is in trailers, which are compressed: the log of calls has it, too.
    const before = world.log.text.length;
    const seen = (): string => world.log.text.slice(before);
    await exchange(world.address.grpcPort, http2Call(headers, new Uint8Array(5)), () => seen().includes("grpc"));
    await expect.poll(seen).toContain("ListTasks");
    return seen().includes("UNAUTHENTICATED");
  },
};

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
