import type { DescMethod, Message } from "@bufbuild/protobuf";
import { A2AError, type Reason } from "../core/error.js";
import { lazyImport } from "../core/lazy.js";

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
  /** Codes of JSON-RPC with another meaning than in the service's version. */
  readonly reasons?: ReadonlyMap<unknown, Reason>;
  /** Errors over HTTP+JSON without a code in the body, by HTTP status. */
  readonly statuses?: ReadonlyMap<number, Reason>;
  /** Errors whose text is more specific than their code. */
  readonly texts?: readonly (readonly [RegExp, Reason])[];
}

/** A further version that clients support: the part known before it is loaded. */
export interface OlderVersion {
  /** `Major.Minor`. */
  readonly name: string;
  /** Its bindings, as cards name them. */
  readonly bindings: readonly string[];
  /** The header that names extensions, in lower case. Undefined if it has none. */
  readonly extensions?: string;
  /** The other possible version of a card that names none. */
  readonly alike?: string;
  /** Loads its calls. @param binding one of its bindings */
  load(binding: string): Promise<{ readonly calls: OlderCalls }>;
}

const jsonOfV03 = lazyImport(() => import("./v0.3/calls.js"));
const grpcOfV03 = lazyImport(() => import("./v0.3/grpc-calls.js"));
const extensions = "x-a2a-extensions";

/**
 * The registry of clients, newest version first. It is small, because browsers load it before the first call. Servers
 * recognize these versions by names in the path or the request, so calls name no version.
 */
export const olderVersions: readonly OlderVersion[] = [
  {
    name: "0.3",
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
    extensions,
    load: (binding) => (binding === "GRPC" ? grpcOfV03() : jsonOfV03()),
  },
  { name: "0.2", bindings: ["JSONRPC"], extensions, alike: "0.1", load: lazyImport(() => import("./v0.2/calls.js")) },
  { name: "0.1", bindings: ["JSONRPC"], alike: "0.2", load: lazyImport(() => import("./v0.1/calls.js")) },
];

/** Path of cards before 0.3. Clients look there after the path of 1.0. */
export const EARLIER_CARD_PATH = "/.well-known/agent.json";

/** Loads the conversion of cards before 1.0. */
export const loadCardConversion: () => Promise<typeof import("./card-from-older.js")> = lazyImport(
  () => import("./card-from-older.js"),
);

/** Loads a part of an older version. @throws A2AError with reason INTERNAL if that fails */
export async function loaded<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (cause) {
    throw new A2AError("INTERNAL", "A part of this program cannot be loaded.", { cause });
  }
}
