import { concat, utf8Of } from "../../core/bytes.js";
import { nextRound } from "../../core/event-loop.js";

/** A bit of a large message: as it is, or what makes it, always the same. */
export type Unit = Uint8Array | string | (() => Uint8Array | string);

/** A unit, or a part of the message that others share and that is in pieces of its own. */
export type UnitOrList = Unit | PieceList;

/** A piece ends with the first unit that brings it to so many bytes or characters. */
const PIECE_BYTES = 32 * 1024;

/** Pieces that are measured in one turn of the event loop. */
const PIECES_A_TURN = 8;

/** Bytes of pieces that are kept for the next readers, over all messages. */
const KEPT_BYTES = 16 * 1024 * 1024;

/** Where the bytes of a piece are while they are kept. It knows nothing of its message, which may be gone. */
interface Slot {
  bytes: Uint8Array | undefined;
}

interface Piece {
  readonly units: readonly Unit[];
  readonly slot: Slot;
}

/** What is kept, the least recently made first. */
const kept = new Set<Slot>();
let keptBytes = 0;

/**
 * A large message as a row of pieces that all its readers share. A piece is made when the first of them comes to it. It
 * is kept for the others while there is room, and made again where there was none: readers who stand still hold
 * nothing but the message.
 */
export class PieceList {
  readonly #units: Iterator<Unit>;
  readonly #pieces: Piece[] = [];
  #broken: unknown;
  #length: number | undefined;
  #measuring: Promise<number> | undefined;

  /** @param length bytes of all pieces together, where that is known */
  constructor(units: Iterable<Unit>, length?: number) {
    this.#units = units[Symbol.iterator]();
    this.#length = length;
  }

  /**
   * A piece by its number, from 0 and one after the other; undefined behind the last one.
   * @throws A2AError with reason INTERNAL for what has no form on this wire, for every reader alike.
   */
  at(index: number): Uint8Array | undefined {
    const piece = this.#pieces[index] ?? this.#next();
    if (piece === undefined) return undefined;
    return piece.slot.bytes ?? keep(piece.slot, joined(piece.units.map(make)));
  }

  /** Bytes of all pieces together, for what has to say so first. The event loop has its turns meanwhile. */
  length(): Promise<number> {
    if (this.#length !== undefined) return Promise.resolve(this.#length);
    this.#measuring ??= this.#measure();
    return this.#measuring;
  }

  async #measure(): Promise<number> {
    this.#length = await lengthOf(unitsOf(this));
    return this.#length;
  }

  /** Cuts the next piece off. */
  #next(): Piece | undefined {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      return this.#cut();
    } catch (error) {
      this.#broken = error;
      throw error;
    }
  }

  #cut(): Piece | undefined {
    const units: Unit[] = [];
    const made: (Uint8Array | string)[] = [];
    let size = 0;
    while (size < PIECE_BYTES) {
      const next = this.#units.next();
      if (next.done === true) break;
      const value = make(next.value);
      size += value.length;
      units.push(next.value);
      made.push(value);
    }
    if (units.length === 0) return undefined;
    const piece: Piece = { units, slot: { bytes: undefined } };
    keep(piece.slot, joined(made));
    this.#pieces.push(piece);
    return piece;
  }
}

/** Bytes of pieces together. The event loop has its turns meanwhile. */
export async function lengthOf(pieces: Iterable<Uint8Array>): Promise<number> {
  let sum = 0;
  let count = 0;
  for (const piece of pieces) {
    sum += piece.length;
    if (++count % PIECES_A_TURN === 0) await nextRound();
  }
  return sum;
}

/** The pieces of a message, in which parts may be shared. */
export function* piecesOf(units: Iterable<UnitOrList>): Generator<Uint8Array, void, undefined> {
  let made: (Uint8Array | string)[] = [];
  let size = 0;
  for (const unit of units) {
    if (!(unit instanceof PieceList)) {
      const value = make(unit);
      made.push(value);
      size += value.length;
      if (size < PIECE_BYTES) continue;
    }
    if (size > 0) yield joined(made);
    made = [];
    size = 0;
    if (unit instanceof PieceList) yield* unitsOf(unit);
  }
  if (size > 0) yield joined(made);
}

/** All pieces of a list, each made when it is asked for. */
export function* unitsOf(list: PieceList): Generator<Uint8Array, void, undefined> {
  for (let i = 0; ; i++) {
    const piece = list.at(i);
    if (piece === undefined) return;
    yield piece;
  }
}

function keep(slot: Slot, bytes: Uint8Array): Uint8Array {
  slot.bytes = bytes;
  kept.add(slot);
  keptBytes += bytes.length;
  for (const oldest of kept) {
    if (keptBytes <= KEPT_BYTES) break;
    kept.delete(oldest);
    keptBytes -= oldest.bytes?.length ?? 0;
    oldest.bytes = undefined;
  }
  return bytes;
}

function make(unit: Unit): Uint8Array | string {
  return typeof unit === "function" ? unit() : unit;
}

function joined(values: readonly (Uint8Array | string)[]): Uint8Array {
  if (values.every((value) => typeof value === "string")) return utf8Of(values.join(""));
  return concat(values.map((value) => (typeof value === "string" ? utf8Of(value) : value)));
}
