import * as net from "node:net";
import { logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { anonymous } from "../../src/core/call.js";
import { poll } from "../../src/service/resume.js";
import { setConstants } from "../support/constants.js";
import { scaled } from "../support/soak.js";
import { connect, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { http1, http2Client, type RawAnswer, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve } from "./serve.js";

// grpc-js writes to stderr what it does not like about metadata.
setLogVerbosity(logVerbosity.NONE);
vi.setConfig({ testTimeout: 60_000 });

const value = fc.oneof(
  fc.constantFrom(...["", "1.0", "0.3", "1.0.5", "x", "1,2", " ", "99999999999", "-1", "1e3", "NaN", "0x1", "null"]),
  fc.constantFrom(
    ...["urn:parley:ext:resume:v1", "a,".repeat(100), "x".repeat(3_000), "\u00e9", '"', "Bearer", "Basic %%"],
  ),
  fc.constantFrom(
    ...["gzip", "br", "identity", "application/json", "text/plain", "application/grpc", "*/*;q=2", "1S", "9H"],
  ),
  fc.string({ unit: fc.constantFrom(...'aZ09 ,;:="/\\%é\u00ff\t'), maxLength: 12 }).map((text) => text.trim()),
);
const name = fc.constantFrom(
  ...[
    "a2a-version",
    "a2a-extensions",
    "last-event-id",
    "parley-after-generation",
    "parley-wait",
    "parley-if-generation",
  ],
  ...["idempotency-key", "authorization", "content-type", "accept", "accept-encoding", "content-encoding", "origin"],
  ...[
    "x-request-id",
    "traceparent",
    "x-forwarded-host",
    "x-forwarded-proto",
    "forwarded",
    "if-none-match",
    "grpc-timeout",
  ],
  ...["grpc-encoding", "grpc-accept-encoding", "connect-timeout-ms", "connect-protocol-version", "cookie", "range"],
);
const headers = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs));

interface Target {
  readonly name: string;
  readonly send: (
    served: Served,
    exchange: { h1: Send; h2: Send; rpc: Send },
    more: Record<string, string>,
  ) => Promise<RawAnswer>;
  readonly judge: Judge;
  readonly internal: readonly (number | string)[];
}

const path = (rpc: string): string => `/${A2AService.typeName}/${rpc}`;
const json = { "content-type": "application/json" };
const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: messageOf("hi") });
const grpcBody = envelope(bytesOf({ rpc: "SendMessage", request: messageOf("hi") as never }));
const grpcType = { "content-type": "application/grpc", te: "trailers" };

/** The content type chooses the protocol. */
const connectOrGrpc: Judge = (answer) => {
  const type = answer.headers["content-type"] ?? "";
  if (type.startsWith("application/grpc-web")) return grpcWeb(answer);
  return type.startsWith("application/grpc") ? grpc(answer) : connect(answer);
};

const targets: readonly Target[] = [
  {
    name: "JSON-RPC",
    send: (_, { h1 }, more) => h1({ path: "/", headers: { ...json, ...more }, body: call }),
    judge: jsonRpc,
    internal: [-32603],
  },
  {
    name: "HTTP+JSON",
    send: (_, { h1 }, more) =>
      h1({ path: "/message:stream", headers: { ...json, ...more }, body: JSON.stringify(messageOf("hi")) }),
    judge: rest,
    internal: [500],
  },
  {
    name: "HTTP+JSON, reading",
    send: (_, { h2 }, more) => h2({ method: "GET", path: "/tasks?pageSize=1", headers: more }),
    judge: rest,
    internal: [500],
  },
  {
    name: "Connect",
    send: (_, { h1 }, more) =>
      h1({ path: path("SendMessage"), headers: { ...json, ...more }, body: JSON.stringify(messageOf("hi")) }),
    judge: connectOrGrpc,
    internal: ["internal", "unknown", 2, 13],
  },
  {
    name: "gRPC on the HTTP port",
    send: (_, { h2 }, more) => h2({ path: path("SendMessage"), headers: { ...more, ...grpcType }, body: grpcBody }),
    judge: grpc,
    internal: [2, 13],
  },
  {
    name: "gRPC",
    send: (_, { rpc }, more) => rpc({ path: path("SendMessage"), headers: { ...more, ...grpcType }, body: grpcBody }),
    judge: grpc,
    internal: [2, 13],
  },
];

describe.each(targets)("odd headers over $name", ({ send, judge, internal }) => {
  it("are taken, ignored or refused, and nothing breaks [SRV-GEN-04 SRV-SEC-06]", async () => {
    // Anybody whose credentials can be read at all gets in.
    const authenticate = (of: { header: (name: string) => string | undefined }) =>
      of.header("authorization") === "" ? undefined : anonymous;
    setConstants(poll, { maxMs: 20 });
    const served = await serve({
      authenticator: { authenticate },
      cors: true,
      trustProxy: true,
    });
    const exchange = { h1: http1(served.port), h2: http2Client(served.port), rpc: http2Client(served.grpcPort) };
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(headers, async (more) => {
        const answer = await send(served, exchange, more);
        const code = judge(answer);
        if (code === undefined) taken++;
        expect(internal).not.toContain(code);
        expect(served.errors()).toEqual([]);
      }),
      { numRuns: scaled(40, 250) },
    );
    expect(taken).toBeGreaterThan(0);
  });
});

describe("odd verbs and paths", () => {
  it("are answered, and never with an error of the server's", async () => {
    const served = await serve({ cors: ["https://example.org"] });
    const [h1, h2] = [http1(served.port), http2Client(served.port)];
    const piece = fc.constantFrom(
      ...[
        "/",
        "//",
        "tasks",
        "message:send",
        ":cancel",
        "%2F",
        "%",
        "%ff",
        "..",
        ".well-known/agent-card.json",
        "?",
        "a=b",
      ],
      ...[
        "&",
        "healthz",
        "extendedAgentCard",
        path("GetTask").slice(1),
        "pushNotificationConfigs",
        "\\",
        "'",
        "x".repeat(500),
      ],
    );
    const target = fc.array(piece, { maxLength: 6 }).map((pieces) => `/${pieces.join("")}`);
    const verb = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH");
    await fc.assert(
      fc.asyncProperty(verb, target, fc.boolean(), async (method, where, second) => {
        const { status, headers: got } = await (second ? h2 : h1)({ method, path: where });
        expect(status).toBeGreaterThanOrEqual(200);
        expect(status).toBeLessThan(500);
        if (status === 405) expect(got.allow).toMatch(/^[A-Z, ]+$/);
        expect(served.errors()).toEqual([]);
      }),
      { numRuns: scaled(60, 400) },
    );
  });
});

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Frames of HTTP/2 in which type, flags, stream and length are anything. */
const frame = fc
  .record({
    type: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.nat(255)),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0xff),
    stream: fc.constantFrom(0, 1, 1, 1, 2, 3, 0x7fffffff),
    payload: fc.uint8Array({ maxLength: 40 }),
    lie: fc.constantFrom(0, 0, 0, 0, 1, -1, 100_000),
  })
  .map(({ type, flags, stream, payload, lie }) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(Math.max(0, payload.length + lie), 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  });

const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe.each([["port"], ["grpcPort"]] as const)("bytes that are no protocol, on the %s", (port) => {
  it("hurt nobody but their own connection", async () => {
    const served = await serve();
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 100 }).map((each) => Buffer.from(each)),
      fc.array(frame, { maxLength: 8 }).map((frames) => Buffer.concat([preface, settings, ...frames])),
      fc
        .constantFrom("GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n")
        .map((text) => Buffer.from(text)),
      fc
        .constantFrom(
          "GET /\u0001 HTTP/1.1",
          "GET / HTTP/9.9",
          "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz",
        )
        .map((text) => Buffer.from(`${text}\r\nhost: localhost\r\n\r\n`)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 10, maxLength: 10 }), async (all) => {
        await Promise.all(all.map((each) => send(served[port], each)));
        expect(served.errors()).toEqual([]);
      }),
      { numRuns: 25 },
    );
    const answer = await http1(served.port)({ method: "GET", path: "/readyz" });
    expect(answer.status).toBe(200);
    const rpc = http2Client(served.grpcPort);
    expect(grpc(await rpc({ path: path("SendMessage"), headers: grpcType, body: grpcBody }))).toBeUndefined();
    await served.server.close();
  });
});

/** Sends bytes and stops sending; waits until the other side has hung up, or has had the time to read them. */
function send(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.end(bytes));
    const patience = setTimeout(() => socket.destroy(), 50);
    cleanup(() => socket.destroy());
    socket.on("error", () => {}).resume();
    socket.once("close", () => {
      clearTimeout(patience);
      resolve();
    });
  });
}
