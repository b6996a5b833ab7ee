import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { utf8LengthOf, utf8Of } from "../../core/bytes.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { type BinaryField, binaryFields, binaryWriter } from "../binary-writer.js";
import type { PieceList, UnitOrList } from "./piece-list.js";
import { cuts, isSpine, largePart, type Part } from "./spine.js";

/** The units of a message and their size in bytes. Units are recreated together with their piece. */
interface UnitList {
  readonly units: UnitOrList[];
  size: number;
}

/** Returns the list of a shared message, or undefined for a message that is written inline. */
type SharedLists = (desc: DescMessage, message: Message) => Promise<PieceList> | undefined;

/** Bytes that are measured in one round of the event loop. */
const MEASURED_BYTES = 256 * 1024;

/**
 * Returns the units of a message in the binary format, the same bytes as `binaryWriter` writes. The length of each part
 * precedes it, so all parts are measured first, with pauses for the event loop.
 */
export async function binaryUnits(desc: DescMessage, message: Message, shared: SharedLists): Promise<UnitList> {
  const row: UnitList = { units: [], size: 0 };
  let from = 0;
  for (const wanted of measure(desc, message, { row, shared })) {
    if (wanted !== undefined) {
      const list = await wanted.list;
      row.units[wanted.at] = list;
      row.size += await list.length();
      from = row.size;
    } else if (row.size - from >= MEASURED_BYTES) {
      from = row.size;
      await yieldToEventLoop();
    }
  }
  return row;
}

interface To {
  readonly row: UnitList;
  readonly shared: SharedLists;
}

/** Yields after each step that may take long, and yields a shared list whose length is needed. */
type Steps = Generator<{ readonly at: number; readonly list: Promise<PieceList> } | undefined, void, undefined>;

const fieldLists = new WeakMap<DescMessage, readonly BinaryField[] | null>();

function fieldsOf(desc: DescMessage): readonly BinaryField[] | null {
  let fields = fieldLists.get(desc);
  if (fields === undefined) {
    fields = binaryFields(desc) ?? null;
    fieldLists.set(desc, fields);
  }
  return fields;
}

function* measure(desc: DescMessage, message: Message, to: To): Steps {
  const { row } = to;
  const fields = isSpine(desc, message) && message.$unknown === undefined ? fieldsOf(desc) : null;
  if (fields === null) {
    const write = (): Uint8Array => binaryWriter(desc)(message);
    row.size += write().length;
    row.units.push(write);
    return yield;
  }
  for (const { field, write } of fields) {
    const part = largePart(field, message);
    if (part !== undefined) yield* measurePart(field, part, to);
    else putBytes(row, write(message));
  }
}

function* measurePart(field: DescField, part: Part, to: To): Steps {
  const { row } = to;
  switch (part.kind) {
    case "messages":
      for (const item of part.items) yield* measureMessage(field, part.desc, item, to);
      return;
    case "message":
      return yield* measureMessage(field, part.desc, part.message, to);
    case "text":
      putBytes(row, tagAndLength(field, utf8LengthOf(part.text)));
      row.size += utf8LengthOf(part.text);
      for (const [from, to] of cuts(part.text)) row.units.push(() => utf8Of(part.text.slice(from, to)));
      return yield;
    case "bytes":
      putBytes(row, tagAndLength(field, part.bytes.length));
      row.size += part.bytes.length;
      for (let from = 0; from < part.bytes.length; from += BYTES)
        row.units.push(part.bytes.subarray(from, from + BYTES));
      return yield;
  }
}

/** Size of the slices of a bytes field. A piece holds a copy of its slice. */
const BYTES = 32 * 1024;

function* measureMessage(field: DescField, desc: DescMessage, message: Message, to: To): Steps {
  const { row, shared } = to;
  const at = row.units.push("") - 1;
  const before = row.size;
  const list = shared(desc, message);
  if (list === undefined) yield* measure(desc, message, to);
  else yield { at: row.units.push("") - 1, list };
  const head = tagAndLength(field, row.size - before);
  row.units[at] = head;
  row.size += head.length;
}

function putBytes(row: UnitList, bytes: Uint8Array): void {
  if (bytes.length === 0) return;
  row.units.push(bytes);
  row.size += bytes.length;
}

/** Returns the tag and length before a length-delimited value. */
function tagAndLength(field: DescField, length: number): Uint8Array {
  const bytes: number[] = [];
  for (const value of [(field.number << 3) | WireType.LengthDelimited, length]) {
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  }
  return new Uint8Array(bytes);
}
