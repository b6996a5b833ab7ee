import type { RelayCheckpoint, RelayedEvent } from "../agent/delegation.js";
import { Waiters } from "../core/async.js";
import { isInterrupted } from "../task/state.js";
import type { RelayPlace } from "./relayed.js";

/**
 * Returns the position of the message that answers a question; undefined if no earlier turn asked one. A turn ends with
 * at most one question. Several delegations of a task may wait for their users at once, so the first later turn that
 * ended with another delegation's question had the answer. A turn that ended with the author's own question requested
 * another answer.
 */
export function answeringPosition(
  events: readonly RelayedEvent[],
  asked: RelayCheckpoint | undefined,
  { turn }: RelayPlace,
): number | undefined {
  if (asked === undefined || asked.taskId === "" || asked.turn >= turn) return undefined;
  const last = new Map(events.map(({ checkpoint }) => [checkpoint.turn, checkpoint.state]));
  const later = [...last].filter(([other, state]) => other > asked.turn && isInterrupted(state));
  return Math.min(turn, ...later.map(([other]) => other));
}

/**
 * Answers of one turn in flight to other agents. The next question waits until they have arrived, because it ends the
 * turn.
 */
export class PendingAnswers {
  #question: Promise<void> | undefined;
  readonly #open = new Set<Promise<void>>();

  /** Registers an answer in flight. The returned function reports that it has arrived or failed. */
  sending(): () => void {
    const arrival = new Waiters();
    const sent = arrival.wait();
    this.#open.add(sent);
    return () => {
      this.#open.delete(sent);
      arrival.release();
    };
  }

  /** Notes the first question, which ends the turn. */
  noteQuestion(ask: () => Promise<void>): void {
    this.#question ??= ask();
  }

  /** Resolves when the agent is being ended at the question that ends the turn; undefined before there is one. */
  get question(): Promise<void> | undefined {
    return this.#question;
  }

  async arrived(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
