import type { DescMessage, JsonValue, Message } from "@bufbuild/protobuf";

// `library-json.ts` without the library, for browsers. Clients read and write only types of the contract, which need
// none of it.

/** Never called, because the contract has no such type. */
export function readRare(desc: DescMessage, _: unknown): Message {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}

/** Never called, because the contract has no such type. */
export function writeRare(desc: DescMessage, _: Message): JsonValue {
  throw new TypeError(`${desc.typeName} has no JSON here`);
}
