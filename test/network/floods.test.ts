import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { keepAlive } from "../../src/http/node/http2-sessions.js";
import { setConstantsOfFile } from "../support/constants.js";
import { cover, describeFirst } from "../support/cover.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import {
  begun,
  CONTINUATION,
  DATA,
  END_HEADERS,
  fields,
  frame,
  HEADERS,
  PING,
  RST_STREAM,
  request,
  SETTINGS,
} from "./frames.js";
import { callBeside, http1, http2Client } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve } from "./serve.js";

setConstantsOfFile(keepAlive, { intervalMs: 200 });

vi.setConfig({ testTimeout: 60_000 });

const path = `/${A2AService.typeName}/ListTasks`;
const grpc = { ":path": path, "content-type": "application/grpc", te: "trailers" };
const body = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
const open = (stream: number, headers: Record<string, string>): Buffer =>
  frame(
    HEADERS,
    END_HEADERS,
    stream,
    fields({ ":method": "POST", ":scheme": "http", ":authority": "localhost", ...headers }),
  );
const cancel = Buffer.from([0, 0, 0, 8]);
const odd = (i: number): number => 2 * i + 1;

/** Pieces that a client sends without end, numbered from 0. */
const floods: readonly [name: string, piece: (i: number) => Buffer][] = [
  [
    "streams that are begun and reset",
    (i) => Buffer.concat([open(odd(i), grpc), frame(RST_STREAM, 0, odd(i), cancel)]),
  ],
  [
    "calls that are made and reset",
    (i) => Buffer.concat([request(odd(i), grpc, body), frame(RST_STREAM, 0, odd(i), cancel)]),
  ],
  [
    "calls of nothing that are reset",
    (i) => Buffer.concat([open(odd(i), { ...grpc, ":path": "/nothing" }), frame(RST_STREAM, 0, odd(i), cancel)]),
  ],
  [
    "streams of no type that are reset",
    (i) => Buffer.concat([open(odd(i), { ":path": path }), frame(RST_STREAM, 0, odd(i), cancel)]),
  ],
  [
    "calls without time that are reset",
    (i) => Buffer.concat([open(odd(i), { ...grpc, "grpc-timeout": "x" }), frame(RST_STREAM, 0, odd(i), cancel)]),
  ],
  ["pings", () => frame(PING, 0, 0, Buffer.alloc(8))],
  ["settings", () => frame(SETTINGS, 0, 0)],
  [
    "headers that go on",
    (i) => (i === 0 ? frame(HEADERS, 0, 1, fields(grpc)) : frame(CONTINUATION, 0, 1, fields({ "x-a": "b" }))),
  ],
  [
    "headers that go on and say nothing",
    (i) => (i === 0 ? frame(HEADERS, 0, 1, fields(grpc)) : frame(CONTINUATION, 0, 1)),
  ],
  ["data that are empty", (i) => (i === 0 ? open(1, grpc) : frame(DATA, 0, 1))],
  ["streams that are not ended", (i) => open(odd(i), grpc)],
];

/** In `npm test`, each flood on one of the ports. */
const drowning = cover(
  (["port", "grpcPort"] as const).flatMap((port) => floods.map(([name, piece]) => ({ name, port, piece }))),
  ({ name, port }) => [name, port],
);

describe("a flood", () => {
  it.each(drowning)(
    "of $name ends with its connection on the $port and hurts nobody else [SRV-SEC-04]",
    async (flood) => {
      const served = await serve({ limits: { requestTimeoutMs: 500, sendTimeoutMs: 500 } });
      const figures = await Figures.begin(held);
      const over = drowned(served[flood.port], flood.piece);
      await callBeside(figures, served.port);
      await over;
      figures.print(`${flood.name} on the ${flood.port}`);
      await healthy(served);
    },
  );
});

for (const port of ["port", "grpcPort"] as const) {
  describeFirst(`calls that are reset with the bytes that make them, on the ${port},`, () => {
    it("begin nothing: to make and to reset them is cheap [SRV-SEC-04]", async () => {
      const served = await serve();
      const socket = net.connect(served[port], "127.0.0.1");
      cleanup(() => socket.destroy());
      const send = { ...grpc, ":path": `/${A2AService.typeName}/SendMessage` };
      const message = envelope(bytesOf({ rpc: "SendMessage", request: messageOf("echo") as never }));
      const made = Array.from({ length: 20 }, (_, i) => [
        request(odd(i), send, message),
        frame(RST_STREAM, 0, odd(i), cancel),
      ]);
      // In one go, so that the server reads them in one go, and then one that is not reset.
      const last = request(odd(20), send, message);
      socket.write(Buffer.concat([begun, ...made.flat(), last]));
      const tasks = async (): Promise<number> => {
        const { body } = await http1(served.port)({ method: "GET", path: "/tasks" });
        return (JSON.parse(body.toString()) as { totalSize: number }).totalSize;
      };
      await expect.poll(tasks, { timeout: 20_000 }).toBeGreaterThan(0);
      expect(await tasks()).toBe(1);
      await served.server.close({ graceMs: 0 });
    });
  });
}

/** Sends piece after piece without reading an answer, until the other side hangs up. */
function drowned(port: number, piece: (i: number) => Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1").pause();
    cleanup(() => socket.destroy());
    socket.on("error", () => resolve());
    socket.write(begun);
    let i = 0;
    const more = (): void => {
      if (socket.destroyed) return;
      const pieces: Buffer[] = [];
      for (let n = 0; n < 200; n++) pieces.push(piece(i++));
      // Pauses between pieces, because both sides share one thread here.
      socket.write(Buffer.concat(pieces), () => setTimeout(more, 2));
    };
    more();
  });
}

async function healthy(served: Served): Promise<void> {
  expect((await http1(served.port)({ method: "GET", path: "/tasks" })).status).toBe(200);
  const headers = { "content-type": "application/grpc", te: "trailers" };
  const answer = await http2Client(served.grpcPort)({ path, headers, body });
  expect(answer.headers["grpc-status"]).toBe("0");
  expect(served.errors()).toEqual([]);
  await served.server.close();
}
