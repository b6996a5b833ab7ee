/**
 * A way for texts from one process to others: LISTEN and NOTIFY, NATS, a channel between workers. It may lose, repeat,
 * delay and reorder texts, and may bring those of strangers: `SignalHub` does the rest. It connects again by itself for
 * as long as it is open, and its methods never throw or reject. Each passes `test/signals/cases.ts`.
 */
export interface Carrier {
  /** Most bytes of one text, as UTF-8. */
  readonly maxBytes: number;

  /** Begins to carry. Called once, before all other methods. `hear` takes each text, also one of this process itself. */
  open(hear: (text: string) => void): void;

  /** Carries texts to all other processes. */
  broadcast(texts: readonly string[]): void;

  /** Carries a text to the process of a member, possibly to all. Resolves to false if that process surely does not exist. */
  send(to: string, text: string): Promise<boolean>;

  /** A member of this process has joined. */
  joined?(name: string): void;

  /** A member of this process has left. */
  left?(name: string): void;

  /** Carries the texts given so far, if that is quick, and releases every resource. */
  close(): Promise<void>;
}
