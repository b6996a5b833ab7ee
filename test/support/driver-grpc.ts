import { type DescMethod, fromBinary, type JsonObject } from "@bufbuild/protobuf";
import {
  Client,
  type ClientReadableStream,
  credentials,
  type CallOptions as GrpcCallOptions,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import type { Address, CallOptions, Wire, WireAnswer, WireStream } from "./driver.js";
import { bytesOf, normalOfBytes } from "./proto-json.js";
import { detailOf, statusName, WireFailure } from "./wire-error.js";

const detailsTrailer = "grpc-status-details-bin";
const bytes = (value: Buffer): Buffer => value;

/** gRPC on its own port, with grpc-js as the client. */
export function grpcWire({ grpcPort, grpcHost = "127.0.0.1" }: Address): Wire {
  const client = new Client(`${grpcHost}:${grpcPort}`, credentials.createInsecure());
  return {
    name: "grpc",
    close: () => client.close(),
    unary: (method, request, options) => unary(client, method, request, options),
    stream: (method, request, options) => stream(client, method, request, options),
  };
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function unary(client: Client, method: DescMethod, request: JsonObject, options: CallOptions): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let headers: Record<string, string> = {};
    let answer: UnaryAnswer | undefined;
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      pathOf(method),
      bytes,
      bytes,
      bytesOf(method.input, request),
      metadataOf(options),
      grpcOptions(options),
      (error, value) => {
        answer = { error, value };
      },
    );
    options.signal?.addEventListener("abort", () => call.cancel());
    call.on("metadata", (metadata) => {
      headers = textsOf(metadata);
    });
    // Comes after the callback, and brings the trailers.
    call.on("status", ({ metadata }) => {
      headers = { ...headers, ...textsOf(metadata) };
      setImmediate(() => {
        try {
          resolve({ message: messageOf(method, answer, headers), headers });
        } catch (error) {
          reject(error);
        }
      });
    });
  });
}

interface UnaryAnswer {
  readonly error: ServiceError | null;
  readonly value: Buffer | undefined;
}

function messageOf(method: DescMethod, answer: UnaryAnswer | undefined, headers: Record<string, string>): JsonObject {
  if (answer?.value !== undefined) return normalOfBytes(method.output, answer.value);
  throw answer?.error ? failureOf(answer.error, headers) : new Error("The call brought nothing.");
}

function stream(client: Client, method: DescMethod, request: JsonObject, options: CallOptions): Promise<WireStream> {
  const call = client.makeServerStreamRequest<Buffer, Buffer>(
    pathOf(method),
    bytes,
    bytes,
    bytesOf(method.input, request),
    metadataOf(options),
    grpcOptions(options),
  );
  options.signal?.addEventListener("abort", () => call.cancel());
  let headers: Record<string, string> = {};
  let early: Error | undefined;
  return new Promise((resolve) => {
    const begun = (metadata: Metadata): void => {
      headers = { ...headers, ...textsOf(metadata) };
      resolve({ headers, messages: messagesOf(call, method, () => ({ headers, early })) });
    };
    call.on("metadata", begun);
    call.on("status", ({ metadata }) => begun(metadata));
    // The iterator throws it too, unless it comes before the loop begins.
    call.on("error", (error) => {
      early ??= error;
    });
  });
}

async function* messagesOf(
  call: ClientReadableStream<Buffer>,
  method: DescMethod,
  so: () => { headers: Record<string, string>; early: Error | undefined },
): AsyncGenerator<JsonObject> {
  try {
    const { early } = so();
    if (early !== undefined) throw early;
    for await (const value of call as AsyncIterable<Buffer>) yield normalOfBytes(method.output, value);
  } catch (error) {
    throw isServiceError(error) ? failureOf(error, so().headers) : error;
  } finally {
    call.cancel();
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "metadata" in error;
}

function failureOf(error: ServiceError, headers: Record<string, string>): WireFailure {
  const [packed] = error.metadata.get(detailsTrailer);
  const status = packed instanceof Buffer ? fromBinary(StatusSchema, packed) : undefined;
  if (status !== undefined && (status.code !== error.code || status.message !== error.details)) {
    throw new Error(`The status ${status.code} of the details differs from the status ${error.code} of the call.`);
  }
  const details = status?.details.map(detailOf) ?? [];
  const wire = { native: error.code, status: statusName(error.code), message: error.details, details };
  return new WireFailure(wire, { ...headers, ...textsOf(error.metadata) });
}

function metadataOf({ headers = {} }: CallOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) continue;
    for (const one of typeof value === "string" ? [value] : value) metadata.add(name, one);
  }
  return metadata;
}

function grpcOptions({ timeoutMs }: CallOptions): GrpcCallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

function textsOf(metadata: Metadata): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const name of Object.keys(metadata.getMap())) {
    if (!name.endsWith("-bin")) texts[name] = metadata.get(name).join(", ");
  }
  return texts;
}
