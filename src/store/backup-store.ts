/** Part of the store interface for backups. A store that cannot make any lacks all of it. */
export interface BackupStore {
  /** Restorations of the store from backups, oldest first. */
  readonly restorations?: readonly Restoration[];

  /**
   * Copies the store into a new file while it is used. The copy holds one moment, at which everything was stored that
   * was acknowledged before the call.
   * @throws StoreError `failed` if the target exists or its folder does not, or if another backup is being made;
   * `unavailable` if the disk is full or fails; `closed`, also when the store is closed meanwhile
   */
  backup?(request: { readonly target: string }): Promise<BackupResult>;
}

/** A backup of a store. */
export interface BackupResult {
  /** Absolute path of its file. */
  readonly path: string;
  readonly bytes: number;
  /** The moment that it holds, in milliseconds since the epoch. */
  readonly time: number;
}

/**
 * A restoration of a store from a backup. The original may have stored events after the backup, so later events of the
 * restored store may have the task and the generation of other events that receivers have seen.
 */
export interface Restoration {
  /** Entries of a later time were written after the restoration, in milliseconds since the epoch. */
  readonly until: number;
  /** Random, for this restoration. */
  readonly id: string;
}
