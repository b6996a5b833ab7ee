import type { DescMessage, Message } from "@bufbuild/protobuf";
import { cachesForms } from "../serialization-cache.js";
import { binaryUnits } from "./binary-units.js";
import { jsonUnits } from "./json-units.js";
import { lengthOf, PieceList, piecesOf, type Unit, unitsOf } from "./piece-list.js";

/** What is written of a large message, piece by piece. */
export type Pieces = Iterable<Uint8Array>;

/** Pieces with the number of bytes in all of them, for wires that say it first. */
export interface MeasuredPieces {
  readonly length: number;
  readonly pieces: Pieces;
}

const jsonLists = new WeakMap<Message, PieceList>();
const binaryLists = new WeakMap<Message, Promise<PieceList>>();

/** The JSON of a large message on one line. What readers share in it is made once for all of them. */
export function jsonPieces(desc: DescMessage, message: Message): Pieces {
  const list = sharedJson(desc, message);
  return list === undefined ? piecesOf(jsonUnits(desc, message, sharedJson)) : unitsOf(list);
}

/** The same with its length, which takes as long as to write it once. */
export async function measuredJson(desc: DescMessage, message: Message): Promise<MeasuredPieces> {
  const list = sharedJson(desc, message);
  if (list !== undefined) return { length: await list.length(), pieces: unitsOf(list) };
  const units = [...jsonUnits(desc, message, sharedJson)];
  let length = await lengthOf(piecesOf(units.filter((unit) => !(unit instanceof PieceList))));
  for (const unit of units) if (unit instanceof PieceList) length += await unit.length();
  return { length, pieces: piecesOf(units) };
}

/** A large message in the binary format. */
export async function binaryPieces(desc: DescMessage, message: Message): Promise<MeasuredPieces> {
  const list = await sharedBinary(desc, message);
  if (list !== undefined) return { length: await list.length(), pieces: unitsOf(list) };
  const { units, size } = await binaryUnits(desc, message, sharedBinary);
  return { length: size, pieces: piecesOf(units) };
}

const alone = (): undefined => undefined;

function sharedJson(desc: DescMessage, message: Message): PieceList | undefined {
  if (!cachesForms(message)) return undefined;
  let list = jsonLists.get(message);
  if (list === undefined) {
    // Nothing in it is shared by others, so that these are units and no lists.
    list = new PieceList(jsonUnits(desc, message, alone) as Iterable<Unit>);
    jsonLists.set(message, list);
  }
  return list;
}

function sharedBinary(desc: DescMessage, message: Message): Promise<PieceList> | undefined {
  if (!cachesForms(message)) return undefined;
  let list = binaryLists.get(message);
  if (list === undefined) {
    list = binaryUnits(desc, message, alone).then(({ units, size }) => new PieceList(units as Iterable<Unit>, size));
    binaryLists.set(message, list);
  }
  return list;
}
