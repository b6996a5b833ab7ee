import { type ClientHttp2Session, connect } from "node:http2";
import { create } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerOptions,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { A2AService, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createGrpcBinding } from "../../../src/binding/grpc/binding.js";
import { defaultLimits } from "../../../src/core/limits.js";
import { callUnary, cleanup, clientOf, recordingLogger, requestFor, serve, unary, until } from "./support.js";

const faults: unknown[] = [];
const note = (error: unknown): void => void faults.push(error);
beforeEach(() => {
  faults.length = 0;
  process.on("uncaughtException", note).on("unhandledRejection", note);
});
afterEach(() => void process.off("uncaughtException", note).off("unhandledRejection", note));

/** More than one frame holds. */
const LONG = "t".repeat(40_000);

/** A server of somebody else with our service. */
async function embedded(options: ServerOptions, id = "t"): Promise<number> {
  const { logger } = recordingLogger();
  const invoke = async () => create(TaskSchema, { id });
  const { definition, implementation } = createGrpcBinding({
    service: A2AService,
    limits: defaultLimits,
    invoke,
    logger,
  });
  const server = new Server(options);
  server.addService(definition, implementation);
  cleanup(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
}

function session(port: number, initialWindowSize = 65_535): ClientHttp2Session {
  const opened = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } });
  cleanup(() => opened.destroy());
  return opened;
}

function request(client: ClientHttp2Session, headers: Record<string, string> = {}) {
  const stream = client.request({
    ":method": "POST",
    ":path": `/${A2AService.typeName}/${unary.name}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const message = requestFor("t");
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  return stream;
}

/** All of an answer but its date. */
async function answerOf(port: number): Promise<object> {
  const stream = request(session(port));
  let headers: object = {};
  let trailers: object = {};
  stream.on("response", (received) => {
    headers = { ...received, date: undefined };
  });
  stream.on("trailers", (received) => {
    trailers = { ...received };
  });
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { headers, body: Buffer.concat(chunks).toString("hex"), trailers };
}

const silent: ServerInterceptor = (_method, call) => new ServerInterceptingCall(call);

describe("the answer of a unary call", () => {
  it("is the same to the byte whether grpc-js writes it or we do", async () => {
    for (const id of ["t", LONG]) {
      const byLibrary = await answerOf(await embedded({ interceptors: [silent], "grpc.enable_channelz": 0 }, id));
      const { port } = await serve(() => create(TaskSchema, { id }));
      const byUs = await answerOf(port);
      expect(byUs).toEqual(byLibrary);
      expect(byUs).toMatchObject({ trailers: { "grpc-status": "0" } });
    }
  });

  it("passes through the interceptors of somebody else's server", async () => {
    const seen: string[] = [];
    const watching: ServerInterceptor = (_method, call) =>
      new ServerInterceptingCall(call, {
        sendMessage: (message, next) => {
          seen.push("message");
          next(message);
        },
        sendStatus: (status, next) => {
          seen.push("status");
          next(status);
        },
      });
    const port = await embedded({ interceptors: [watching], "grpc.enable_channelz": 0 });
    expect((await callUnary(clientOf(port), requestFor("t"))).error).toBeNull();
    expect(seen).toEqual(["message", "status"]);
  });

  it("keeps to the longest message that somebody else's server sends", async () => {
    const port = await embedded({ "grpc.max_send_message_length": 100, "grpc.enable_channelz": 0 }, LONG);
    expect((await callUnary(clientOf(port), requestFor("t"))).error?.details).toMatch(/larger than max/);
  });

  it("is not begun again when the deadline passes while it waits for its reader", async () => {
    const { port, client } = await serve(() => create(TaskSchema, { id: LONG }));
    const lazy = request(session(port, 100), { "grpc-timeout": "100m" });
    let hasAnswer = false;
    lazy
      .on("error", () => {})
      .on("response", () => {
        hasAnswer = true;
      });
    await until(() => hasAnswer);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(faults).toEqual([]);
    expect((await callUnary(client, requestFor("t"))).error).toBeNull();
  });
});
