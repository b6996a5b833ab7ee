import type { A2AError } from "../core/error.js";

/** An error whose text the client may see. */
export class AgentError extends Error {
  override name = "AgentError";
}

/** Thrown by `turn.form` if the user declines the form. An agent that does not catch it fails its task with this text. */
export class FormDeclined extends AgentError {
  override name = "FormDeclined";
  constructor() {
    super("The form was declined.");
  }
}

/**
 * Thrown by `turn.delegate` and `turn.form` if an agent yields after their question, which has ended the turn. It is
 * mostly invisible, because the agent's generator is ended at the question, as by a `return`: `finally` runs, `catch`
 * does not. The answer arrives as a new turn, in which the same `turn.delegate` or `turn.form` gets it.
 */
export class TurnPaused extends Error {
  override name = "TurnPaused";
  constructor() {
    super("The turn is over: a question waits for its user.");
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

/**
 * A step of `turn.step` has failed, now or in an earlier run of its turn. Clients do not see its text.
 */
export class StepError extends Error {
  override name = "StepError";
  /** The name of the step. */
  readonly step: string;

  /** @param message text of the error that the step ended with; `cause` is that error, in the run that it occurred in */
  constructor(step: string, message: string, options?: ErrorOptions) {
    super(`The step "${step}" failed: ${message}`, options);
    this.step = step;
  }
}

/**
 * A turn that runs again asks for its steps in another order than before, because the program has changed. It gets no
 * result, since that may be the one of another step.
 */
export class StepOrderError extends Error {
  override name = "StepOrderError";
}
