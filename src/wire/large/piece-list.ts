import { concat, utf8Of } from "../../core/bytes.js";
import { yieldToEventLoop } from "../../core/event-loop.js";

/** A fragment of a large message: bytes or text, or a function that always creates the same. */
export type Unit = Uint8Array | string | (() => Uint8Array | string);

/** A unit, or a shared part of the message, which has its own pieces. */
export type UnitOrList = Unit | PieceList;

/** Size at which a piece ends, in bytes or characters. The unit that reaches it is the last one of its piece. */
const PIECE_BYTES = 32 * 1024;

/** Pieces that are measured in one round of the event loop. */
const PIECES_A_TURN = 8;

/** Bytes of pieces cached for the next readers, over all messages. */
const KEPT_BYTES = 16 * 1024 * 1024;

/** Holder of a piece's cached bytes. It has no reference to the message, which may be garbage-collected. */
interface Slot {
  bytes: Uint8Array | undefined;
}

interface Piece {
  readonly units: readonly Unit[];
  readonly slot: Slot;
}

/** The cached pieces, least recently created first. */
const kept = new Set<Slot>();
let keptBytes = 0;

/**
 * A large message as a sequence of pieces that all its readers share. The first reader that reaches a piece creates it.
 * The cache keeps it for the others, and it is recreated after eviction, so that stalled readers hold only the message.
 */
export class PieceList {
  readonly #units: Iterator<Unit>;
  readonly #pieces: Piece[] = [];
  #broken: unknown;
  #length: number | undefined;
  #measuring: Promise<number> | undefined;

  /** @param length total bytes of all pieces, if known */
  constructor(units: Iterable<Unit>, length?: number) {
    this.#units = units[Symbol.iterator]();
    this.#length = length;
  }

  /**
   * Returns a piece by its index, or undefined after the last one. Each reader calls it with consecutive indexes from
   * 0.
   *
   * @throws A2AError with reason INTERNAL, for every reader, if the message has no form on this wire
   */
  at(index: number): Uint8Array | undefined {
    const piece = this.#pieces[index] ?? this.#next();
    if (piece === undefined) return undefined;
    return piece.slot.bytes ?? keepPiece(piece.slot, concatPieces(piece.units.map(make)));
  }

  /**
   * Returns the total bytes of all pieces, for bindings that send the length first. Measuring pauses for the event
   * loop.
   */
  length(): Promise<number> {
    if (this.#length !== undefined) return Promise.resolve(this.#length);
    this.#measuring ??= this.#measure();
    return this.#measuring;
  }

  async #measure(): Promise<number> {
    this.#length = await lengthOf(unitsOf(this));
    return this.#length;
  }

  /** Creates the next piece from the units. */
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
    keepPiece(piece.slot, concatPieces(made));
    this.#pieces.push(piece);
    return piece;
  }
}

/** Returns the total bytes of pieces. Measuring pauses for the event loop. */
export async function lengthOf(pieces: Iterable<Uint8Array>): Promise<number> {
  let sum = 0;
  let count = 0;
  for (const piece of pieces) {
    sum += piece.length;
    if (++count % PIECES_A_TURN === 0) await yieldToEventLoop();
  }
  return sum;
}

/** Yields the pieces of a message, some of which may be shared. */
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
    if (size > 0) yield concatPieces(made);
    made = [];
    size = 0;
    if (unit instanceof PieceList) yield* unitsOf(unit);
  }
  if (size > 0) yield concatPieces(made);
}

/** Yields all pieces of a list, each created on demand. */
export function* unitsOf(list: PieceList): Generator<Uint8Array, void, undefined> {
  for (let i = 0; ; i++) {
    const piece = list.at(i);
    if (piece === undefined) return;
    yield piece;
  }
}

function keepPiece(slot: Slot, bytes: Uint8Array): Uint8Array {
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

function concatPieces(values: readonly (Uint8Array | string)[]): Uint8Array {
  if (values.every((value) => typeof value === "string")) return utf8Of(values.join(""));
  return concat(values.map((value) => (typeof value === "string" ? utf8Of(value) : value)));
}
