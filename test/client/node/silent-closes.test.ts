import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import {
  A2AService,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Binding } from "../../../src/client/discovery/interfaces.js";
import { clientError } from "../../../src/client/errors/errors.js";
import { createTransport } from "../../../src/client/index.js";
import { Closers } from "../../../src/outgoing/closers.js";
import { atEnd } from "../world.js";

const SENDS = 30;

/** A server's way to close connections without announcing it. */
interface Habit {
  readonly name: string;
  /** Status of the nth answer. */
  readonly status: (nth: number) => number;
  readonly close: (socket: Socket, status: number) => void;
}

const always = () => 200;
const everyOther = (nth: number) => (nth % 2 === 0 ? 500 : 200);

const habits: readonly Habit[] = [
  { name: "with each answer", status: always, close: (socket) => socket.end() },
  { name: "with each answer, for both directions", status: always, close: (socket) => socket.destroySoon() },
  { name: "in the turn after each answer", status: always, close: (socket) => setImmediate(() => socket.end()) },
  {
    name: "some time after a 500",
    status: everyOther,
    close: (socket, status) => status === 500 && setTimeout(() => socket.destroy(), 2),
  },
];

const answer = create(SendMessageResponseSchema, {
  payload: { case: "message", value: { messageId: "m", role: Role.AGENT } },
});

interface Read {
  readonly messageId: string | undefined;
  readonly type: string;
  readonly body: string | Uint8Array;
}

/** Reads a request over any binding, and prepares the answer to it. */
function read(type: string, body: Uint8Array): Read {
  if (type === "application/proto") {
    const { message } = fromBinary(SendMessageRequestSchema, body);
    return { messageId: message?.messageId, type, body: toBinary(SendMessageResponseSchema, answer) };
  }
  const { jsonrpc, id, params, message } = JSON.parse(Buffer.from(body).toString());
  const result = toJson(SendMessageResponseSchema, answer);
  const json = jsonrpc === undefined ? result : { jsonrpc, id, result };
  return { messageId: (params?.message ?? message).messageId, type, body: JSON.stringify(json) };
}

interface Listening {
  readonly url: string;
  /** Ids of the messages that arrived. */
  readonly came: string[];
  /** Connections accepted so far. */
  readonly sockets: Socket[];
}

/** Answers sends over HTTP/1.1. */
async function server({ status, close }: Pick<Habit, "status" | "close">): Promise<Listening> {
  const came: string[] = [];
  const sockets: Socket[] = [];
  const listening = createServer((socket) => {
    sockets.push(socket);
    let request = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      request = Buffer.concat([request, chunk]);
      const end = request.indexOf("\r\n\r\n") + 4;
      const head = request.toString("latin1", 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (end < 4 || request.length < end + length) return;
      const { messageId, ...ok } = read(/content-type: (\S+)/i.exec(head)?.[1] ?? "", request.subarray(end));
      request = Buffer.alloc(0);
      came.push(String(messageId));
      const code = status(came.length);
      if (code === 0) return;
      const { type, body } = code === 200 ? ok : { type: "text/plain", body: "Internal Server Error" };
      const answerHead = `HTTP/1.1 ${code} X\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
      socket.write(Buffer.concat([Buffer.from(answerHead), Buffer.from(body)]));
      close(socket, code);
    });
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  atEnd(() => {
    listening.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, came, sockets };
}

const sent = Array.from({ length: SENDS }, (_, nth) => `m${nth}`);

/** Sends the messages one after the other. Returns the result of each. */
async function sendAll(binding: Binding, url: string): Promise<string[]> {
  const send = sender(binding, url);
  const outcomes: string[] = [];
  for (const messageId of sent) outcomes.push(await send(messageId));
  return outcomes;
}

function sender(binding: Binding, url: string): (messageId: string, signal?: AbortSignal) => Promise<string> {
  const transport = createTransport(binding, url);
  atEnd(() => transport.close());
  const rpc = createClient(A2AService, transport);
  return (messageId, signal) =>
    rpc
      .sendMessage({ message: { messageId, role: Role.USER, parts: [] } }, { ...(signal !== undefined && { signal }) })
      .then(({ payload }) => String(payload.case))
      .catch((error) => clientError(error).reason);
}

describe("sends to a server that closes connections without saying so", () => {
  it.each(habits)("arrive, each once: $name", async (habit) => {
    const { url, came } = await server(habit);
    const outcomes = await sendAll("JSONRPC", url);
    expect(came).toEqual(sent);
    expect(outcomes).toEqual(sent.map((_, nth) => (habit.status(nth + 1) === 200 ? "message" : "INTERNAL")));
  });
});

/** Calls back after some turns of the event loop. */
function after(turns: number, then: () => void): void {
  if (turns === 0) then();
  else setImmediate(() => after(turns - 1, then));
}

const closes: readonly (readonly [when: string, close: (socket: Socket) => void])[] = [
  ...[0, 1, 2, 3, 5].map((turns) => [`${turns} turns`, (socket: Socket) => after(turns, () => socket.end())] as const),
  ...[1, 5, 20].map((ms) => [`${ms} ms`, (socket: Socket) => setTimeout(() => socket.end(), ms)] as const),
  ["3 turns, by a reset,", (socket) => after(3, () => socket.resetAndDestroy())],
];

describe.each(["JSONRPC", "HTTP+JSON", "CONNECT"] as const)("sends over %s", (binding) => {
  it.each(closes)("to a server that closes %s after each answer fail at most once", async (_, close) => {
    const { url, came } = await server({ status: always, close });
    const outcomes = await sendAll(binding, url);
    expect(outcomes.filter((outcome) => outcome !== "message").length).toBeLessThanOrEqual(1);
    expect(new Set(came).size).toBe(came.length);
    expect(came.length).toBeGreaterThanOrEqual(SENDS - 1);
  });

  it("to a server that keeps its connections share one", async () => {
    const { url, came, sockets } = await server({ status: always, close: () => {} });
    expect(await sendAll(binding, url)).toEqual(sent.map(() => "message"));
    expect(came).toEqual(sent);
    expect(sockets).toHaveLength(1);
  });
});

describe("connections to a server that has closed one right after its answer", () => {
  it("carry one send each for a minute, and then as many as come", async () => {
    let closing = true;
    const { url, sockets } = await server({ status: always, close: (socket) => closing && socket.end() });
    const send = sender("JSONRPC", url);
    await send("a");
    await once(sockets[0] as Socket, "close");
    closing = false;
    for (const messageId of ["b", "c", "d", "e"]) expect(await send(messageId)).toBe("message");
    expect(sockets).toHaveLength(5);
    // The client keeps one of them unused, to see whether the server closes it.
    await Promise.all(sockets.slice(2).map((socket) => socket.closed || once(socket, "close")));
    expect(sockets[1]?.closed).toBe(false);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    atEnd(() => vi.restoreAllMocks());
    for (const messageId of ["f", "g", "h"]) expect(await send(messageId)).toBe("message");
    expect(sockets).toHaveLength(5);
  });
});

describe("connections that the client closes itself", () => {
  it("say nothing of their server", async () => {
    const { url, came, sockets } = await server({ status: (nth) => (nth === 2 ? 0 : 200), close: () => {} });
    const send = sender("JSONRPC", url);
    await send("a");
    const giveUp = new AbortController();
    const given = send("b", giveUp.signal);
    await vi.waitUntil(() => came.length === 2);
    giveUp.abort();
    expect(await given).toBe("CANCELLED");
    for (const messageId of ["c", "d", "e"]) expect(await send(messageId)).toBe("message");
    expect(sockets).toHaveLength(2);
  });
});

describe("Closers", () => {
  it("forgets the oldest of more than 256", () => {
    const closers = new Closers();
    for (let nth = 0; nth < 256; nth++) closers.add(`http://${nth}`);
    closers.add("http://0");
    closers.add("http://256");
    expect([0, 1, 2, 256].map((nth) => closers.has(`http://${nth}`))).toEqual([true, false, true, true]);
  });
});
