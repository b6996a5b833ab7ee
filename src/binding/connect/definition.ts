import {
  type DescMethod,
  fromJson,
  getOption,
  type JsonReadOptions,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";

/** A method as it is registered with Connect, and how its messages there become those of the service, and back. */
export interface Registration {
  readonly method: DescMethod;
  readonly read: (message: Message) => Message;
  readonly write: (message: Message) => Message;
}

/**
 * How deep JSON may nest before it is looked at. The limit that counts is the JSON codec's, which says where the
 * fault is; this one has to be far enough behind it, and near enough for the stack.
 */
const MAX_JSON_DEPTH = 400;

/** Reads JSON of this binding: as generous as the codec, which decides about what it is given. */
export const jsonOptions: Readonly<Partial<JsonReadOptions>> = {
  ignoreUnknownFields: true,
  recursionLimit: MAX_JSON_DEPTH,
};

/** The method for binary messages: Connect's own codec is the one that everybody has. */
export function binaryRegistration(method: DescMethod): Registration {
  const same = (message: Message): Message => message;
  return { method: withIdempotency(method), read: same, write: same };
}

/**
 * The method for JSON messages. Connect has no place for a JSON codec, and its own can either emit every field at its
 * default or none, where the protocol wants those that are REQUIRED and no others (specification 5.7, 3.1.4). So
 * the method is registered with `google.protobuf.Value` on both sides, which is any JSON, and the codec of the other
 * bindings stands between that and the service: the same JSON everywhere, and the same violations for a bad request.
 */
export function jsonRegistration(method: DescMethod): Registration {
  const readJson = jsonReader(method.input);
  const writeJson = jsonWriter(method.output);
  return {
    method: { ...withIdempotency(method), input: ValueSchema, output: ValueSchema } as DescMethod,
    // The method is registered with Value, so a Value is what arrives.
    read: (message) => readJson(toJson(ValueSchema, message as Value)),
    write: (message) => fromJson(ValueSchema, JSON.parse(writeJson(message)) as JsonValue, jsonOptions),
  };
}

/** The method, marked so that Connect serves it by GET too when it changes nothing. */
function withIdempotency(method: DescMethod): DescMethod {
  if (!isSideEffectFree(method)) return method;
  return { ...method, idempotency: MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS };
}

/** Whether the contract says that a method only reads: by its idempotency level, or by an HTTP rule that is a GET. */
export function isSideEffectFree(method: DescMethod): boolean {
  if (method.methodKind !== "unary") return false;
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return true;
  return getOption(method, http).pattern.case === "get";
}
