import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { MESSAGE_LEVELS } from "./nesting.js";

// `binary-reader.ts` with protobuf-es, for browsers, where a small download matters more than speed.

/** Returns the binary reader of a message type. @throws if the bytes are not a message of the type */
export function binaryReader<Desc extends DescMessage>(
  desc: Desc,
  levels: number = MESSAGE_LEVELS,
): (bytes: Uint8Array) => MessageShape<Desc> {
  return (bytes) => fromBinary(desc, bytes, { recursionLimit: levels });
}
