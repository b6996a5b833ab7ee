import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import { isSideEffectFree } from "../wire/field-rules.js";
import { jsonReader } from "../wire/json-reader.js";
import { jsonWriter } from "../wire/json-writer.js";
import { errorEnvelope, type RequestId } from "../wire/jsonrpc-envelope.js";
import { jsonPieces } from "../wire/large/large.js";
import type { JsonForm } from "../wire/make-form.js";
import { type NamedMethod, namedMethods } from "./method-table.js";

/** A method with its request reader and response writer. */
export interface JsonRpcMethod {
  /** Method name in requests. */
  readonly name: string;
  readonly desc: DescMethod;
  readonly isStream: boolean;
  /** True if it only reads. */
  readonly isRead: boolean;
  /** @throws A2AError with reason INVALID_PARAMS that names all violations. */
  readonly read: (params: unknown) => Message;
  /** The result of a call, or of one event of a stream, as JSON on one line. */
  readonly write: (result: Message) => string;
  /** The JSON form of responses, if not ProtoJSON: shared values are serialized once per form. */
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
  /**
   * True to accept requests without `jsonrpc`, and to answer those without an id, with a null id: clients of that
   * version omit them.
   */
  readonly isLenient?: boolean;
  /** True to reject batches. */
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
