import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";
import type { JsonRpcDialect } from "./jsonrpc.js";
import type { RestDialect } from "./rest.js";

/** One call, as a version of the protocol has it: a method of a descriptor and its request. */
export interface Asked {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
}

/** Answers calls: a message, or, where the descriptor says server streaming, messages. An `Invoke` is one. */
export type Serve = (asked: Asked) => Promise<Message | AsyncIterable<Message>>;

/** A version of the protocol, and how each binding speaks it. A binding that has nothing here does not speak it. */
export interface ProtocolVersion {
  /** `Major.Minor`, as cards and `A2A-Version` name it (specification 3.6). */
  readonly name: string;
  readonly jsonRpc?: JsonRpcDialect;
  readonly rest?: RestDialect;
  /** The service that gRPC serves it by: the binding is the same, with another descriptor. */
  readonly grpc?: DescService;
  /** The same for Connect and gRPC-Web. */
  readonly connect?: DescService;
  /**
   * Makes what answers calls of this version out of the service: its requests become those of the service, and answers
   * come back. Applied once, when a binding is made; it runs around everything, so that each call is authenticated, counted and
   * checked as those of the service are. Errors pass as they are, and the dialects write them.
   *
   * What it answers is always a message of its own: those of a stream are shared with readers of other versions, and keep the
   * JSON that they were written in. `carryMarks` takes over what is noted on them. Undefined: calls are those of the service.
   */
  readonly translate?: (service: Serve) => Serve;
}

/** The version that the service itself speaks, which every binding has. */
export type NativeVersion = Required<Omit<ProtocolVersion, "translate">>;
