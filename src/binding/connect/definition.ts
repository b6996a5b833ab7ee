import {
  create,
  type DescMethod,
  fromJson,
  type JsonReadOptions,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { isSideEffectFree, protobufRequest } from "../../wire/field-rules.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { binaryPieces, type MeasuredPieces, measuredJson } from "../../wire/large/large.js";
import { UNCHECKED_JSON_LEVELS } from "../../wire/nesting.js";
import { binaryCheck, type CheckBytes, jsonCheck } from "./incoming.js";

/** A method as registered with Connect, and the conversion between its messages there and those of the service. */
export interface Registration {
  readonly method: DescMethod;
  /** Checks every request before Connect decodes it. */
  readonly check: CheckBytes;
  readonly read: (message: Message) => Message;
  readonly write: (message: Message) => Message;
  /** Returns a large message of the service in its wire format. */
  readonly pieces: (message: Message) => Promise<MeasuredPieces>;
  /** The message that passes through Connect in its place. */
  readonly placeholder: Message;
}

/** Options for reading JSON. They accept everything that the codec accepts, which checks it. */
export const jsonOptions: Readonly<Partial<JsonReadOptions>> = {
  ignoreUnknownFields: true,
  recursionLimit: UNCHECKED_JSON_LEVELS,
};

/** Returns the registration for binary messages, with Connect's own codec. */
export function binaryRegistration(method: DescMethod): Registration {
  const read = protobufRequest(method.input);
  return {
    method: withIdempotency(method),
    check: binaryCheck(method.input),
    read,
    write: (answer) => answer,
    pieces: (answer) => binaryPieces(method.output, answer),
    placeholder: create(method.output),
  };
}

/**
 * Returns the registration for JSON messages. Connect does not support a custom JSON codec, and its own emits either
 * all default values or none, but the protocol requires exactly those of REQUIRED fields (specification 5.7, 3.1.4). So
 * the method is registered with `google.protobuf.Value`, which is any JSON, on both sides, and the codec of the other
 * bindings converts it. JSON and violations are then the same in every binding.
 */
export function jsonRegistration(method: DescMethod): Registration {
  const readJson = jsonReader(method.input);
  const writeJson = jsonWriter(method.output);
  return {
    method: { ...withIdempotency(method), input: ValueSchema, output: ValueSchema } as DescMethod,
    check: jsonCheck,
    // The method is registered with Value, so the message is a Value.
    read: (message) => readJson(jsonValue(message as Value)),
    write: (message) => fromJson(ValueSchema, JSON.parse(writeJson(message)) as JsonValue, jsonOptions),
    pieces: (answer) => measuredJson(method.output, answer),
    placeholder: fromJson(ValueSchema, null),
  };
}

/**
 * Returns the JSON of a Value. The library refuses to return a number that is too large; our codec reports its path.
 */
function jsonValue({ kind }: Value): unknown {
  if (kind.case === "listValue") return kind.value.values.map(jsonValue);
  if (kind.case !== "structValue") return kind.case === "nullValue" ? null : kind.value;
  return Object.fromEntries(Object.entries(kind.value.fields).map(([name, value]) => [name, jsonValue(value)]));
}

/** Marks a read-only method, so that Connect also serves it by GET. */
function withIdempotency(method: DescMethod): DescMethod {
  if (!isSideEffectFree(method)) return method;
  return { ...method, idempotency: MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS };
}
