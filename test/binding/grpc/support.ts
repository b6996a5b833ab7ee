import { type ClientHttp2Stream, connect } from "node:http2";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServiceError,
} from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { A2AService, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createGrpcBinding } from "../../../src/binding/grpc/embedded/binding.js";
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from "../../../src/binding/grpc/server.js";
import { defaultLimits } from "../../../src/core/limits.js";
import type { Logger } from "../../../src/core/log.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import type { Invocation, InvocationResult, Invoke } from "../../../src/service/invoke.js";
import { afterEachTest } from "../../support/clean-up.js";

export const unary = A2AService.method.getTask;
export const streaming = A2AService.method.subscribeToTask;

export interface Line {
  readonly level: keyof Logger;
  readonly facts: Record<string, unknown>;
  readonly message: string;
}

export function recordingLogger(): { logger: Logger; lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: keyof Logger) => (facts: object, message: string) => {
    lines.push({ level, facts: { ...facts }, message });
  };
  return { logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

const cleanups: (() => unknown)[] = [];
afterEachTest(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** Runs when the test is over, last in, first out. */
export function cleanup(clean: () => unknown): void {
  cleanups.push(clean);
}

export interface Served {
  readonly port: number;
  readonly client: Client;
  readonly lines: Line[];
}

/** Replaces the service: an answer, or a function that returns one. */
export type Answering = (invocation: Invocation) => InvocationResult | Promise<InvocationResult>;

/** Serves gRPC on a free port, and connects a client. `answering` answers every method. */
export async function serve(
  answering: Answering,
  options: Partial<GrpcServerOptions> = {},
): Promise<Served & { readonly server: GrpcServer }> {
  const { logger, lines } = recordingLogger();
  const invoke: Invoke = async (invocation) => answering(invocation);
  const inboundBudget = new InboundBudget({ limits: defaultLimits });
  const shared = { limits: defaultLimits, inboundBudget, logger, ...options };
  const services = [{ ...shared, service: A2AService, version: "1.0", invoke }] as const;
  const server = createGrpcServer({ host: "127.0.0.1", port: 0, services, ...shared });
  cleanup(() => server.drain(0));
  const { port } = await server.listen();
  return { server, port, client: clientOf(port), lines };
}

/** Does the same on a server of grpc-js, as an application that embeds Parley has one. */
export async function serveEmbedded(
  answering: Answering,
  { limits = defaultLimits }: Partial<GrpcServerOptions> = {},
  options: ServerOptions = { "grpc.max_receive_message_length": limits.maxRequestBytes, "grpc.enable_channelz": 0 },
): Promise<Served> {
  const { logger, lines } = recordingLogger();
  const invoke: Invoke = async (invocation) => answering(invocation);
  const binding = createGrpcBinding({ service: A2AService, limits, invoke, logger });
  const server = new Server(options);
  server.addService(binding.definition, binding.implementation);
  cleanup(() => server.forceShutdown());
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return { port, client: clientOf(port), lines };
}

/** Both ways to serve gRPC. */
export const servers: readonly (readonly [name: string, serve: typeof serveEmbedded])[] = [
  ["our server", serve],
  ["a server of grpc-js", serveEmbedded],
];

/** A client with a connection of its own. */
export function clientOf(port: number, secure = credentials.createInsecure()): Client {
  const client = new Client(`127.0.0.1:${port}`, secure, {
    // Node.js 26 accepts no address as the name of a TLS server.
    "grpc.ssl_target_name_override": "localhost",
    // With the HTTP/2 client of Node.js 22.13, a request that crosses GOAWAY ends every call of its connection.
    "grpc.use_local_subchannel_pool": 1,
  });
  cleanup(() => client.close());
  return client;
}

const bytes = (value: Buffer): Buffer => value;
const path = (method: { name: string }): string => `/${A2AService.typeName}/${method.name}`;

export interface UnaryResult {
  readonly error: ServiceError | null;
  readonly value: Buffer | undefined;
  readonly headers: Metadata;
}

export interface UnaryCallOptions {
  readonly metadata?: Metadata;
  readonly deadline?: number;
  readonly method?: { name: string };
  /** Receives the call, which it may cancel. */
  readonly started?: (call: { cancel(): void }) => void;
}

/** Calls a unary method with these bytes. Never rejects; the result contains the error. */
export function callUnary(client: Client, request: Buffer, options: UnaryCallOptions = {}): Promise<UnaryResult> {
  return new Promise((resolve) => {
    let headers = new Metadata();
    const { metadata = new Metadata(), deadline, method = unary } = options;
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      path(method),
      bytes,
      bytes,
      request,
      metadata,
      deadline === undefined ? {} : { deadline },
      (error, value) => setImmediate(() => resolve({ error, value, headers })),
    );
    call.on("metadata", (received: Metadata) => {
      headers = received;
    });
    options.started?.(call);
  });
}

export type ClientStream = ReturnType<Client["makeServerStreamRequest"]>;

export function callStream(client: Client, deadline?: number): ClientStream {
  return client.makeServerStreamRequest(
    path(streaming),
    bytes,
    bytes,
    Buffer.from(toBinary(streaming.input, create(streaming.input, { id: "t" }))),
    new Metadata(),
    deadline === undefined ? {} : { deadline },
  );
}

/**
 * A call by a client that does not read until it is resumed. It uses HTTP/2 directly, because a client of grpc-js reads
 * and buffers everything while its stream is paused.
 */
export function lazyCall(port: number, method: { name: string }): ClientHttp2Stream {
  const session = connect(`http://127.0.0.1:${port}`);
  cleanup(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": path(method),
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.end(Buffer.alloc(5));
  return stream;
}

/** Reads a stream to its end. Returns the ids of its messages in order, and its error. */
export async function drainStream(stream: ClientStream): Promise<{ ids: string[]; error: ServiceError | undefined }> {
  const ids: string[] = [];
  try {
    for await (const chunk of stream) ids.push(idOf(chunk as Buffer));
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error: error as ServiceError };
  }
}

export function taskEvent(id: string): Message {
  return create(StreamResponseSchema, { payload: { case: "task", value: { id } } });
}

function idOf(chunk: Buffer): string {
  const { payload } = fromBinary(StreamResponseSchema, chunk);
  return payload.case === "task" ? payload.value.id : "";
}

export function requestFor(id: string): Buffer {
  return Buffer.from(toBinary(unary.input, create(unary.input, { id })));
}

/** Decodes the `google.rpc.Status` of an error and its first two details. */
export function detailsOf(error: ServiceError | null | undefined) {
  const [trailer] = error?.metadata.get("grpc-status-details-bin") ?? [];
  if (!Buffer.isBuffer(trailer)) throw new Error("no details in the trailers");
  const status = fromBinary(StatusSchema, trailer);
  const types = status.details.map((any) => any.typeUrl);
  const info = fromBinary(ErrorInfoSchema, status.details[0]?.value ?? new Uint8Array());
  const bad = status.details
    .filter((any) => any.typeUrl.endsWith(`/${BadRequestSchema.typeName}`))
    .map((any) => fromBinary(BadRequestSchema, any.value))[0];
  return { code: status.code, message: status.message, types, info, bad, size: trailer.length };
}

/** Resolves when the condition holds. Rejects after 15 seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 15_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error("it did not come to that in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves when the value has not changed for 150 ms. */
export async function settled(value: () => number): Promise<number> {
  for (let last = Number.NaN; last !== value(); await new Promise((resolve) => setTimeout(resolve, 150)))
    last = value();
  return value();
}
