import type { DescMessage, JsonValue, Message } from "@bufbuild/protobuf";

// `library-json.ts` without the library, for browsers: clients meet no type but those of the contract.

/** The contract has none of these types. */
export function readRare(desc: DescMessage, _: unknown): Message {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}

/** The contract has none of these types. */
export function writeRare(desc: DescMessage, _: Message): JsonValue {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}
