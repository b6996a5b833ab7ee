import { READ_BYTES } from "../segment.js";
import type { LoadedTask, SnapshotPiece, StoredSnapshot } from "../task-store.js";

/** The entries and the snapshot of one task. Bytes are copied on the way in and out. */
export class MemoryLog {
  readonly #entries: Uint8Array[] = [];
  #snapshot: StoredSnapshot | undefined;
  #pieces: readonly Uint8Array[] | undefined;
  /** The next snapshot, while it is being written. */
  #coming: { readonly position: number; readonly pieces: Uint8Array[] } | undefined;

  append(entries: readonly Uint8Array[]): void {
    for (const entry of entries) this.#entries.push(copyEntry(entry));
  }

  /** Returns the snapshot and, unless it has several pieces, the entries after it. */
  load(): Pick<LoadedTask, "snapshot" | "entries"> {
    const snapshot = this.#snapshot;
    const isWhole = snapshot?.pieces === undefined;
    const entries = isWhole ? this.read(snapshot?.position ?? 0, Number.POSITIVE_INFINITY) : [];
    return { snapshot: snapshot && { ...snapshot, bytes: copy(snapshot.bytes) }, entries };
  }

  /** Returns one piece of the snapshot at a position; undefined if another snapshot has replaced it. */
  readSnapshot(position: number, piece: number): Uint8Array | undefined {
    const found = this.#snapshot?.position === position ? this.#pieces?.[piece] : undefined;
    return found && copy(found);
  }

  /** Stores a piece of a snapshot. After its last piece, the snapshot replaces the present one. */
  saveSnapshot({ position, bytes, piece = 0, last = true }: SnapshotPiece): void {
    if (position <= (this.#snapshot?.position ?? -1)) return;
    if (this.#coming?.position !== position) this.#coming = { position, pieces: [] };
    const { pieces } = this.#coming;
    pieces[piece] = copy(bytes);
    if (!last) return;
    const [first = copy(bytes)] = pieces;
    this.#pieces = pieces;
    this.#snapshot =
      pieces.length === 1 ? { position, bytes: first } : { position, bytes: first, pieces: pieces.length };
    this.#coming = undefined;
  }

  read(after: number, limit: number): Uint8Array[] {
    const all = this.#entries;
    const entries: Uint8Array[] = [];
    for (let index = after, bytes = 0; index < all.length && entries.length < limit && bytes < READ_BYTES; index++) {
      const entry = all[index] as Uint8Array;
      entries.push(copyEntry(entry));
      bytes += entry.length;
    }
    return entries;
  }
}

function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** Small buffers come from Node's pool; allocating each costs several times as much. */
function copyEntry(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes);
}
