import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import { isSideEffectFree } from "../wire/field-rules.js";
import { jsonReader } from "../wire/json-reader.js";
import { jsonWriter } from "../wire/json-writer.js";
import { errorEnvelope, type RequestId } from "../wire/jsonrpc-envelope.js";
import { jsonPieces } from "../wire/large/large.js";
import type { JsonForm } from "../wire/make-form.js";
import { type NamedMethod, namedMethods } from "./calls.js";

/** A method with what reads its params and writes its results. */
export interface JsonRpcMethod {
  /** What requests call it. */
  readonly name: string;
  readonly desc: DescMethod;
  readonly isStream: boolean;
  /** Whether it only reads. */
  readonly isRead: boolean;
  /** @throws A2AError with reason INVALID_PARAMS that names all violations. */
  readonly read: (params: unknown) => Message;
  /** The result of a call, or of one event of a stream, as JSON on one line. */
  readonly write: (result: Message) => string;
  /** The form of JSON that it writes, where that is not ProtoJSON: what readers share has one text in each. */
  readonly form?: JsonForm;
  /** The same of a large one, in pieces. */
  readonly pieces: (result: Message) => Iterable<Uint8Array | string>;
  /**
   * Of a stream: an error before its first event is the one event of a stream, not an answer of JSON, since its clients read nothing
   * else. Errors that HTTP itself has to hear of are none of these.
   */
  readonly errsAsEvent?: boolean;
}

/** How a version is spoken over JSON-RPC 2.0. */
export interface JsonRpcDialect {
  readonly methods: readonly JsonRpcMethod[];
  /** The response object of a call that failed. */
  readonly error: (id: RequestId, error: A2AError) => string;
  /** Whether requests without `jsonrpc` are answered, and those without an id, with null in its place: clients of its time leave them out. */
  readonly isLenient?: boolean;
  /** Whether an array of requests is none. */
  readonly hasNoBatches?: boolean;
}

/** The dialect of a service whose methods go by their names (specification 9). */
export function jsonRpcOf(service: DescService): JsonRpcDialect {
  return { methods: namedMethods(service).map(methodOf), error: errorEnvelope };
}

function methodOf({ name, desc }: NamedMethod): JsonRpcMethod {
  const readParams = jsonReader(desc.input);
  return {
    name,
    desc,
    isStream: desc.methodKind === "server_streaming",
    isRead: isSideEffectFree(desc),
    // Some clients leave params out, or send null, where they have nothing to say (specification 9.4.8).
    read: (params) => readParams(params ?? {}),
    write: jsonWriter(desc.output),
    pieces: (result) => jsonPieces(desc.output, result),
  };
}
