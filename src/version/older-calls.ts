import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Reason } from "../core/error.js";

/** One call, from its request to its last answer. */
export interface OlderExchange {
  /** The request as JSON: the params of JSON-RPC, or the body of HTTP+JSON; undefined for none. */
  readonly json: string | undefined;
  /** Path and query relative to the URL of the interface. Undefined for the URL itself. */
  readonly place?: string;
  /** A path that replaces the last segment of the URL. */
  readonly beside?: string;
  /**
   * Converts the answer to a call, or one event of a stream, to the service's message. It may modify its argument.
   *
   * @throws A2AError with reason INVALID_AGENT_RESPONSE
   */
  read(json: unknown): Message;
  /** True if the event marks itself as the last one of the stream. */
  readonly isOver: boolean;
}

/** A method of the service in an older version, in JSON. */
export interface OlderMethod {
  /** JSON-RPC method name; empty if JSON-RPC lacks the method. */
  readonly name: string;
  /** In upper case. */
  readonly verb: string;
  begin(request: Message): OlderExchange;
  /** Meaning of a 404 of HTTP+JSON. */
  readonly absent?: Reason;
  /** An alternative call, for servers that do not support this one. */
  readonly otherwise?: OlderMethod;
}

/** A method of the service in an older version, in that version's own messages. */
export interface OlderMessages {
  readonly method: DescMethod;
  /** Converts a request to the older version. */
  down(request: Message): Message;
  /**
   * Converts an answer, or one event of a stream, from the older version.
   *
   * @param request the request of the service, for a unary answer
   */
  up(answer: Message, request?: Message): Message;
  /** Returns true for the last event of a stream. */
  isLast(answer: Message): boolean;
}

/** The calls of an older version by binding. Undefined for a method that it does not have. */
export interface OlderCalls {
  readonly jsonRpc?: (method: DescMethod) => OlderMethod | undefined;
  readonly rest?: (method: DescMethod) => OlderMethod | undefined;
  readonly grpc?: (method: DescMethod) => OlderMessages | undefined;
  /** True if streams do not begin with the task, and a message to a task also names its session. */
  readonly hasTasklessStreams?: boolean;
  /** Codes of JSON-RPC with another meaning than in the service's version. */
  readonly reasons?: ReadonlyMap<unknown, Reason>;
  /** Errors over HTTP+JSON without a code in the body, by HTTP status. */
  readonly statuses?: ReadonlyMap<number, Reason>;
  /** Errors whose text is more specific than their code. */
  readonly texts?: readonly (readonly [RegExp, Reason])[];
}
