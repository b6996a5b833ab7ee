import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Requests of fewer bytes cannot hold enough values to be a burden. */
const harmless = 64 * 1024;

/**
 * Whether the bytes of a JSON text hold more than `max` values, without parsing them: a few bytes of input become
 * hundreds in memory, so this is known before. Counts what separates values outside of strings.
 */
export function exceedsJson(bytes: Uint8Array, max: number): boolean {
  if (bytes.length < harmless) return false;
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x22) at = stringEnd(bytes, at + 1);
    else if ((byte === 0x2c || byte === 0x5b || byte === 0x7b) && ++count > max) return true; // , [ {
  }
  return false;
}

/** Index of the quote that ends a string, or the end of what there is. */
function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === 0x5c) at++;
    else if (bytes[at] === 0x22) return at;
  }
  return bytes.length;
}

/**
 * Whether the bytes of a message hold more than `max` fields, at every depth, without making any object of them.
 * @throws when the bytes are not a message of this type
 */
export function exceedsBinary(desc: DescMessage, bytes: Uint8Array, max: number): boolean {
  if (bytes.length < harmless) return false;
  return countFields(desc, new BinaryReader(bytes), { end: bytes.length, depth: 0, max }) > max;
}

interface Budget {
  readonly end: number;
  readonly depth: number;
  readonly max: number;
}

/** Deeper messages are refused when they are decoded. */
const maxDepth = 100;

function countFields(desc: DescMessage, reader: BinaryReader, { end, depth, max }: Budget): number {
  let count = 0;
  while (reader.pos < end && count <= max) {
    const [number, wireType] = reader.tag();
    count++;
    const inner = desc.fields.find((field) => field.number === number)?.message;
    if (wireType !== WireType.LengthDelimited || inner === undefined || depth >= maxDepth) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    count += countFields(inner, reader, { end: reader.pos + length, depth: depth + 1, max: max - count });
  }
  return count;
}
