import type { AgentEvent } from "../agent/event.js";
import { Waiters } from "../core/waiters.js";
import { isInterrupted } from "../task/state.js";

/**
 * Tools that run at the same time. A question ends the turn, and with it the tools that run: they would run again in the
 * next turn. It is therefore held back until the others have ended or ask as well.
 */
export class ToolGroup {
  /** Number of tools that run and have no question. */
  #busy: number;
  /** Tools that wait. */
  readonly #waiting = new Waiters();

  constructor(tools: number) {
    this.#busy = tools;
  }

  /** Returns the function by which one of the tools emits events. */
  emitter(emit: (event: AgentEvent) => Promise<void>): (event: AgentEvent) => Promise<void> {
    return async (event) => {
      if (event.kind === "status" && isInterrupted(event.state)) {
        const others = this.#waiting.wait();
        this.ended();
        await others;
        this.#busy++;
      }
      await emit(event);
    };
  }

  /** Notes that a tool has ended. */
  ended(): void {
    if (--this.#busy === 0) this.#waiting.release();
  }
}
