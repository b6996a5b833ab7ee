import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import { isSideEffectFree } from "../wire/field-rules.js";
import type { JsonForm } from "../wire/json-form.js";
import { jsonReader } from "../wire/json-reader.js";
import { jsonWriter } from "../wire/json-writer.js";
import { errorEnvelope, type RequestId } from "../wire/jsonrpc-envelope.js";
import { jsonPieces } from "../wire/large/large.js";
import { type NamedMethod, namedMethods } from "./method-table.js";

/** A method with its request reader and response writer. */
export interface JsonRpcMethod {
  /** Method name in requests. */
  readonly name: string;
  readonly desc: DescMethod;
  readonly isStream: boolean;
  /** True if the method is read-only. */
  readonly isRead: boolean;
  /** @throws A2AError with reason INVALID_PARAMS that names all violations. */
  readonly read: (params: unknown) => Message;
  /** Writes the result of a call, or one event of a stream, as JSON on one line. */
  readonly write: (result: Message) => string;
  /** The JSON form of responses, if not ProtoJSON: shared values are serialized once per form. */
  readonly form?: JsonForm;
  /** Like `write`, for a large result, in pieces. */
  readonly pieces: (result: Message) => Iterable<Uint8Array | string>;
  /**
   * True if an error before the first event of a stream is sent as its only event instead of a JSON answer, because the
   * clients of that version read nothing else. Does not apply to errors that are also HTTP statuses.
   */
  readonly errsAsEvent?: boolean;
}

/** The dialect of a version over JSON-RPC 2.0. */
export interface JsonRpcDialect {
  readonly methods: readonly JsonRpcMethod[];
  /** Returns the response object of a failed call. */
  readonly error: (id: RequestId, error: A2AError) => string;
  /**
   * True to accept requests without `jsonrpc`, and to answer those without an id, with a null id: clients of that
   * version omit them.
   */
  readonly isLenient?: boolean;
  /** True to reject batches. */
  readonly hasNoBatches?: boolean;
}

/** Returns the dialect of a service whose JSON-RPC methods have the names of its rpcs (specification 9). */
export function jsonRpcOf(service: DescService): JsonRpcDialect {
  return { methods: namedMethods(service).map((each) => jsonRpcMethod(each)), error: errorEnvelope };
}

/**
 * Returns a method with its codecs, which are compiled once.
 *
 * @param form an alternative to ProtoJSON for params and results
 */
export function jsonRpcMethod({ name, desc }: NamedMethod, form?: JsonForm): JsonRpcMethod {
  const readParams = jsonReader(desc.input, form);
  return {
    name,
    desc,
    isStream: desc.methodKind === "server_streaming",
    isRead: isSideEffectFree(desc),
    // Some clients omit empty params or send null (specification 9.4.8).
    read: (params) => readParams(params ?? {}),
    write: jsonWriter(desc.output, form),
    ...(form !== undefined && { form }),
    pieces: (result) => jsonPieces(desc.output, result, form),
  };
}
