import type { TaskRow } from "./task-row.js";

/** Most new tasks beside the pages. With more, the first page is read again. */
const MAX_FRESH = 2_000;

/** Time in which changes are collected, in milliseconds. */
const APPLY_MS = 100;

/** Changes since the pages were read. */
export interface Changes {
  /** Tasks that no page has, newest first. */
  readonly fresh: readonly TaskRow[];
  /** Number of new tasks that wait until the list is at its start, so that it does not move under the reader. */
  readonly held: number;
  /** Ids of tasks that were deleted here. */
  readonly removed: ReadonlySet<string>;
  /** Grows with each change of a row. */
  readonly version: number;
}

/**
 * Changes of tasks, applied to the rows of a list, at most ten times a second. A row that has changed keeps its place.
 */
export class LiveTasks {
  /** Ids of the pages' rows. */
  readonly #paged = new Set<string>();
  #pages = new WeakSet<readonly TaskRow[]>();
  readonly #changed = new Map<string, TaskRow>();
  #removed: ReadonlySet<string> = new Set();
  #fresh: readonly TaskRow[] = [];
  readonly #freshIds = new Set<string>();
  #queue = new Map<string, { readonly row: TaskRow; readonly isMatch: boolean }>();
  #held = new Map<string, TaskRow>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #changes: Changes = { fresh: [], held: 0, removed: new Set(), version: 0 };
  readonly #listeners = new Set<() => void>();
  /** True while the reader is elsewhere in the list. */
  isHolding = false;
  /** Tells whether a task that no page has belongs in the list. */
  accepts: (row: TaskRow) => boolean = () => true;
  /** Called when there are too many new tasks. */
  onOverflow: () => void = () => {};

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly get = (): Changes => this.#changes;

  /** Returns a row as it is now. */
  now(row: TaskRow): TaskRow {
    return this.#changed.get(row.id) ?? row;
  }

  has(id: string): boolean {
    return this.#paged.has(id) || this.#freshIds.has(id);
  }

  /** Notes the rows of a page. */
  addPage(rows: readonly TaskRow[]): void {
    if (this.#pages.has(rows)) return;
    this.#pages.add(rows);
    for (const { id } of rows) this.#paged.add(id);
  }

  /** Forgets everything; the pages are read again. */
  clear(): void {
    for (const known of [this.#paged, this.#changed, this.#freshIds, this.#queue, this.#held]) known.clear();
    this.#pages = new WeakSet();
    this.#fresh = [];
    this.#tell();
  }

  remove(id: string): void {
    this.#removed = new Set([...this.#removed, id]);
    this.#tell();
  }

  /**
   * Takes a change, which is applied soon.
   * @param isMatch true if the server says that the task belongs in the list
   */
  take(row: TaskRow, isMatch = false): void {
    this.#queue.set(row.id, { row, isMatch });
    this.#timer ??= setTimeout(() => this.#apply(), APPLY_MS);
  }

  /** Shows the new tasks that were held. */
  showHeld(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    if (held.length > MAX_FRESH) this.onOverflow();
    else this.#prepend(held);
    this.#tell();
  }

  #apply(): void {
    this.#timer = undefined;
    const queue = this.#queue;
    this.#queue = new Map();
    const added: TaskRow[] = [];
    for (const [id, { row, isMatch }] of queue) {
      if (this.#removed.has(id)) continue;
      if (this.has(id)) this.#changed.set(id, row);
      else if (!isMatch && !this.accepts(row)) this.#held.delete(id);
      else if (!this.isHolding) added.push(row);
      else if (this.#held.size <= MAX_FRESH || this.#held.has(id)) this.#held.set(id, row);
    }
    this.#prepend(added);
    if (this.#fresh.length > MAX_FRESH) this.onOverflow();
    this.#tell();
  }

  #prepend(rows: readonly TaskRow[]): void {
    if (rows.length === 0) return;
    const newest = rows.toSorted((one, other) => other.at - one.at);
    for (const { id } of newest) this.#freshIds.add(id);
    this.#fresh = [...newest, ...this.#fresh];
  }

  #tell(): void {
    const { version } = this.#changes;
    this.#changes = { fresh: this.#fresh, held: this.#held.size, removed: this.#removed, version: version + 1 };
    for (const listener of this.#listeners) listener();
  }
}
