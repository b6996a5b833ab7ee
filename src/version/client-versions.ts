import type { DescMethod, Message } from "@bufbuild/protobuf";
import { A2AError, type Reason } from "../core/error.js";
import { latePart } from "../core/late-part.js";

/** One call, from its request to its last answer. */
export interface OlderExchange {
  /** The request as JSON: the params of JSON-RPC, or the body of HTTP+JSON; undefined for none. */
  readonly json: string | undefined;
  /** Path and query behind the URL of the interface; undefined: that URL. */
  readonly place?: string;
  /** A path that replaces the last segment of the URL. */
  readonly beside?: string;
  /**
   * The answer to a call, or one event of a stream, in terms of the service. May change what it reads.
   *
   * @throws A2AError with reason INVALID_AGENT_RESPONSE
   */
  read(json: unknown): Message;
  /** True if the event marks itself as the last one of the stream. */
  readonly isOver: boolean;
}

/** A method of the service as an older version has it, in JSON. */
export interface OlderMethod {
  /** JSON-RPC method name; empty if JSON-RPC lacks the method. */
  readonly name: string;
  /** In upper case. */
  readonly verb: string;
  begin(request: Message): OlderExchange;
  /** Meaning of a 404 of HTTP+JSON. */
  readonly absent?: Reason;
  /** Another way to ask the same, where a server does not know this one. */
  readonly otherwise?: OlderMethod;
}

/** A method of the service as an older version has it, in messages of its own. */
export interface OlderMessages {
  readonly method: DescMethod;
  /** The request in the older version. */
  down(request: Message): Message;
  /**
   * An answer, or one event of a stream, in terms of the service.
   *
   * @param request of the service, where there is one answer to it
   */
  up(answer: Message, request?: Message): Message;
  /** Nothing comes behind this event. */
  isLast(answer: Message): boolean;
}

/** How an older version is called, binding by binding: undefined for a method that it does not have. */
export interface OlderCalls {
  readonly jsonRpc?: (method: DescMethod) => OlderMethod | undefined;
  readonly rest?: (method: DescMethod) => OlderMethod | undefined;
  readonly grpc?: (method: DescMethod) => OlderMessages | undefined;
  /** Codes of JSON-RPC with another meaning than in the service's version. */
  readonly reasons?: ReadonlyMap<unknown, Reason>;
  /** Errors over HTTP+JSON without a code in the body, by HTTP status. */
  readonly statuses?: ReadonlyMap<number, Reason>;
  /** Errors whose text is more specific than their code. */
  readonly texts?: readonly (readonly [RegExp, Reason])[];
}

/** A further version that clients speak: the part known before it is loaded. */
export interface OlderVersion {
  /** `Major.Minor`. */
  readonly name: string;
  /** Its bindings, as cards name them. */
  readonly bindings: readonly string[];
  /** The header that names extensions, in lower case; undefined: it has none. */
  readonly extensions?: string;
  /** The version that a card without a version may also be of. */
  readonly alike?: string;
  /** Loads how it is called. @param binding one of its own */
  load(binding: string): Promise<{ readonly calls: OlderCalls }>;
}

const jsonOfV03 = latePart(() => import("./v0.3/calls.js"));
const grpcOfV03 = latePart(() => import("./v0.3/grpc-calls.js"));
const extensions = "x-a2a-extensions";

/**
 * The registry of clients, the newest version first: small, since browsers load it before the first call. Calls are recognised by their
 * names in the path or the request, so they name no version.
 */
export const olderVersions: readonly OlderVersion[] = [
  {
    name: "0.3",
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
    extensions,
    load: (binding) => (binding === "GRPC" ? grpcOfV03() : jsonOfV03()),
  },
  { name: "0.2", bindings: ["JSONRPC"], extensions, alike: "0.1", load: latePart(() => import("./v0.2/calls.js")) },
  { name: "0.1", bindings: ["JSONRPC"], alike: "0.2", load: latePart(() => import("./v0.1/calls.js")) },
];

/** Path of cards before 0.3, where clients look after that of 1.0. */
export const EARLIER_CARD_PATH = "/.well-known/agent.json";

/** Loads the conversion of cards before 1.0. */
export const loadCardConversion: () => Promise<typeof import("./card-from-older.js")> = latePart(
  () => import("./card-from-older.js"),
);

/** Loads a part of an older version. @throws A2AError with reason INTERNAL where that fails */
export async function loaded<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (cause) {
    throw new A2AError("INTERNAL", "A part of this program cannot be loaded.", { cause });
  }
}
