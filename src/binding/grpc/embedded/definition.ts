import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { type A2AError, toA2AError } from "../../../core/error.js";
import { bufferOf } from "../../../http/body.js";
import { PREFIX_BYTES } from "../../../wire/binary-output.js";
import { binaryReader } from "../../../wire/binary-reader.js";
import { binaryWriter } from "../../../wire/binary-writer.js";
import { requestReader } from "../message.js";

/**
 * The request passed to a handler of the definition, or the error for malformed bytes. The error is passed instead of
 * thrown, because grpc-js answers a throwing decoder with INTERNAL, but unreadable bytes are the client's mistake.
 */
export type DecodedRequest = Message | A2AError;

/** The `MethodDefinition` of grpc-js. */
export interface GrpcMethod {
  readonly path: string;
  readonly originalName: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(message: Message): Buffer;
  requestDeserialize(bytes: Buffer): Message;
  responseSerialize(message: Message): Buffer;
  responseDeserialize(bytes: Buffer): Message;
}

/**
 * The `ServiceDefinition` of grpc-js. It is declared here, so that only users of grpc-js have to install it; test/types
 * compares the two.
 */
export type GrpcDefinition = Readonly<Record<string, GrpcMethod>>;

/**
 * Returns the `ServiceDefinition` of a protobuf descriptor: for `server.addService()` together with this folder's
 * implementation, or as the definition of a client. Keys are the rpc names (specification 10.1).
 */
export function grpcServiceDefinition(service: DescService): GrpcDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.name, methodDefinition(service, method)]));
}

/** Removes the prefix of a message, which grpc-js adds itself. */
export function withoutPrefix(envelope: Uint8Array): Buffer {
  return bufferOf(envelope.subarray(PREFIX_BYTES));
}

function methodDefinition(service: DescService, method: DescMethod): GrpcMethod {
  const kind = method.methodKind;
  const writeInput = binaryWriter(method.input);
  const writeOutput = binaryWriter(method.output);
  const readInput = requestReader(method.input);
  const readOutput = binaryReader(method.output);
  return {
    path: `/${service.typeName}/${method.name}`,
    originalName: method.localName,
    requestStream: kind === "client_streaming" || kind === "bidi_streaming",
    responseStream: kind === "server_streaming" || kind === "bidi_streaming",
    requestSerialize: (message) => bufferOf(writeInput(message)),
    // The implementation encodes answers itself, so that an encoding failure is logged like every other failure.
    // The types of grpc-js allow only a message or a thrown error; see DecodedRequest.
    requestDeserialize: (bytes) => decodedRequest(readInput, bytes) as Message,
    responseSerialize: (message) => (Buffer.isBuffer(message) ? message : bufferOf(writeOutput(message))),
    responseDeserialize: readOutput,
  };
}

function decodedRequest(read: (bytes: Uint8Array) => Message, bytes: Uint8Array): DecodedRequest {
  try {
    return read(bytes);
  } catch (error) {
    return toA2AError(error);
  }
}
