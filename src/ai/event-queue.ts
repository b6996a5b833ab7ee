import type { AgentEvent } from "../agent/event.js";

/**
 * Events of callbacks, such as those of a running tool, for the agent's generator to yield. `turn.emit` also resolves
 * when the turn ends; here a tool does not continue after its question has ended the turn.
 */
export class EventQueue {
  readonly #events: { readonly event: AgentEvent; readonly taken: () => void }[] = [];
  /** Ends the wait for the next event. */
  #wake: () => void = () => {};

  /** Resolves when the event is accepted. Never rejects; does not resolve if the event ends the turn. */
  emit(event: AgentEvent): Promise<void> {
    return new Promise((taken) => {
      this.#events.push({ event, taken });
      this.#wake();
    });
  }

  /** Yields the events until the work is done, and returns its result. */
  async *until<T>(work: Promise<T>): AsyncGenerator<AgentEvent, T, undefined> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
      this.#wake();
    };
    work.then(done, done);
    for (;;) {
      const next = this.#events.shift();
      if (next !== undefined) {
        yield next.event;
        next.taken();
      } else if (isDone) return work;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
