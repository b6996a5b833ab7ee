import {
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { Edition, ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { membersOf } from "../core/members.js";
import { BinaryOutput } from "./binary-output.js";
import { writeJsonObject, writeListValue, writeStruct, writeValue } from "./binary-value.js";
import { choiceIn, hasImplicitPresence, holdsJsonObject, listIn, zeroTest } from "./field-rules.js";

/** Writes one value, or the fields of one message. */
type Write = (value: unknown, out: BinaryOutput) => void;

/** The wire type and the writer of one value. */
interface Form {
  readonly wireType: WireType;
  readonly write: Write;
}

/** Writers by type. These three are written by hand. */
const writers = new WeakMap<DescMessage, Write>([
  [StructSchema, writeStruct as Write],
  [ValueSchema, writeValue as Write],
  [ListValueSchema, writeListValue as Write],
]);

/** Shared by all writers, because a message is written synchronously. */
const output = new BinaryOutput();

/**
 * Returns the binary writer of a message type, compiled once from its descriptor. It writes the same bytes as
 * `toBinary()` of protobuf-es in a fraction of the time. Types with fields that the contract does not use, such as
 * groups and fixed-size numbers, are written by `toBinary()`.
 *
 * @throws if a value is not of its field's type
 */
export function binaryWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  return taking(binaryWriterOf(desc));
}

/** Returns a writer like that of `binaryWriter()`, with gRPC's flag and length before the message. */
export function envelopeWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  const write = binaryWriterOf(desc);
  return (message) => {
    try {
      output.beginEnvelope();
      write(message, output);
      return output.takeEnveloped();
    } catch (error) {
      output.clear();
      throw error;
    }
  };
}

/** Returns the written bytes, and clears the output if writing fails. */
function taking<M extends Message>(write: (message: M, output: BinaryOutput) => void): (message: M) => Uint8Array {
  return (message) => {
    try {
      write(message, output);
      return output.take();
    } catch (error) {
      output.clear();
      throw error;
    }
  };
}

/** One field of a type and its writer, which includes the tag and writes nothing for an absent field. */
export interface BinaryField {
  readonly field: DescField;
  readonly write: (message: Message) => Uint8Array;
}

/**
 * Returns the fields of a type in the order of their numbers, for writing a message in parts. Undefined if the library
 * writes the type.
 */
export function binaryFields(desc: DescMessage): readonly BinaryField[] | undefined {
  const fields: BinaryField[] = [];
  for (const field of byNumber(desc)) {
    const write = fieldWriter(field);
    if (desc.file.edition !== Edition.EDITION_PROTO3 || write === undefined) return undefined;
    fields.push({ field, write: taking((message, out) => write(membersOf(message), out)) });
  }
  return fields;
}

function byNumber(desc: DescMessage): DescField[] {
  return desc.fields.toSorted((a, b) => a.number - b.number);
}

function binaryWriterOf(desc: DescMessage): Write {
  const known = writers.get(desc);
  if (known !== undefined) return known;
  const library: Write = (message, out) => out.raw(toBinary(desc, message as Message));
  // Registered before its fields are compiled, because a message may contain its own type.
  let inner = library;
  writers.set(desc, (message, out) => inner(message, out));
  inner = compile(desc) ?? library;
  writers.set(desc, inner);
  return inner;
}

/** Compiles the writer of a type. Undefined if a field of it is left to the library. */
function compile(desc: DescMessage): Write | undefined {
  if (desc.file.edition !== Edition.EDITION_PROTO3) return undefined;
  const fields: FieldWrite[] = [];
  for (const field of byNumber(desc)) {
    const write = fieldWriter(field);
    if (write === undefined) return undefined;
    fields.push(write);
  }
  return (message, out) => {
    const members = membersOf(message);
    for (const write of fields) write(members, out);
    const { $unknown } = message as Message;
    if ($unknown === undefined) return;
    for (const { no, wireType, data } of $unknown) {
      out.uint32(tagOf(no, wireType));
      out.raw(data);
    }
  };
}

function tagOf(number: number, wireType: WireType): number {
  return ((number << 3) | wireType) >>> 0;
}

/** Writes one field of a message, with its tag. */
type FieldWrite = (members: Readonly<Record<string, unknown>>, out: BinaryOutput) => void;

function fieldWriter(field: DescField): FieldWrite | undefined {
  const form = formOf(field);
  if (form === undefined) return undefined;
  const tag = tagOf(field.number, form.wireType);
  const { write } = form;
  const tagged: Write = (value, out) => {
    out.uint32(tag);
    write(value, out);
  };
  const name = field.localName;
  if (field.fieldKind === "list") {
    return (members, out) => {
      const items = listIn(members[name]);
      for (let i = 0; i < items.length; i++) tagged(items[i], out);
    };
  }
  if (field.oneof !== undefined) {
    const choice = field.oneof.localName;
    return (members, out) => {
      const chosen = choiceIn(members[choice]);
      if (chosen.case === name) tagged(chosen.value, out);
    };
  }
  const isUnset = hasImplicitPresence(field) ? zeroTest(field) : (value: unknown) => value === undefined;
  return (members, out) => {
    const value = members[name];
    if (!isUnset(value)) tagged(value, out);
  };
}

/** Form of a singular field or of a list's item. Undefined if it is left to the library. */
function formOf(field: DescField): Form | undefined {
  if (field.fieldKind === "map") return undefined;
  if (field.fieldKind === "list" && field.packed) return undefined;
  if (field.message !== undefined) {
    if ("delimitedEncoding" in field && field.delimitedEncoding) return undefined;
    if (holdsJsonObject(field)) return { wireType: WireType.LengthDelimited, write: writeStructOfJson };
    return { wireType: WireType.LengthDelimited, write: messageWriter(field.message) };
  }
  if (field.enum !== undefined) return { wireType: WireType.Varint, write: writeInt32 };
  return scalarForm(field.scalar);
}

function scalarForm(type: ScalarType): Form | undefined {
  switch (type) {
    case ScalarType.STRING:
      return { wireType: WireType.LengthDelimited, write: (value, out) => out.text(expect("string", value)) };
    case ScalarType.BYTES:
      return { wireType: WireType.LengthDelimited, write: writeBytes };
    case ScalarType.BOOL:
      return { wireType: WireType.Varint, write: (value, out) => out.uint32(expect("boolean", value) ? 1 : 0) };
    case ScalarType.INT32:
      return { wireType: WireType.Varint, write: writeInt32 };
    case ScalarType.UINT32:
      return { wireType: WireType.Varint, write: writeUint32 };
    case ScalarType.INT64:
      return { wireType: WireType.Varint, write: (value, out) => out.int64(expect("bigint", value)) };
    default:
      return undefined;
  }
}

function messageWriter(desc: DescMessage): Write {
  const write = binaryWriterOf(desc);
  return (message, out) => {
    const start = out.begin();
    write(message, out);
    out.end(start);
  };
}

/** Writes a Struct that is held as a plain object. */
function writeStructOfJson(json: unknown, out: BinaryOutput): void {
  const start = out.begin();
  writeJsonObject(membersOf(json), out);
  out.end(start);
}

function writeInt32(value: unknown, out: BinaryOutput): void {
  const number = expect("number", value);
  if ((number | 0) !== number) throw new TypeError(`${number} is not a 32-bit integer`);
  out.int32(number);
}

function writeUint32(value: unknown, out: BinaryOutput): void {
  const number = expect("number", value);
  if (number >>> 0 !== number) throw new TypeError(`${number} is not an unsigned 32-bit integer`);
  out.uint32(number);
}

function writeBytes(value: unknown, out: BinaryOutput): void {
  if (!(value instanceof Uint8Array)) throw new TypeError(`a ${typeof value} where bytes belong`);
  out.bytes(value);
}

function expect(type: "string", value: unknown): string;
function expect(type: "number", value: unknown): number;
function expect(type: "boolean", value: unknown): boolean;
function expect(type: "bigint", value: unknown): bigint;
function expect(type: "string" | "number" | "boolean" | "bigint", value: unknown): unknown {
  if (typeof value !== type) throw new TypeError(`a ${typeof value} where a ${type} belongs`);
  return value;
}
