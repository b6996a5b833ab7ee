import { A2AError } from "../core/error.js";
import { TransientSet } from "../core/maps.js";

/** How far the end of an engine has come. */
export class Shutdown {
  #draining = false;
  #closing = false;

  /** Whether nothing new is accepted: streams then end with an invitation to resume. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Whether running work has had its grace: calls that wait for it end as well. */
  get closing(): boolean {
    return this.#closing;
  }

  drain(): void {
    this.#draining = true;
  }

  close(): void {
    this.#draining = true;
    this.#closing = true;
  }
}

/** The error of calls that come, or wait, when the server ends. */
export function shuttingDown(): A2AError {
  return new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs: 1_000 });
}

/** A call that waits for an agent without a task, so that no execution knows of it. */
export interface DirectCall {
  /** The server ends: fires the signal of the agent. */
  stop(): void;
  /** Answers the caller, whose agent did not stop. */
  refuse(error: A2AError): void;
}

/** The calls that wait for a direct answer, for the first event that decides, or for `accept`: the end of a server waits for them. */
export class DirectCalls {
  readonly #open = new TransientSet<DirectCall>();
  #whenNone: (() => void) | undefined;

  begin(call: DirectCall): void {
    this.#open.add(call);
  }

  /** Does nothing for a call that did not begin. */
  end(call: DirectCall): void {
    if (this.#open.delete(call) && this.#open.size === 0) this.#whenNone?.();
  }

  /** Resolves when none is open. Called by the end of the server alone, when no more begin. */
  none(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenNone = resolve;
    });
  }

  stop(): void {
    for (const call of this.#open.values()) call.stop();
  }

  /** Refuses those that are left, each with an error of its own: none is made where none is needed (see core/lazy.ts). */
  refuse(error: () => A2AError): void {
    for (const call of this.#open.values()) call.refuse(error());
  }
}
