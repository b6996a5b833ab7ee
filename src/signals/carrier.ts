/**
 * Transports texts between processes: LISTEN and NOTIFY, NATS, a channel between workers. A carrier may lose, repeat,
 * delay and reorder texts, and may deliver texts of unrelated programs; `SignalHub` handles all of that. It reconnects
 * by itself while it is open, and its methods never throw or reject. Each carrier passes `test/signals/cases.ts`.
 */
export interface Carrier {
  /** Maximum size of one text as UTF-8, in bytes. */
  readonly maxBytes: number;

  /** Connects. Called once, before all other methods. `hear` receives each text, including those of this process. */
  open(hear: (text: string) => void): void;

  /** Sends texts to all other processes. */
  broadcast(texts: readonly string[]): void;

  /** Sends a text to the process of a member, or to all. Resolves to false if that process certainly does not exist. */
  send(to: string, text: string): Promise<boolean>;

  /** A member of this process has joined. */
  joined?(name: string): void;

  /** A member of this process has left. */
  left?(name: string): void;

  /** Sends the pending texts if that is quick, then releases every resource. */
  close(): Promise<void>;
}
