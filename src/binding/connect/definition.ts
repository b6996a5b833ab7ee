import {
  create,
  type DescMethod,
  fromJson,
  type JsonReadOptions,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Limits } from "../../core/limits.js";
import { UNCHECKED_JSON_LEVELS } from "../../core/nesting.js";
import { isSideEffectFree, protobufRequest } from "../../wire/field-rules.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { binaryPieces, type MeasuredPieces, measuredJson } from "../../wire/large/large.js";
import { binaryCheck, type Check, jsonCheck } from "./incoming.js";

/** A method as it is registered with Connect, and how its messages there become those of the service, and back. */
export interface Registration {
  readonly method: DescMethod;
  /** Checks every request before Connect decodes it. */
  readonly check: Check;
  readonly read: (message: Message) => Message;
  readonly write: (message: Message) => Message;
  /** A large message of the service, as it goes over the wire. */
  readonly pieces: (message: Message) => Promise<MeasuredPieces>;
  /** What goes through Connect in its place. */
  readonly placeholder: Message;
}

/** Reads JSON of this binding: accepts what the codec accepts, which checks it. */
export const jsonOptions: Readonly<Partial<JsonReadOptions>> = {
  ignoreUnknownFields: true,
  recursionLimit: UNCHECKED_JSON_LEVELS,
};

/** The method for binary messages, with Connect's own codec. */
export function binaryRegistration(method: DescMethod, _limits: Limits): Registration {
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
 * The method for JSON messages. Connect has no place for a JSON codec, and its own can either emit every field at its
 * default or none, where the protocol wants those that are REQUIRED and no others (specification 5.7, 3.1.4). So
 * the method is registered with `google.protobuf.Value` on both sides, which is any JSON, and the codec of the other
 * bindings stands between that and the service: the same JSON everywhere, and the same violations for a bad request.
 */
export function jsonRegistration(method: DescMethod, limits: Limits): Registration {
  const readJson = jsonReader(method.input);
  const writeJson = jsonWriter(method.output);
  return {
    method: { ...withIdempotency(method), input: ValueSchema, output: ValueSchema } as DescMethod,
    check: jsonCheck(limits),
    // The method is registered with Value, so a Value is what arrives.
    read: (message) => readJson(plain(message as Value)),
    write: (message) => fromJson(ValueSchema, JSON.parse(writeJson(message)) as JsonValue, jsonOptions),
    pieces: (answer) => measuredJson(method.output, answer),
    placeholder: fromJson(ValueSchema, null),
  };
}

/** Any JSON that was read. The library refuses to give back a number that is too large; our codec says where it is. */
function plain({ kind }: Value): unknown {
  if (kind.case === "listValue") return kind.value.values.map(plain);
  if (kind.case !== "structValue") return kind.case === "nullValue" ? null : kind.value;
  return Object.fromEntries(Object.entries(kind.value.fields).map(([name, value]) => [name, plain(value)]));
}

/** The method, marked so that Connect serves it by GET too when it changes nothing. */
function withIdempotency(method: DescMethod): DescMethod {
  if (!isSideEffectFree(method)) return method;
  return { ...method, idempotency: MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS };
}
