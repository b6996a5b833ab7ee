import type { DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
import type { Struct } from "@bufbuild/protobuf/wkt";
import { readStruct } from "./json-struct.js";
import { Violations } from "./violations.js";

// `library-json.ts` without the library, for browsers: clients meet no type but those of the contract.

/** A JSON object as a Struct. @throws A2AError with reason INVALID_PARAMS for what is no JSON */
export function structOf(json: unknown): Struct {
  const at = new Violations();
  const struct = readStruct(json, at);
  at.throwIfAny();
  return struct as Struct;
}

/** The contract has none of these types. */
export function readRare(desc: DescMessage, _: unknown): Message {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}

/** The contract has none of these types. */
export function writeRare(desc: DescMessage, _: Message): JsonValue {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}
