import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { MESSAGE_LEVELS, UNCHECKED_JSON_LEVELS } from "./nesting.js";

/** Size below which a request cannot hold enough values to matter, in bytes. */
const harmless = 64 * 1024;

/**
 * Detects JSON text with more than `max` values, or with deeper nesting than any reader accepts
 * (UNCHECKED_JSON_LEVELS). It runs before parsing, because a few bytes of input can become hundreds in memory, and deep
 * nesting slows a parser. It counts the separators of values outside strings.
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

/** Index of the quote that ends a string, or the length of the input. */
function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === 0x5c) at++;
    else if (bytes[at] === 0x22) return at;
  }
  return bytes.length;
}

/**
 * Returns true if the bytes of a message hold more than `max` fields at any depth, without creating objects. Members
 * and elements of free JSON count once each, as they do in JSON text.
 *
 * @throws if the bytes are not a message of this type
 */
export function exceedsBinary(desc: DescMessage, bytes: Uint8Array, max: number): boolean {
  if (bytes.length < harmless) return false;
  return countFields(countedShape(desc), new BinaryReader(bytes), { end: bytes.length, depth: 0, max }) > max;
}

interface Budget {
  readonly end: number;
  readonly depth: number;
  readonly max: number;
}

/** The fields of a message type that are messages themselves. */
interface Shape {
  /** Number of fields that are not counted, because they are parts of one JSON value or map entry. */
  readonly free: number;
  /** The shapes of the fields that are messages, by number. */
  readonly inner: ReadonlyMap<number, () => Shape>;
}

const shapes = new WeakMap<DescMessage, Shape>();

function countedShape(desc: DescMessage): Shape {
  let shape = shapes.get(desc);
  if (shape === undefined) {
    const inner = desc.fields.flatMap((field) => {
      const of = innerOf(field);
      return of === undefined ? [] : [[field.number, of] as const];
    });
    // A Value has exactly one field, and counts as one value like in JSON.
    shape = { free: desc.typeName === "google.protobuf.Value" ? 1 : 0, inner: new Map(inner) };
    shapes.set(desc, shape);
  }
  return shape;
}

/** An entry of a map is a message with the key as field 1 and the value as field 2. No descriptor describes it. */
function innerOf({ fieldKind, message }: DescField): (() => Shape) | undefined {
  if (fieldKind !== "map") return message && (() => countedShape(message));
  const entry = { free: 2, inner: new Map(message && [[2, () => countedShape(message)]]) };
  return () => entry;
}

function countFields(shape: Shape, reader: BinaryReader, { end, depth, max }: Budget): number {
  let count = -shape.free;
  while (reader.pos < end && count <= max) {
    const [number, wireType] = reader.tag();
    count++;
    const inner = wireType === WireType.LengthDelimited ? shape.inner.get(number)?.() : undefined;
    if (inner === undefined || depth >= MESSAGE_LEVELS) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    count += countFields(inner, reader, { end: reader.pos + length, depth: depth + 1, max: max - count });
  }
  return Math.max(count, 0);
}
