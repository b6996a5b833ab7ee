import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { JsonForm } from "../json-form.js";
import { cachesForms } from "../serialization-cache.js";
import { binaryUnits } from "./binary-units.js";
import { type JsonWay, jsonUnits } from "./json-units.js";
import { lengthOf, PieceList, piecesOf, type Unit, unitsOf } from "./piece-list.js";

/** The bytes of a large message, piece by piece. */
export type Pieces = Iterable<Uint8Array>;

/** Pieces with their total length in bytes, for bindings that send the length first. */
export interface MeasuredPieces {
  readonly length: number;
  readonly pieces: Pieces;
}

type JsonLists = WeakMap<Message, PieceList>;

const protoJsonLists: JsonLists = new WeakMap();
const formLists = new WeakMap<JsonForm, JsonLists>();
const binaryLists = new WeakMap<Message, Promise<PieceList>>();

/**
 * Returns the JSON of a large message on one line. Shared parts are created once for all readers.
 *
 * @param form an alternative to ProtoJSON; its readers share among themselves
 */
export function jsonPieces(desc: DescMessage, message: Message, form?: JsonForm): Pieces {
  const list = sharedJson(desc, message, form);
  return list === undefined ? piecesOf(jsonUnits(desc, message, wayOf(form))) : unitsOf(list);
}

/** Like `jsonPieces`, with the length. Measuring takes as long as writing the message once. */
export async function measuredJson(desc: DescMessage, message: Message, form?: JsonForm): Promise<MeasuredPieces> {
  const list = sharedJson(desc, message, form);
  if (list !== undefined) return { length: await list.length(), pieces: unitsOf(list) };
  const units = [...jsonUnits(desc, message, wayOf(form))];
  let length = await lengthOf(piecesOf(units.filter((unit) => !(unit instanceof PieceList))));
  for (const unit of units) if (unit instanceof PieceList) length += await unit.length();
  return { length, pieces: piecesOf(units) };
}

/** Returns a large message in the binary format. */
export async function binaryPieces(desc: DescMessage, message: Message): Promise<MeasuredPieces> {
  const list = await sharedBinary(desc, message);
  if (list !== undefined) return { length: await list.length(), pieces: unitsOf(list) };
  const { units, size } = await binaryUnits(desc, message, sharedBinary);
  return { length: size, pieces: piecesOf(units) };
}

const alone = (): undefined => undefined;

function wayOf(form: JsonForm | undefined): JsonWay {
  return { form, shared: (desc, message) => sharedJson(desc, message, form) };
}

function sharedJson(desc: DescMessage, message: Message, form: JsonForm | undefined): PieceList | undefined {
  if (!cachesForms(message)) return undefined;
  const lists = form === undefined ? protoJsonLists : listsOf(form);
  let list = lists.get(message);
  if (list === undefined) {
    // Nothing inside a shared message is shared separately, so these are units and not lists.
    list = new PieceList(jsonUnits(desc, message, { form, shared: alone }) as Iterable<Unit>);
    lists.set(message, list);
  }
  return list;
}

function listsOf(form: JsonForm): JsonLists {
  let lists = formLists.get(form);
  if (lists === undefined) {
    lists = new WeakMap();
    formLists.set(form, lists);
  }
  return lists;
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
