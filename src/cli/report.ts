import { CommanderError } from "commander";
import { ConfigurationError } from "../card/faults.js";
import { StoreError } from "../store/task-store.js";
import { RESTART_CODE } from "./exit.js";
import { UsageError } from "./usage-error.js";

/** How a command ended. */
export interface Outcome {
  /** 0 done, 2 something that whoever started it can mend, 75 something that may mend itself, 1 everything else. */
  readonly exitCode: 0 | 1 | 2 | typeof RESTART_CODE;
  /** What to say of it, if it was not said yet. */
  readonly text: string;
}

/** Turns an error into one line without a stack trace, unless nobody expected it. */
export function outcomeOf(error: unknown): Outcome {
  // commander has printed its own message already.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : 2, text: "" };
  const expected = error instanceof UsageError || error instanceof ConfigurationError || error instanceof StoreError;
  const passing = error instanceof StoreError && error.kind === "unavailable";
  if (expected)
    return { exitCode: passing ? RESTART_CODE : 2, text: `parley: ${error.message.replaceAll(/\s*\n\s*/g, " ")}\n` };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, text: `parley: unexpected error: ${text}\n` };
}
