import { create, toBinary } from "@bufbuild/protobuf";
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerOptions,
} from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { A2AService, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { createGrpcBinding } from "../../../../src/binding/grpc/embedded/binding.js";
import { defaultLimits } from "../../../../src/core/limits.js";
import type { Invoke } from "../../../../src/service/invoke.js";
import { uncaughtFaults } from "../../../support/faults.js";
import {
  callStream,
  callUnary,
  cleanup,
  clientOf,
  drainStream,
  recordingLogger,
  requestFor,
  streaming,
  taskEvent,
} from "../support.js";

/** A fault while a call is handled ends that call, but not the process or the connection. */

const faults = uncaughtFaults();

const thrower = (): never => {
  throw new Error("a fault");
};

/** Our service on another application's server. Its streams end when the gate opens. */
async function embedded(options: ServerOptions) {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { logger, lines } = recordingLogger();
  async function* stream() {
    yield taskEvent("0");
    await gate;
    yield taskEvent("1");
  }
  const invoke: Invoke = async ({ method, call }) => {
    call.responseHeaders.set("x-request-id", "r");
    return method === streaming ? stream() : create(TaskSchema, { id: "t" });
  };
  const binding = createGrpcBinding({ service: A2AService, limits: defaultLimits, invoke, logger });
  const server = new Server(options);
  server.addService(binding.definition, binding.implementation);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  cleanup(() => server.forceShutdown());
  return { client: clientOf(port), lines, open };
}

const faulty = new Metadata();
faulty.set("x-fault", "yes");

/** Throws when the headers of a marked call are sent. */
const throwing: ServerInterceptor = (_method, call) => {
  let isFaulty = false;
  return new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMetadata: (metadata, go) => {
          isFaulty = metadata.get("x-fault").length > 0;
          go(metadata);
        },
      }),
    sendMetadata: (metadata, go) => (isFaulty ? thrower() : go(metadata)),
  });
};

describe("a fault in one call of gRPC", () => {
  it("is the end of this call where its answer begins", async () => {
    const { client, lines, open } = await embedded({ interceptors: [throwing] });
    const other = drainStream(callStream(client));
    // grpc-js sends no status after a fault in an interceptor, so the deadline ends the call.
    const deadline = Date.now() + 1_000;
    const broken = await callUnary(client, requestFor("t"), { metadata: faulty, deadline });
    expect(broken.error).not.toBeNull();
    const stream = client.makeServerStreamRequest(
      `/${A2AService.typeName}/${streaming.name}`,
      (value: Buffer) => value,
      (value: Buffer) => value,
      Buffer.from(toBinary(streaming.input, create(streaming.input, { id: "t" }))),
      faulty,
      { deadline },
    );
    const brokenStream = drainStream(stream);
    open();
    expect((await brokenStream).error).toBeDefined();
    expect((await callUnary(client, requestFor("t"))).error).toBeNull();
    expect(await other).toMatchObject({ ids: ["0", "1"], error: undefined });
    expect(lines.filter(({ level }) => level === "error")).not.toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(faults).toEqual([]);
  });
});
