import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";

/** A request that is written as ProtoJSON, as the message it stands for. */
export function messageOf(desc: DescMessage, json: JsonObject): Message {
  return fromJson(desc, json);
}

/** The same, as bytes. */
export function bytesOf(desc: DescMessage, json: JsonObject): Buffer {
  return Buffer.from(toBinary(desc, messageOf(desc, json)));
}

/** An answer as ProtoJSON without default values: the form in which all bindings compare equal. */
export function normalOf(desc: DescMessage, message: Message): JsonObject {
  return toJson(desc, message) as JsonObject;
}

/** The same, from bytes. */
export function normalOfBytes(desc: DescMessage, bytes: Uint8Array): JsonObject {
  return normalOf(desc, fromBinary(desc, bytes));
}

/** The same, from JSON. Strict: a member that the contract does not have is an error. */
export function normalOfJson(desc: DescMessage, json: JsonValue): JsonObject {
  return normalOf(desc, fromJson(desc, json));
}
