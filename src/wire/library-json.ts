import { type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";

// JSON of types that is left to protobuf-es, which needs a third of that library. Browser builds use
// `library-json-web.ts` in place of this file (`tools/lean.mjs`).

/** Reads a message of a type that the contract does not use. @throws for invalid JSON */
export function readRare(desc: DescMessage, json: unknown): Message {
  return fromJson(desc, json as JsonValue, { ignoreUnknownFields: true });
}

/** Returns the JSON of such a message. */
export function writeRare(desc: DescMessage, message: Message): JsonValue {
  return toJson(desc, message);
}
