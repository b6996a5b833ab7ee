import { create, type DescField, type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { Faults } from "./faults.js";
import { holdsJsonObject, isLeftToLibrary } from "./field-rules.js";
import { type Leaf, leafOf, scalarLeaf } from "./json-leaf.js";
import { checkStruct, readListValue, readStruct, readValue } from "./json-struct.js";

type Json = Record<string, unknown>;
type Fields = Record<string, unknown>;

/** Reads one JSON value into what a message holds; undefined when it noted a violation. */
export type Read = (json: unknown, at: Faults) => unknown;

/** Reads one member of a JSON object into its field. */
type Member = (message: Fields, value: unknown, at: Faults, object: Json) => void;

/**
 * How deep messages may nest, as protobuf counts them: a Struct or list inside a Value adds two. Binary readers stop at
 * 100 (protobuf's common default), and what is read here becomes part of larger messages on its way into the log and
 * out of it, so ten are kept free: what this reader accepts, every binding and the log can carry.
 */
export const MAX_DEPTH = 90;

const readers = new WeakMap<DescMessage, Read>();

/**
 * The ProtoJSON reader of a message type, compiled once from its descriptor and kept. It takes what JSON.parse made,
 * which the message may then share: the caller gives it away. Unknown members are ignored (specification 5.7), names
 * may be lowerCamelCase or as in the proto, `null` is absence except for a google.protobuf.Value.
 *
 * @throws A2AError with reason INVALID_REQUEST that names every violation (up to 100) with its path.
 */
export function jsonReader<Desc extends DescMessage>(desc: Desc): (json: unknown) => MessageShape<Desc> {
  const read = readerOf(desc);
  return (json) => {
    const at = new Faults();
    const message = read(json, at);
    at.throwIfAny();
    return message as MessageShape<Desc>;
  };
}

function readerOf(desc: DescMessage): Read {
  let read = readers.get(desc);
  if (read === undefined) {
    read = wellKnown(desc) ?? messageReader(desc);
    readers.set(desc, read);
  }
  return read;
}
