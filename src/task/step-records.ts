import type { Step } from "../../gen/parley/log/v1/log_pb.js";
import { utf8LengthOf } from "../core/bytes.js";

/** Where the result of a step is in the log, and which call of its turn it was. See `Step`. */
export interface StepRecord extends Pick<Step, "name" | "count" | "turn" | "call" | "perTask" | "overlaps"> {
  readonly position: number;
}

/**
 * The steps of a task's log whose results may be asked for again: those of the last turn that had any, and those of all
 * turns that are for the whole task. Results stay in the log.
 */
export class StepRecords {
  /** Bytes of the results of all steps of the task as JSON in UTF-8, also of those that are not asked for again. */
  bytes = 0;
  #turn = 0;
  #ofTurn: StepRecord[] = [];
  readonly #ofEarlierTurns: StepRecord[] = [];

  /** @param position of its entry, which comes after all that were added before */
  add(position: number, { name, count, turn, call, perTask, overlaps }: Omit<StepRecord, "position">): void {
    if (turn !== this.#turn) {
      // An earlier turn has ended and is not repeated.
      for (const record of this.#ofTurn) if (record.perTask) this.#ofEarlierTurns.push(record);
      this.#ofTurn = [];
      this.#turn = turn;
    }
    this.#ofTurn.push({ position, name, count, turn, call, perTask, overlaps });
  }

  /** Returns the steps that a turn may ask for. */
  of(turn: number): StepRecord[] {
    return this.all().filter((record) => record.perTask || record.turn === turn);
  }

  /** Returns all steps in the order of the log. */
  all(): StepRecord[] {
    return [...this.#ofEarlierTurns, ...this.#ofTurn];
  }
}

/** Returns the bytes of a step's result as JSON in UTF-8. */
export function resultBytes({ outcome }: Pick<Step, "outcome">): number {
  return outcome.case === "result" ? utf8LengthOf(outcome.value) : 0;
}
