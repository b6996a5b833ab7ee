import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, handleUnaryCall, StatusObject } from "@grpc/grpc-js";
import { Call } from "../../../core/call.js";
import { A2AError, StatusCode } from "../../../core/error.js";
import { logFacts } from "../../../core/log.js";
import type { RejectedRequest } from "../../../service/interceptors/access-log.js";
import { PROTOCOL_VERSION } from "../../../version/v1.js";
import { envelopeWriter } from "../../../wire/binary-writer.js";
import { weightOf } from "../../../wire/marks.js";
import { streamAnswer, unaryAnswer } from "../../answer.js";
import type { ServiceBindingOptions } from "../../binding.js";
import { type FailureContext, failureOf } from "../../failure.js";
import { statusOf } from "../error.js";
import { wholeEnvelope } from "../message.js";
import { writeAll } from "../stream.js";
import { GrpcCallStart, type StreamCall, sendHeaders, statusFor, type UnaryCall } from "./call.js";
import { type DecodedRequest, type GrpcDefinition, grpcServiceDefinition, withoutPrefix } from "./definition.js";
import { GrpcJsSink } from "./stream.js";

interface GrpcBindingOptions extends Omit<ServiceBindingOptions, "inboundBudget" | "version"> {
  /** Version implied by the package of the service. Default: that of the service itself. */
  readonly version?: string;
  /** True if the grpc-js server uses TLS, which handlers cannot see. Default false. */
  readonly encrypted?: boolean | undefined;
}

type UnaryHandler = handleUnaryCall<DecodedRequest, Buffer>;
type StreamHandler = handleServerStreamingCall<DecodedRequest, Buffer>;

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
    if (method.methodKind === "unary") implementation[method.name] = unaryHandler(method, options);
    if (method.methodKind === "server_streaming") implementation[method.name] = serverStreaming(method, options);
  }
  return {
    definition: grpcServiceDefinition(options.service),
    implementation: implementation as GrpcBinding["implementation"],
  };
}

function unaryHandler(method: DescMethod, options: GrpcBindingOptions): UnaryHandler {
  const write = envelopeWriter(method.output);
  return async (grpc, callback) => {
    let call: Call | undefined;
    try {
      const start = begin(grpc, options);
      call = new Call(start);
      try {
        // The answer of a unary method is a message; a stream fails to encode.
        const answer = unaryAnswer(await options.invoke({ method, request: request(grpc), call }));
        // grpc-js reports the end of every call as a cancellation, its only sign that an answer was read.
        if (call.written !== undefined) start.onEnd(call.written);
        const isLarge = weightOf(answer) !== undefined;
        const { limits } = options;
        const bytes = isLarge ? await wholeEnvelope(method.output, answer, { call, limits }) : write(answer);
        sendHeaders(grpc, call);
        callback(null, withoutPrefix(bytes));
      } catch (thrown) {
        const error = failureOf(thrown, failureContext(method, call, start, options));
        if (thrown === grpc.request) options.onRejection?.(rejectedCall(method, call, error));
        sendHeaders(grpc, call);
        callback(statusFor(grpc, statusOf(error, options.codes)));
      } finally {
        start.finish();
      }
    } catch (fault) {
      breakOff(options, { call, fault }, callback);
    }
  };
}

function serverStreaming(method: DescMethod, options: GrpcBindingOptions): StreamHandler {
  const write = envelopeWriter(method.output);
  return async (grpc) => {
    let call: Call | undefined;
    try {
      const start = begin(grpc, options);
      call = new Call(start);
      try {
        const answer = await options.invoke({ method, request: request(grpc), call });
        // The answer of a streaming method is an iterable; a message throws here and is logged.
        const writing = { call, desc: method.output, write, limits: options.limits };
        await writeAll(streamAnswer(answer), new GrpcJsSink(grpc, start, writing));
      } catch (thrown) {
        const error = failureOf(thrown, failureContext(method, call, start, options));
        if (thrown === grpc.request) options.onRejection?.(rejectedCall(method, call, error));
        if (start.canceled) return;
        sendHeaders(grpc, call);
        // grpc-js takes the status of a stream as an error event, and sends it after the messages already written.
        grpc.emit("error", statusFor(grpc, statusOf(error, options.codes)));
      } finally {
        start.finish();
      }
    } catch (fault) {
      breakOff(options, { call, fault }, (status) => grpc.emit("error", status));
    }
  };
}

/**
 * Ends a call whose error could not be sent. grpc-js does not handle rejections, which would end the process. If one of
 * the host's interceptors threw, grpc-js sends no status, and the call stays open until its deadline.
 */
function breakOff(
  { logger }: GrpcBindingOptions,
  { call, fault }: { readonly call: Call | undefined; readonly fault: unknown },
  respond: (status: Partial<StatusObject>) => void,
): void {
  const facts = call && logFacts(call);
  logger.error({ err: fault, ...facts }, "a call of gRPC could not be answered");
  try {
    respond({ code: StatusCode.INTERNAL, details: "Internal error." });
  } catch (error) {
    logger.error({ err: error, ...facts }, "a call of gRPC could not be ended");
  }
}

function begin(grpc: UnaryCall | StreamCall, { encrypted = false, version }: GrpcBindingOptions): GrpcCallStart {
  return new GrpcCallStart(grpc, encrypted, version ?? PROTOCOL_VERSION);
}

function request(grpc: UnaryCall | StreamCall): Message {
  if (grpc.request instanceof A2AError) throw grpc.request;
  return grpc.request;
}

/** The log entry of a call whose request could not be read. */
function rejectedCall({ name: method }: DescMethod, from: Call, { reason: code }: A2AError): RejectedRequest {
  return { binding: from.binding, method, code, ms: 0, from };
}

function failureContext(
  { name }: DescMethod,
  call: Call,
  client: GrpcCallStart,
  { logger }: GrpcBindingOptions,
): FailureContext {
  return { client, logger, binding: call.binding, method: name, call };
}
