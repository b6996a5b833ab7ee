/** The other processes of a server that has several. */
export interface OtherProcesses {
  /** Names of the limits that are divided among the processes. */
  readonly sharedLimits: readonly string[];
  /**
   * Asks all of them. Resolves to the answers that arrive in time. The answer of a process that does not know the
   * question is null.
   */
  ask(question: string, value?: unknown): Promise<readonly unknown[]>;
  /** Registers the answer to a question of the other processes. Values are JSON. */
  answer(question: string, answerer: (value: unknown) => unknown): void;
}
