import { CommanderError } from "commander";
import { ConfigurationError } from "../card/faults.js";
import { StoreError } from "../store/task-store.js";
import { CommandError } from "./command-error.js";
import { RESTART_CODE } from "./exit.js";

export interface Outcome {
  /**
   * 0: done. 2: a mistake that the user can correct. 75: a fault that may pass, so start again. 1: any other error. See
   * also `exitCodes`.
   */
  readonly exitCode: number;
  /** Text to print, if not printed yet. */
  readonly text: string;
}

/** Turns an expected error into one line; an unexpected one keeps its stack trace. */
export function outcomeOf(error: unknown): Outcome {
  // commander has printed its own message already.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : 2, text: "" };
  if (error instanceof CommandError || error instanceof ConfigurationError || error instanceof StoreError) {
    const passing = error instanceof StoreError && error.kind === "unavailable";
    const exitCode = error instanceof CommandError ? error.exitCode : passing ? RESTART_CODE : 2;
    return { exitCode, text: `parley: ${error.message.replaceAll(/\s*\n\s*/g, " ")}\n` };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, text: `parley: unexpected error: ${text}\n` };
}
