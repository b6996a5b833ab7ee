/** The other processes of a server that has several. */
export interface OtherProcesses {
  /** Names of the limits of which each process has a share. */
  readonly sharedLimits: readonly string[];
  /** Asks them all. Resolves to the answers that arrive in time; an answer is null if the question is not known there. */
  ask(question: string, value?: unknown): Promise<readonly unknown[]>;
  /** Answers a question of the others from now on. Values are JSON. */
  answer(question: string, answerer: (value: unknown) => unknown): void;
}
