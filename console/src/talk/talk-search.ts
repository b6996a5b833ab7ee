/** The state of the page of conversations, which its address holds. */
export interface TalkSearch {
  readonly agent?: string | undefined;
  readonly conversation?: string | undefined;
  readonly beside?: string | undefined;
  readonly task?: string | undefined;
  readonly panel?: string | undefined;
  /** The text of the next message at first. */
  readonly text?: string | undefined;
}
