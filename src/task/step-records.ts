import type { Step } from "../../gen/parley/log/v1/log_pb.js";
import { utf8LengthOf } from "../core/bytes.js";

/** The position of a step's result in the log, and the number of its call in the turn. See `Step`. */
export interface StepRecord extends Pick<Step, "name" | "count" | "turn" | "call" | "perTask" | "overlaps"> {
  readonly position: number;
}

/**
 * The steps of a task's log whose results may be asked for again: those of the last turn that had any, and those of all
 * turns that are for the whole task. Results stay in the log.
 */
export class StepRecords {
  #bytes: number;
  #turn = 0;
  #ofTurn: StepRecord[] = [];
  readonly #ofEarlierTurns: StepRecord[] = [];

  /** @param bytes those of the results that the records of a snapshot lack */
  constructor(bytes = 0) {
    this.#bytes = bytes;
  }

  /** Bytes of the results of all steps of the task as JSON in UTF-8, also of those that are not asked for again. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param position of its entry, which comes after all that were added before */
  add(position: number, step: Omit<StepRecord, "position"> & Partial<Pick<Step, "outcome">>): void {
    const { name, count, turn, call, perTask, overlaps, outcome } = step;
    if (outcome !== undefined) this.#bytes += resultBytes({ outcome });
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
