import type { RelayedEvent, RelayMark } from "../agent/delegation.js";
import { isInterrupted } from "../task/state.js";
import type { RelayPlace } from "./marks.js";

/**
 * Position of the message that answers a question; undefined where there is none yet. A turn ends with one question at most. The first turn after
 * it that ended with another delegation's question had the answer: the delegations of a task may wait for their users all at once. A
 * turn that ended with the author's own question asked for another answer.
 */
export function answeringPosition(
  events: readonly RelayedEvent[],
  asked: RelayMark | undefined,
  { turn }: RelayPlace,
): number | undefined {
  if (asked === undefined || asked.taskId === "" || asked.turn >= turn) return undefined;
  const last = new Map(events.map(({ mark }) => [mark.turn, mark.state]));
  const later = [...last].filter(([other, state]) => other > asked.turn && isInterrupted(state));
  return Math.min(turn, ...later.map(([other]) => other));
}

/** Answers of one turn that are on their way to other agents. The next question is asked when they have arrived, as it ends the turn. */
export class Answers {
  readonly #open = new Set<Promise<void>>();

  /** An answer that is to be sent. The result says that it has arrived, or will not. */
  sending(): () => void {
    let arrived = (): void => {};
    const sent = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    this.#open.add(sent);
    return () => {
      this.#open.delete(sent);
      arrived();
    };
  }

  async arrived(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
