import { pbkdf2 } from "node:crypto";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { deflateSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HealthCheckRequestSchema } from "../../../gen/grpc/health/v1/health_pb.js";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AService, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { InternalServices } from "../../../src/binding/grpc/internal-services.js";
import { A2AError } from "../../../src/core/error.js";
import { defaultLimits } from "../../../src/core/limits.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import { slowReader } from "../../../src/http/response.js";
import { mark } from "../../../src/wire/marks.js";
import { begun, frame, RST_STREAM, request } from "../../network/frames.js";
import { setConstants } from "../../support/constants.js";
import { callUnary, cleanup, requestFor, serve, streaming, taskEvent, unary, until } from "./support.js";

/** Edge cases of gRPC over HTTP/2 (PROTOCOL-HTTP2), as bytes on the wire. */

const faults: unknown[] = [];
const note = (error: unknown): void => void faults.push(error);
beforeEach(() => {
  faults.length = 0;
  process.on("uncaughtException", note).on("unhandledRejection", note);
});
afterEach(() => {
  process.off("uncaughtException", note).off("unhandledRejection", note);
  expect(faults).toEqual([]);
});

const pathOf = (method: { readonly name: string }): string => `/${A2AService.typeName}/${method.name}`;

function envelope(bytes: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.from([flag, 0, 0, 0, 0]);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

function open(port: number, initialWindowSize = 65_535): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } });
  session.on("error", () => {});
  cleanup(() => session.destroy());
  return session;
}

function begin(session: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream {
  const all = { ":method": "POST", ":path": pathOf(unary), "content-type": "application/grpc", te: "trailers" };
  return session.request({ ...all, ...headers }).on("error", () => {});
}

interface Answer {
  readonly head: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Status and message of the trailers, or of the head in an answer without trailers. */
  readonly code: number | undefined;
  readonly message: string;
  readonly trailers: IncomingHttpHeaders;
  /** True if the answer consists of the head alone. */
  readonly isAlone: boolean;
  readonly rstCode: number;
}

/** Reads a stream to its end. */
function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve) => {
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    let isAlone = false;
    const pieces: Buffer[] = [];
    stream
      .on("response", (received, flags) => {
        head = received;
        isAlone = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      })
      .on("trailers", (received) => {
        trailers = received;
      })
      .on("data", (piece: Buffer) => pieces.push(piece))
      .on("close", () => {
        const last = trailers ?? head;
        const code = last["grpc-status"] === undefined ? undefined : Number(last["grpc-status"]);
        const message = decodeURIComponent(String(last["grpc-message"] ?? ""));
        const body = Buffer.concat(pieces);
        resolve({ head, body, code, message, trailers: last, isAlone, rstCode: stream.rstCode ?? 0 });
      });
  });
}

/** Sends these pieces, each in a frame of its own, and ends the request. */
async function send(port: number, pieces: readonly Buffer[], headers: Record<string, string> = {}): Promise<Answer> {
  const stream = begin(open(port), headers);
  const answer = answerOf(stream);
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  stream.end();
  return answer;
}

const message = requestFor("t");
const task = create(TaskSchema, { id: "t" });

/** A server that records the requested ids. */
async function serving(limits = defaultLimits) {
  const asked: string[] = [];
  const served = await serve(
    ({ request }) => {
      asked.push((request as unknown as { id: string }).id);
      return task;
    },
    { limits },
  );
  return { ...served, asked };
}

describe("the answer of a call", () => {
  it("is a head, one message and trailers", async () => {
    const { port } = await serving();
    const { head, body, trailers } = await send(port, [envelope(message)]);
    const id = expect.stringMatching(/^[\w-]+$/);
    const expected = { ":status": 200, "content-type": "application/grpc+proto", "x-request-id": id };
    expect(Object.entries(head)).toEqual(Object.entries(expected));
    expect(fromBinary(TaskSchema, body.subarray(5))).toEqual(task);
    expect(body).toEqual(envelope(body.subarray(5)));
    expect(Object.entries(trailers)).toEqual([["grpc-status", "0"]]);
  });

  it("is one HEADERS frame where it is an error, whose text is percent-encoded", async () => {
    const text = "100 % schön,\n\u{1f44b} a=b";
    const { port } = await serve(() => {
      throw new A2AError("TASK_NOT_FOUND", text);
    });
    const { head, isAlone, code } = await send(port, [envelope(message)]);
    expect([isAlone, code]).toEqual([true, status.NOT_FOUND]);
    expect(head["grpc-message"]).toMatch(/^[ -~]+$/);
    expect(decodeURIComponent(String(head["grpc-message"]))).toBe(text);
  });

  it("is not begun again when the deadline passes while it waits for its reader", async () => {
    const { port } = await serve(() => create(TaskSchema, { id: "t".repeat(40_000) }));
    const stream = begin(open(port, 100), { "grpc-timeout": "100m" });
    let hasAnswer = false;
    stream.on("response", () => {
      hasAnswer = true;
    });
    stream.end(envelope(message));
    await until(() => hasAnswer);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { body, code } = await answerOf(stream);
    expect([body.length > 40_000, code]).toEqual([true, 0]);
  });

  it("has no status behind half a message when its deadline passes", async () => {
    const { port } = await serve(() =>
      mark(create(TaskSchema, { id: "t".repeat(1_000_000) }), { weight: { bytes: 1_000_000, source: {} } }),
    );
    const stream = begin(open(port, 100), { "grpc-timeout": "300m" });
    stream.end(envelope(message));
    const { head, code, rstCode } = await answerOf(stream.pause());
    expect(head[":status"]).toBe(200);
    expect([code, rstCode]).toEqual([undefined, constants.NGHTTP2_CANCEL]);
  });
});

describe("a request", () => {
  it("may come in any pieces", async () => {
    const { port, asked } = await serving();
    const bytes = envelope(message);
    expect(
      (
        await send(
          port,
          [...bytes].map((byte) => Buffer.from([byte])),
        )
      ).code,
    ).toBe(0);
    expect((await send(port, [bytes, Buffer.alloc(0)])).code).toBe(0);
    expect((await send(port, [bytes.subarray(0, 5), bytes.subarray(5)])).code).toBe(0);
    expect(asked).toEqual(["t", "t", "t"]);
  });

  it("leaves room for others, on its stream and its connection", async () => {
    const { port, asked } = await serving();
    const session = open(port);
    const long = envelope(requestFor("t".repeat(10_000)));
    for (let sent = 0; sent < 20; sent++) {
      const stream = begin(session);
      const answer = answerOf(stream);
      stream.end(long);
      expect((await answer).code).toBe(0);
    }
    // Larger than the window of a stream and of a connection (RFC 9113, 6.9.2).
    expect((await send(port, [envelope(requestFor("t".repeat(500_000)))])).code).toBe(0);
    expect(asked).toHaveLength(21);
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
  ] as const)("may be compressed as %s, or marked so and sent as it is", async (encoding, compress) => {
    const { port, asked } = await serving();
    const headers = { "grpc-encoding": encoding };
    expect((await send(port, [envelope(compress(message), 1)], headers)).code).toBe(0);
    expect((await send(port, [envelope(message)], headers)).code).toBe(0);
    expect((await send(port, [envelope(message)], { "grpc-encoding": "identity" })).code).toBe(0);
    expect(asked).toEqual(["t", "t", "t"]);
  });

  const tail = "x".repeat(2_000);
  it.each<[string, Buffer[], Record<string, string>, number]>([
    ["that has no message", [], {}, status.INVALID_ARGUMENT],
    ["whose message is not whole", [envelope(message).subarray(0, -1)], {}, status.INVALID_ARGUMENT],
    ["whose prefix is not whole", [envelope(message).subarray(0, 3)], {}, status.INVALID_ARGUMENT],
    ["with two messages", [envelope(message), envelope(message)], {}, status.UNIMPLEMENTED],
    [
      "with two messages in one piece",
      [Buffer.concat([envelope(message), envelope(message)])],
      {},
      status.UNIMPLEMENTED,
    ],
    ["with a message and a half", [envelope(message), Buffer.from([0])], {}, status.UNIMPLEMENTED],
    ["with an unknown flag", [envelope(message, 2)], {}, status.INVALID_ARGUMENT],
    ["that names no compression", [envelope(gzipSync(message), 1)], {}, status.INVALID_ARGUMENT],
    ["whose compression is damaged", [envelope(message, 1)], { "grpc-encoding": "gzip" }, status.INVALID_ARGUMENT],
    ["of an unknown compression", [envelope(message, 1)], { "grpc-encoding": "br" }, status.UNIMPLEMENTED],
    ["that is too large", [envelope(requestFor(tail))], {}, status.RESOURCE_EXHAUSTED],
    ["that is too large in pieces", [Buffer.from([0, 0, 0]), Buffer.from([9, 9])], {}, status.RESOURCE_EXHAUSTED],
    [
      "that becomes too large",
      [envelope(gzipSync(requestFor(tail)), 1)],
      { "grpc-encoding": "gzip" },
      status.RESOURCE_EXHAUSTED,
    ],
  ])("%s is refused, and the service not asked", async (_what, pieces, headers, code) => {
    const { port, asked, lines } = await serving({ ...defaultLimits, maxRequestBytes: 1_000 });
    const answer = await send(port, pieces, headers);
    expect(answer).toMatchObject({ code, isAlone: true });
    expect(answer.message).not.toBe("");
    expect(asked).toEqual([]);
    expect(lines).toEqual([]);
    if (headers["grpc-encoding"] === "br") expect(answer.head["grpc-accept-encoding"]).toBe("identity,gzip,deflate");
  });

  it("that is too large is refused by its prefix, and what follows is not wanted", async () => {
    const { port } = await serving({ ...defaultLimits, maxRequestBytes: 1_000 });
    const stream = begin(open(port));
    const answer = answerOf(stream);
    stream.write(Buffer.from([0, 0, 0xff, 0xff, 0xff]));
    expect(await answer).toMatchObject({ code: status.RESOURCE_EXHAUSTED, rstCode: constants.NGHTTP2_NO_ERROR });
  });

  it("that does not end is refused in the end, and the service not asked", async () => {
    const { port, asked } = await serving({ ...defaultLimits, requestTimeoutMs: 200 });
    const stream = begin(open(port));
    const answer = answerOf(stream);
    stream.write(envelope(message));
    expect(await answer).toMatchObject({ code: status.DEADLINE_EXCEEDED, isAlone: true });
    expect(asked).toEqual([]);
  });

  it("whose deadline passes before it is here is not handed to the service", async () => {
    const { port, asked } = await serving();
    const stream = begin(open(port), { "grpc-timeout": "50m" });
    const answer = answerOf(stream);
    stream.write(envelope(message));
    expect(await answer).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(asked).toEqual([]);
  });

  it.each([
    [{ "content-type": "application/json" }, 415],
    [{ "content-type": "application/grpc-web+proto" }, 415],
    [{ "content-type": "application/grpc+json" }, 415],
    [{ "content-type": "application/grpcx" }, 415],
    [{ ":method": "PUT" }, 405],
  ])("that is none of gRPC is answered by HTTP: %j", async (headers, code) => {
    const { port } = await serving();
    const { head, isAlone } = await send(port, [envelope(message)], headers);
    expect([head[":status"], isAlone, head["grpc-status"]]).toEqual([code, true, undefined]);
  });

  it.each(["application/grpc", "application/grpc+proto", "Application/gRPC; charset=utf-8"])(
    "may be of type %s",
    async (type) => {
      const { port } = await serving();
      expect((await send(port, [envelope(message)], { "content-type": type })).code).toBe(0);
    },
  );

  it("does not give binary metadata for text", async () => {
    const seen: (string | undefined)[] = [];
    const { port } = await serve(({ call }) => {
      seen.push(call.header("x-data-bin"), call.header("x-data"), call.header("constructor"));
      return task;
    });
    await send(port, [envelope(message)], { "x-data-bin": "AAAA", "x-data": "a" });
    expect(seen).toEqual([undefined, "a", undefined]);
  });
});

describe("a client that resets its stream", () => {
  it("ends what is made for it, and leaves the others of its connection alone", async () => {
    const left: string[] = [];
    const { port } = await serve(async function* ({ call }) {
      const name = call.header("x-name") ?? "";
      try {
        yield taskEvent(name);
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
      } finally {
        left.push(name);
      }
    });
    const session = open(port);
    const [one, two] = ["one", "two"].map((name) => {
      const stream = begin(session, { ":path": pathOf(streaming), "x-name": name });
      stream.end(envelope(message));
      return stream;
    }) as [ClientHttp2Stream, ClientHttp2Stream];
    await Promise.all([one, two].map((stream) => new Promise((resolve) => stream.once("data", resolve))));
    one.close(constants.NGHTTP2_CANCEL);
    await until(() => left.length > 0);
    expect(left).toEqual(["one"]);
    expect(two.closed).toBe(false);
  });

  it("is not answered, and not waited for", async () => {
    const { port, asked, server } = await serving();
    const session = open(port);
    for (const body of [undefined, Buffer.from([0, 0])]) {
      const stream = begin(session);
      if (body !== undefined) stream.write(body);
      stream.close(constants.NGHTTP2_CANCEL);
      await new Promise((resolve) => stream.once("close", resolve));
    }
    await server.drain(3_600_000);
    expect(asked).toEqual([]);
  });
});

describe("a stream that is reset as it begins", () => {
  it.each([0, 1, 2, 3, 5, 7, 8, 11])("ends nothing else, with code %i", async (code) => {
    const { port, client } = await serving();
    const socket = connectTcp(port, "127.0.0.1").on("error", () => {});
    cleanup(() => socket.destroy());
    const head = { ":path": pathOf(unary), "content-type": "application/grpc", te: "trailers" };
    const reset = Buffer.from([0, 0, 0, code]);
    const bodies = [undefined, envelope(message), Buffer.from([0, 0, 0])];
    const streams = bodies.map((body, i) => [request(1 + 2 * i, head, body), frame(RST_STREAM, 0, 1 + 2 * i, reset)]);
    socket.write(Buffer.concat([begun, ...streams.flat()]));
    await new Promise((resolve) => socket.once("data", resolve));
    expect((await callUnary(client, message)).error).toBeNull();
  });
});

describe("a server that ends", () => {
  it("tells its clients, lets open calls end, and takes no new ones of their connections", async () => {
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { port, server } = await serve(async () => {
      await held;
      return task;
    });
    const session = open(port);
    let isTold = false;
    session.on("goaway", () => {
      isTold = true;
    });
    const stream = begin(session);
    const answer = answerOf(stream);
    stream.end(envelope(message));
    await new Promise((resolve) => stream.once("ready", resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const drained = server.drain(3_600_000);
    await until(() => isTold);
    const late = lateCall(session);
    go();
    expect((await answer).code).toBe(0);
    expect((await late)?.code).toBeUndefined();
    await drained;
  });
});

/**
 * Makes a call on a connection whose server has announced its end. Undefined if Node.js refuses the call itself, as
 * some versions do.
 */
async function lateCall(session: ClientHttp2Session): Promise<Answer | undefined> {
  try {
    const stream = begin(session);
    const answer = answerOf(stream);
    stream.end(envelope(message));
    return await answer;
  } catch {
    return undefined;
  }
}

describe("a fault where a call begins", () => {
  it("is the end of this call, and of no other", async () => {
    let isFaulty = false;
    class Faulty extends InboundBudget {
      override begin(request: Parameters<InboundBudget["begin"]>[0]): void {
        if (isFaulty) throw new Error("a fault");
        super.begin(request);
      }
    }
    const inboundBudget = new Faulty({ limits: defaultLimits });
    const { port, lines } = await serve(() => task, { inboundBudget });
    const session = open(port);
    const send = (): Promise<Answer> => {
      const stream = begin(session);
      const answer = answerOf(stream);
      stream.end(envelope(message));
      return answer;
    };
    expect((await send()).code).toBe(0);
    isFaulty = true;
    expect(await send()).toMatchObject({ code: undefined, rstCode: constants.NGHTTP2_INTERNAL_ERROR });
    isFaulty = false;
    expect((await send()).code).toBe(0);
    expect(lines).toMatchObject([{ level: "error", message: "a call of gRPC could not be begun" }]);
  });
});

describe("health and reflection", () => {
  const question = (name: string): Buffer => {
    const messageRequest = { case: "fileContainingSymbol", value: name } as const;
    return Buffer.from(
      toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })),
    );
  };
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

  it("answer questions in their order, compressed or not, however they are cut", async () => {
    const { port } = await serving();
    const names = ["lf.a2a.v1.Task", "no.such.Thing", "lf.a2a.v1.A2AService"];
    const [one, two, three] = names.map(question) as [Buffer, Buffer, Buffer];
    const all = Buffer.concat([envelope(one), envelope(gzipSync(two), 1), envelope(three)]);
    for (const pieces of [[all], [all.subarray(0, 7), all.subarray(7, 60), all.subarray(60)]]) {
      const { body, code } = await send(port, pieces, { ":path": path, "grpc-encoding": "gzip" });
      expect(code).toBe(0);
      const answers: string[] = [];
      for (let at = 0; at < body.length; ) {
        const end = at + 5 + body.readUInt32BE(at + 1);
        const { originalRequest, messageResponse } = fromBinary(
          ServerReflectionResponseSchema,
          body.subarray(at + 5, end),
        );
        answers.push(`${originalRequest?.messageRequest.value} ${messageResponse.case}`);
        at = end;
      }
      expect(answers).toEqual([
        "lf.a2a.v1.Task fileDescriptorResponse",
        "no.such.Thing errorResponse",
        "lf.a2a.v1.A2AService fileDescriptorResponse",
      ]);
    }
  });

  it.each([
    ["bytes that are no question", envelope(Buffer.from([0xff])), status.INVALID_ARGUMENT],
    ["a question that is not whole", envelope(question("x")).subarray(0, -1), status.INVALID_ARGUMENT],
    ["a question that is too large", envelope(question("x".repeat(70_000))), status.RESOURCE_EXHAUSTED],
  ])("refuse %s", async (_what, bytes, code) => {
    const { port, lines } = await serving();
    expect((await send(port, [bytes], { ":path": path })).code).toBe(code);
    expect(lines).toEqual([]);
  });

  it("end with the server, also where the client does not end its questions", async () => {
    const { port, server } = await serving();
    const stream = begin(open(port), { ":path": path });
    const answer = answerOf(stream);
    stream.write(envelope(question("lf.a2a.v1.Task")));
    await new Promise((resolve) => stream.once("data", resolve));
    await server.drain(3_600_000);
    expect(await answer).toMatchObject({ code: 0, rstCode: constants.NGHTTP2_NO_ERROR });
  });

  it("cut off who asks and takes no answers", async () => {
    setConstants(slowReader, { timeoutMs: 200 });
    const { port } = await serving(defaultLimits);
    const stream = begin(open(port, 100), { ":path": path });
    const answer = answerOf(stream);
    stream.pause();
    for (let asked = 0; asked < 10; asked++) stream.write(envelope(question("lf.a2a.v1.Task")));
    expect(await answer).toMatchObject({ rstCode: constants.NGHTTP2_ENHANCE_YOUR_CALM });
  });

  it("forget who asked to watch, and left before the question was decompressed", async () => {
    const infrastructure = new InternalServices({ service: A2AService });
    let watchers = 0;
    const { opened } = infrastructure;
    infrastructure.opened = (end) => {
      watchers++;
      const close = opened.call(infrastructure, end);
      return () => {
        watchers--;
        close();
      };
    };
    const { port } = await serve(() => task, { infrastructure });
    // Occupies all threads that decompress.
    const busy = Promise.all(Array.from({ length: 4 }, () => promisify(pbkdf2)("a", "b", 300_000, 64, "sha512")));
    const stream = begin(open(port), { ":path": "/grpc.health.v1.Health/Watch", "grpc-encoding": "gzip" });
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.end(envelope(gzipSync(new Uint8Array()), 1));
    await sleep(50);
    stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all([closed, busy]);
    await sleep(50);
    expect(watchers).toBe(0);
  });

  it("refuse a request for health that is none", async () => {
    const { port, lines } = await serving();
    for (const name of ["Check", "Watch"]) {
      const headers = { ":path": `/grpc.health.v1.Health/${name}` };
      expect((await send(port, [envelope(Buffer.from([0xff]))], headers)).code).toBe(status.INVALID_ARGUMENT);
      expect((await send(port, [], headers)).code).toBe(status.INVALID_ARGUMENT);
    }
    const other = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: "no.such" }));
    const headers = { ":path": "/grpc.health.v1.Health/Check" };
    expect((await send(port, [envelope(other)], headers)).code).toBe(status.NOT_FOUND);
    expect(lines).toEqual([]);
  });
});
