import { messageIn } from "../core/members.js";

/** Exit codes of commands that call a server: it refused or failed, it was not reached, the credentials do not suffice,
 * or Ctrl-C ended it. */
export const exitCodes = { failed: 1, usage: 2, unreached: 3, credentials: 4, interrupted: 130 } as const;

/** An expected failure of a command, as one line and an exit code. */
export class CommandError extends Error {
  override name: string = "CommandError";
  readonly exitCode: number;

  constructor(kind: keyof typeof exitCodes, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCodes[kind];
  }
}

/** A mistake in the command line, or in the module that it names, that only the user can correct. */
export class UsageError extends CommandError {
  override name = "UsageError";

  constructor(message: string, options?: ErrorOptions) {
    super("usage", message, options);
  }
}

/** Returns a function that throws a usage error for a cause. @param place begins its message */
export function usageErrorOf(place: string, end = ""): (cause: unknown) => never {
  return (cause) => {
    throw new UsageError(place + messageIn(cause) + end, { cause });
  };
}
