import { constants } from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, handleUnaryCall } from "@grpc/grpc-js";
import { Call } from "../../../core/call.js";
import { A2AError, StatusCode } from "../../../core/error.js";
import type { RefusedRequest } from "../../../service/interceptors/access-log.js";
import { PROTOCOL_VERSION } from "../../../version/v1.js";
import { PREFIX_BYTES } from "../../../wire/binary-output.js";
import { envelopeWriter } from "../../../wire/binary-writer.js";
import { weightOf } from "../../../wire/marks.js";
import { cachedEnvelope } from "../../../wire/serialization-cache.js";
import type { ServiceBindingOptions } from "../../binding.js";
import { type FailureContext, failureOf } from "../../failure.js";
import { statusOf } from "../error.js";
import { GrpcCallStart, type StreamCall, sendHeaders, statusFor, type UnaryCall } from "./call.js";
import { bufferOf, type GrpcDefinition, grpcServiceDefinition, type Incoming } from "./definition.js";
import { streamOf } from "./http2-stream.js";
import { writeLarge } from "./large.js";
import { type Writing, writeAll } from "./stream.js";

export interface GrpcBindingOptions extends Omit<ServiceBindingOptions, "arrivals" | "version"> {
  /** Version implied by the package of the service. Default: that of the service itself. */
  readonly version?: string;
  /** True if the grpc-js server uses TLS, which handlers cannot see. Default false. */
  readonly encrypted?: boolean | undefined;
}

type UnaryHandler = handleUnaryCall<Incoming, Buffer>;
type StreamHandler = handleServerStreamingCall<Incoming, Buffer>;

/** The two arguments of grpc-js's `server.addService()`. */
export interface GrpcBinding {
  readonly definition: GrpcDefinition;
  /** A grpc-js handler for each method. It takes the call and, for a unary method, the callback. */
  readonly implementation: Readonly<Record<string, (call: unknown, callback: unknown) => void>>;
}

/**
 * Creates the gRPC binding (specification 10) for a grpc-js server: `server.addService(definition, implementation)`.
 * Methods with a stream of requests are left out, because `invoke` does not support them; grpc-js answers them with
 * UNIMPLEMENTED.
 */
export function createGrpcBinding(options: GrpcBindingOptions): GrpcBinding {
  const implementation: Record<string, UnaryHandler | StreamHandler> = {};
  for (const method of options.service.methods) {
    if (method.methodKind === "unary") implementation[method.name] = unary(method, options);
    if (method.methodKind === "server_streaming") implementation[method.name] = serverStreaming(method, options);
  }
  return {
    definition: grpcServiceDefinition(options.service, options.limits),
    implementation: implementation as GrpcBinding["implementation"],
  };
}

function unary(method: DescMethod, options: GrpcBindingOptions): UnaryHandler {
  const write = envelopeWriter(method.output);
  return async (grpc, callback) => {
    try {
      const { start, call } = begin(grpc, options);
      try {
        const answer = await options.invoke({ method, request: request(grpc), call });
        // The answer of a unary method is a message; a stream fails to encode.
        if (weightOf(answer as Message) !== undefined) {
          return await largeUnary(grpc, callback, { method, options, call, start, answer: answer as Message });
        }
        const bytes = write(answer as Message);
        sendHeaders(grpc, call);
        callback(null, withoutPrefix(bytes));
      } catch (thrown) {
        const error = failureOf(thrown, placeOf(method, call, start, options));
        if (thrown === grpc.request) options.refused?.(refusedCall(method, call, error));
        sendHeaders(grpc, call);
        callback(statusFor(grpc, statusOf(error, options.codes)));
      } finally {
        start.finish();
      }
    } catch (fault) {
      breakOff(grpc, options, fault);
    }
  };
}

function serverStreaming(method: DescMethod, options: GrpcBindingOptions): StreamHandler {
  return async (grpc) => {
    try {
      const { start, call } = begin(grpc, options);
      try {
        const answer = await options.invoke({ method, request: request(grpc), call });
        // The answer of a streaming method is an iterable; a message throws here and is logged.
        await writeAll(grpc, answer as AsyncIterable<Message>, writingOf(method, options, grpc, call));
      } catch (thrown) {
        const error = failureOf(thrown, placeOf(method, call, start, options));
        if (thrown === grpc.request) options.refused?.(refusedCall(method, call, error));
        if (start.canceled) return;
        sendHeaders(grpc, call);
        // grpc-js takes the status of a stream as an error event, and sends it after the messages already written.
        grpc.emit("error", statusFor(grpc, statusOf(error, options.codes)));
      } finally {
        start.finish();
      }
    } catch (fault) {
      breakOff(grpc, options, fault);
    }
  };
}

/** Ends a call to which no error can be sent. grpc-js does not handle rejections, which would end the process. */
function breakOff(grpc: UnaryCall | StreamCall, { logger }: GrpcBindingOptions, fault: unknown): void {
  logger.error({ err: fault }, "a call of gRPC could not be answered");
  streamOf(grpc)?.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** Returns the writer of a stream's messages. The response's headers are sent before the first message. */
function writingOf(method: DescMethod, { limits }: GrpcBindingOptions, grpc: StreamCall, call: Call): Writing<Message> {
  const write = envelopeWriter(method.output);
  let hasStarted = false;
  const begin = (): void => {
    if (!hasStarted) sendHeaders(grpc, call);
    hasStarted = true;
  };
  return {
    encode: (message) => {
      begin();
      return withoutPrefix(cachedEnvelope(message, write));
    },
    isLarge: (message) => weightOf(message) !== undefined,
    writeLarge: (message) => writeLarge(grpc, method.output, message, { limits, begin }),
  };
}

/** Removes the prefix of a message, which grpc-js adds itself. */
function withoutPrefix(envelope: Uint8Array): Buffer {
  return bufferOf(envelope.subarray(PREFIX_BYTES));
}

interface LargeAnswer {
  readonly method: DescMethod;
  readonly options: GrpcBindingOptions;
  readonly call: Call;
  readonly start: GrpcCallStart;
  readonly answer: Message;
}

/** Answers with a large message. @throws the errors of an ordinary answer, before anything is written */
async function largeUnary(grpc: UnaryCall, callback: Respond, large: LargeAnswer): Promise<void> {
  const { method, options, call, start, answer } = large;
  const begin = (): void => sendHeaders(grpc, call);
  try {
    if (await writeLarge(grpc, method.output, answer, { limits: options.limits, begin })) {
      // From here on, the end of the call is not a cancellation.
      start.finish();
      // The message is sent. grpc-js takes the remaining status as an error with code OK.
      callback({ code: StatusCode.OK, details: "OK" });
    } else {
      begin();
      callback(null, withoutPrefix(envelopeWriter(method.output)(answer)));
    }
  } finally {
    call.written?.();
  }
}

type Respond = Parameters<handleUnaryCall<Incoming, Buffer>>[1];

function begin(grpc: UnaryCall | StreamCall, options: GrpcBindingOptions): { start: GrpcCallStart; call: Call } {
  const start = new GrpcCallStart(grpc, options.encrypted ?? false, options.version ?? PROTOCOL_VERSION);
  return { start, call: new Call(start) };
}

function request(grpc: UnaryCall | StreamCall): Message {
  if (grpc.request instanceof A2AError) throw grpc.request;
  return grpc.request;
}

/** The log entry of a call whose request could not be read. */
function refusedCall({ name: method }: DescMethod, from: Call, { reason: code }: A2AError): RefusedRequest {
  return { binding: from.binding, method, code, ms: 0, from };
}

function placeOf(
  { name }: DescMethod,
  call: Call,
  client: GrpcCallStart,
  { logger }: GrpcBindingOptions,
): FailureContext {
  return { client, logger, binding: call.binding, method: name, call };
}
