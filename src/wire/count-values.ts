import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { MESSAGE_LEVELS, UNCHECKED_JSON_LEVELS } from "../core/nesting.js";

/** Requests of fewer bytes cannot hold enough values to be a burden. */
const harmless = 64 * 1024;

/**
 * Whether the bytes of a JSON text hold more than `max` values, or nest deeper than anything reads (UNCHECKED_JSON_LEVELS), without
 * parsing them: a few bytes of input become hundreds in memory, and take a parser the longer the deeper they nest, so this is known
 * before. Counts what separates values outside of strings.
 */
export function excessOfJson(bytes: Uint8Array, max: number): "values" | "levels" | undefined {
  if (bytes.length < harmless) return undefined;
  let count = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x22) at = stringEnd(bytes, at + 1);
    else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) {
      // , [ {
      if (++count > max) return "values";
      if (byte !== 0x2c && ++depth > UNCHECKED_JSON_LEVELS) return "levels";
    } else if (byte === 0x5d || byte === 0x7d) depth--; // ] }
  }
  return undefined;
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
  return countFields(shapeOf(desc), new BinaryReader(bytes), { end: bytes.length, depth: 0, max }) > max;
}

interface Budget {
  readonly end: number;
  readonly depth: number;
  readonly max: number;
}

/** What of a message's type tells where its fields are messages themselves. */
interface Shape {
  readonly fields: readonly { readonly number: number; readonly inner: () => Shape | undefined }[];
}

const shapes = new WeakMap<DescMessage, Shape>();

function shapeOf(desc: DescMessage): Shape {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    shape = { fields: desc.fields.map((field) => ({ number: field.number, inner: () => innerOf(field) })) };
    shapes.set(desc, shape);
  }
  return shape;
}

/** An entry of a map is a message with the key as field 1 and the value as field 2; no descriptor shows it. */
function innerOf({ fieldKind, message }: DescField): Shape | undefined {
  const value = message && shapeOf(message);
  return fieldKind === "map" ? { fields: [{ number: 2, inner: () => value }] } : value;
}

function countFields(shape: Shape, reader: BinaryReader, { end, depth, max }: Budget): number {
  let count = 0;
  while (reader.pos < end && count <= max) {
    const [number, wireType] = reader.tag();
    count++;
    const inner = shape.fields.find((field) => field.number === number)?.inner();
    if (wireType !== WireType.LengthDelimited || inner === undefined || depth >= MESSAGE_LEVELS) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    count += countFields(inner, reader, { end: reader.pos + length, depth: depth + 1, max: max - count });
  }
  return count;
}
