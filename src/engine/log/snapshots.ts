import type { TaskStore } from "../../store/task-store.js";
import type { TaskFold } from "../../task/fold.js";
import { snapshotPieces } from "../../task/snapshot.js";
import { endsBlockingSend } from "../../task/state.js";

/** Entries before the first snapshot; the distance doubles for later ones. */
const FIRST_AFTER = 64;

/** Cost of reading and folding an entry, besides its own bytes: that of reading this many bytes of text. */
const ENTRY_BYTES = 4_096;

/** Saves due snapshots of one task, one at a time. */
export class SnapshotSaver {
  readonly #store: TaskStore;
  #savedAt: number;
  /** Bytes of the entries after the last snapshot, as stored. */
  #bytesSince: number;
  #saving = false;
  /** Number of times that saving was given up. */
  #abandoned = 0;

  /** @param savedAt position of the last snapshot @param bytesSince bytes of the entries after it, as stored */
  constructor(store: TaskStore, savedAt: number, bytesSince = 0) {
    this.#store = store;
    this.#savedAt = savedAt;
    this.#bytesSince = bytesSince;
  }

  /** Counts an entry's bytes, as stored. */
  noteEntry(bytes: number): void {
    this.#bytesSince += bytes;
  }

  /** Stops saving the current snapshot: the store may have lost its earlier pieces. */
  abandon(): void {
    this.#abandoned++;
  }

  /** Starts saving a snapshot if one is worthwhile now. */
  saveIfDue(taskId: string, fold: TaskFold): void {
    if (this.#saving || !snapshotPays(fold, this.#savedAt, this.#bytesSince)) return;
    this.#saving = true;
    this.#savedAt = fold.position;
    this.#bytesSince = 0;
    // A failed snapshot costs time, never an entry.
    const done = (): void => {
      this.#saving = false;
    };
    const before = this.#abandoned;
    saveSnapshot(this.#store, taskId, fold, () => this.#abandoned !== before).then(done, done);
  }
}

/**
 * True if a snapshot of the fold is worthwhile. Snapshots are taken at geometric distances, and when a task pauses or
 * ends after enough entries. None is taken if reading it would save less than half its cost. A task of large chunks,
 * for example, is as large as its log and would be stored several times.
 *
 * @param at position of the last snapshot
 * @param bytes of the entries since, as stored
 */
function snapshotPays(fold: TaskFold, at: number, bytes: number): boolean {
  const since = fold.position - at;
  if (since < FIRST_AFTER || since < (endsBlockingSend(fold.state) ? at / 4 : at)) return false;
  return bytes + since * ENTRY_BYTES >= 2 * fold.size;
}

/**
 * Saves a snapshot in pieces, each after the one before is stored, so that a large snapshot does not block other
 * writes.
 */
async function saveSnapshot(store: TaskStore, taskId: string, fold: TaskFold, isGivenUp: () => boolean): Promise<void> {
  const { position } = fold;
  const pieces = snapshotPieces(fold);
  let next = pieces.next();
  for (let piece = 0; !next.done && !isGivenUp(); piece++) {
    const bytes = next.value;
    next = pieces.next();
    await store.saveSnapshot({ taskId, snapshot: { position, bytes, piece, last: next.done === true } });
  }
}
