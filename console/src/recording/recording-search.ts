/** The state of the page of recordings, which its address holds. The recording itself is never part of it. */
export interface RecordingSearch {
  /** A conversation of this browser; undefined for the recording of a file. */
  readonly conversation?: string | undefined;
  readonly agent?: string | undefined;
  readonly speech?: string | undefined;
  /** `shape` to compare the shape alone. */
  readonly compare?: string | undefined;
  /** Id of the exchange that is shown. */
  readonly exchange?: number | undefined;
}
