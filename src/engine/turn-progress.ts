import type { Lease } from "../store/task-store.js";
import type { TaskFold } from "../task/fold.js";
import { endsBlockingSend, isTerminal } from "../task/state.js";

/** Which turn of a task is at work, and which turns have come to rest, as far as this process knows. */
export class TurnProgress {
  #current = 0;
  #completed = 0;
  #busy = false;
  #isLetGo = false;

  /** Position of the message whose turn is being executed, or was last, in this process. */
  get current(): number {
    return this.#current;
  }

  /** Up to this position messages have had their turn come to rest, which lets blocking sends of them return. */
  get completed(): number {
    return this.#completed;
  }

  /** Whether an execution of the task lives or waits in this process. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Whether the end of the server let go of an execution that had not begun: another process, or the next start, begins it. */
  get isLetGo(): boolean {
    return this.#isLetGo;
  }

  letGo(): void {
    this.#isLetGo = true;
  }

  beginExecution(): void {
    this.#busy = true;
  }

  endExecution(): void {
    this.#busy = false;
  }

  begin(position: number): void {
    this.#current = position;
  }

  /** Notes a pause of the turn at work in this process. */
  completeCurrent(): void {
    this.#completed = this.#current;
  }

  /**
   * Notes which turns have come to rest in a task that is not at work in this process: the lease says which turn another
   * process has in work.
   * @returns whether the task is at rest, so that those who wait are to look again
   */
  noteLease(fold: TaskFold, lease: Lease | null): boolean {
    const { state, statusPosition, position } = fold;
    if (!endsBlockingSend(state) || (this.#busy && !isTerminal(state))) return false;
    if (isTerminal(state)) this.#completed = position;
    else if (lease === null) this.#completed = Math.max(this.#completed, statusPosition);
    // Whether this is the pause of the turn that another process has in work, or of the one before, cannot be seen.
    else this.#completed = Math.max(this.#completed, lease.turn - 1);
    return true;
  }
}
