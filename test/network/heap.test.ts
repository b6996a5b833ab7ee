import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Figures } from "../support/figures.js";
import { isSoak, scaled } from "../support/soak.js";
import { connect, grpc, type Judge, jsonRpc, rest } from "./answers.js";
import { type Child, start } from "./child.js";
import { callBeside, http1, http2Client, type RawAnswer, type RawRequest, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

/** Requests at once. Together they are several times the heap, as bytes or as values. */
const REQUESTS = scaled(24, 40);

const path = `/${A2AService.typeName}/SendMessage`;
const json = { "content-type": "application/json" };

interface Wire {
  readonly send: (child: Child) => Send;
  readonly request: (message: object) => RawRequest;
  readonly judge: Judge;
  /** The code of a request that is too large. */
  readonly tooLarge: number | string;
  /** The code of an overload: too many large requests are in progress, or are arriving. */
  readonly overload: number | string;
}

const wires: Readonly<Record<string, Wire>> = {
  "JSON-RPC": {
    send: ({ port }) => http1(port),
    request: (params) => ({
      path: "/",
      headers: json,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params }),
    }),
    judge: jsonRpc,
    tooLarge: -32600,
    overload: -32000,
  },
  "HTTP+JSON": {
    send: ({ port }) => http1(port),
    request: (message) => ({ path: "/message:send", headers: json, body: JSON.stringify(message) }),
    judge: rest,
    tooLarge: 413,
    overload: 429,
  },
  Connect: {
    send: ({ port }) => http1(port),
    request: (message) => ({ path, headers: json, body: JSON.stringify(message) }),
    judge: connect,
    tooLarge: "resource_exhausted",
    overload: "resource_exhausted",
  },
  gRPC: {
    // A connection each: Node.js ends streams by itself when those of one connection hold too much.
    send:
      ({ grpcPort }) =>
      (request) =>
        http2Client(grpcPort)(request),
    request: (message) => ({
      path,
      headers: { "content-type": "application/grpc", te: "trailers" },
      body: envelope(bytesOf({ rpc: "SendMessage", request: message as never })),
    }),
    judge: grpc,
    tooLarge: 8,
    overload: 8,
  },
};

const messageOf = (part: object): object => ({
  message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "pause 1 1" }, part] },
  configuration: { historyLength: 0 },
});
const messages: Readonly<Record<string, object>> = {
  "of 7.5 MB": messageOf({ text: "x".repeat(7.5 * 1024 * 1024) }),
  "of 49,000 short texts": messageOf({ data: Array.from({ length: 49_000 }, (_, i) => `s${i}`) }),
};

const tooMany = messageOf({ data: Array.from({ length: 240_000 }, (_, i) => `s${i}`) });

const heaps: readonly (readonly [number, readonly string[]])[] = [
  [96, Object.keys(wires)],
  [256, isSoak ? Object.keys(wires) : ["HTTP+JSON"]],
];

/** Sends a request so many times at once, and prints the figures of the process meanwhile. */
async function atOnce(
  child: Child,
  count: number,
  send: () => Promise<RawAnswer>,
  attack: string,
): Promise<RawAnswer[]> {
  const figures = await Figures.begin(async () => (await child.memory()).held);
  const all = Promise.all(Array.from({ length: count }, send));
  await callBeside(figures, child.port);
  const answers = await all;
  figures.print(attack);
  return answers;
}

describe.each(heaps)("large requests to a process with a heap of %i MB", (heapMib, names) => {
  let child: Child;
  beforeAll(async () => {
    child = await start(heapMib);
  });
  afterAll(() => child.end());

  const table = names.flatMap((wire) => Object.keys(messages).map((message) => [message, wire] as const));
  it.each(table)("%s do not end it over %s, or are refused as an overload [SRV-SEC-04]", async (message, wire) => {
    const { send: of, request, judge, overload } = wires[wire] as Wire;
    const send = of(child);
    const large = request(messages[message] as object);
    const answers = (await atOnce(child, REQUESTS, () => send(large), `${message}, ${wire}`)).map(judge);
    expect(answers).toContain(undefined);
    expect([undefined, overload]).toEqual(expect.arrayContaining([...new Set(answers)]));
    expect(judge(await send(request(messageOf({ text: "small" }))))).toBeUndefined();
    expect(child.ended()).toBe(false);
  });
  it.each(names)("of 240,000 short texts are refused over %s, and do not end it [SRV-SEC-04]", async (wire) => {
    const { send: of, request, judge, tooLarge, overload } = wires[wire] as Wire;
    const send = of(child);
    const large = request(tooMany);
    const answers = (await atOnce(child, 40, () => send(large), `240,000 texts, ${wire}`)).map(judge);
    expect(answers).toContain(tooLarge);
    expect([tooLarge, overload]).toEqual(expect.arrayContaining([...new Set(answers)]));
    expect(judge(await send(request(messageOf({ text: "small" }))))).toBeUndefined();
    expect(child.ended()).toBe(false);
  });
});
