import type { TaskStore } from "../../store/task-store.js";
import type { TaskFold } from "../../task/fold.js";
import { snapshotPieces } from "../../task/snapshot.js";
import { endsBlockingSend } from "../../task/state.js";

/** Entries between the first snapshot and the start; later ones come at doubled distance. */
const FIRST_AFTER = 64;

/** Reading and folding an entry takes as long as reading so many bytes of text, besides its own. */
const ENTRY_BYTES = 4_096;

/** Saves snapshots of one task when they are due, one at a time. */
export class SnapshotSaver {
  readonly #store: TaskStore;
  #savedAt: number;
  /** Bytes of the entries behind the last snapshot, as stored. */
  #bytesSince: number;
  #saving = false;

  /** @param savedAt position of the last snapshot @param bytesSince bytes of the entries behind it, as stored */
  constructor(store: TaskStore, savedAt: number, bytesSince = 0) {
    this.#store = store;
    this.#savedAt = savedAt;
    this.#bytesSince = bytesSince;
  }

  /** Notes an entry by its bytes, as stored. */
  noteEntry(bytes: number): void {
    this.#bytesSince += bytes;
  }

  /** Begins to save a snapshot if one pays now. */
  saveIfDue(taskId: string, fold: TaskFold): void {
    if (this.#saving || !snapshotPays(fold, this.#savedAt, this.#bytesSince)) return;
    this.#saving = true;
    this.#savedAt = fold.position;
    this.#bytesSince = 0;
    // A snapshot that could not be kept costs time, never an entry.
    const done = (): void => {
      this.#saving = false;
    };
    saveSnapshot(this.#store, taskId, fold).then(done, done);
  }
}

/**
 * Whether a snapshot of the fold is worth its while. Snapshots come at geometric distances, and where a task pauses or
 * ends after enough entries; but not where reading it would save less than half of what it costs, as with a task of
 * large pieces: that is as large as its log, and would be stored several times.
 *
 * @param at position of the last snapshot
 * @param bytes of the entries since, as stored
 */
function snapshotPays(fold: TaskFold, at: number, bytes: number): boolean {
  const since = fold.position - at;
  if (since < FIRST_AFTER || since < (endsBlockingSend(fold.state) ? at / 4 : at)) return false;
  return bytes + since * ENTRY_BYTES >= 2 * fold.size;
}

/** Saves piece by piece, each when the one before it is kept: others need not wait for a large snapshot. */
async function saveSnapshot(store: TaskStore, taskId: string, fold: TaskFold): Promise<void> {
  const { position } = fold;
  const pieces = snapshotPieces(fold);
  let next = pieces.next();
  for (let piece = 0; !next.done; piece++) {
    const bytes = next.value;
    next = pieces.next();
    await store.saveSnapshot({ taskId, snapshot: { position, bytes, piece, last: next.done === true } });
  }
}
