import { type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";

// What is left to the JSON of protobuf-es. It is a third of that library: what is built for browsers has `library-json-web.ts` in the
// place of this file (`tools/lean.mjs`).

/** Reads a message of a type that the contract has no use for. @throws for what is no JSON of it */
export function readRare(desc: DescMessage, json: unknown): Message {
  return fromJson(desc, json as JsonValue, { ignoreUnknownFields: true });
}

/** The JSON of such a message. */
export function writeRare(desc: DescMessage, message: Message): JsonValue {
  return toJson(desc, message);
}
