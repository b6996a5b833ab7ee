import { A2AError } from "../core/error.js";

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
