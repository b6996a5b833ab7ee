import { messageIn } from "../../core/members.js";
import type { Context } from "./context.js";
import { usage } from "./errors.js";
import { wholeNumber } from "./kinds.js";

/** Reads an option of a command; undefined if it was not given. @throws Failure for a value that is not valid */
export function ownOption<T>(context: Context, name: string, read: (text: string) => T): T | undefined {
  const text = context.own(name).at(-1);
  if (text === undefined) return undefined;
  try {
    return read(text);
  } catch (error) {
    throw usage(`--${name}: ${JSON.stringify(text)} ${messageIn(error)}`);
  }
}

/** Returns the field for `--history`; without the option the agent decides. */
export function historyLength(context: Context): { readonly historyLength?: number } {
  const length = ownOption(context, "history", wholeNumber(0, 2 ** 31 - 1));
  return length === undefined ? {} : { historyLength: length };
}
