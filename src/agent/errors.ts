import type { A2AError } from "../core/error.js";

/** An error whose text the client may see. */
export class AgentError extends Error {
  override name = "AgentError";
}

/**
 * Thrown by `turn.delegate` if an agent yields after another agent's question, which has ended the turn. It is mostly
 * invisible, because the agent's generator is ended at the question, as by a `return`: `finally` runs, `catch` does
 * not. The answer arrives as a new turn, in which the same `turn.delegate` passes it on.
 */
export class TurnPaused extends Error {
  override name = "TurnPaused";
  constructor() {
    super("The turn is over: another agent waits for its user.");
  }
}

/**
 * Another agent could not be reached or failed; `cause` is the A2AError with the reason. Its text may be shown to
 * clients.
 */
export class DelegationError extends AgentError {
  override name = "DelegationError";
  constructor(agent: string, cause: A2AError) {
    super(`The agent ${agent} could not do its part: ${cause.reason}.`);
    this.cause = cause;
  }
}
