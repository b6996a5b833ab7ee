import { messageIn } from "../../core/members.js";

/** Codes of errors that the command line itself detects, with their exit status (docs/cli.md). */
export const localCodes = {
  A2ACLI_ERR_USAGE: 2,
  A2ACLI_ERR_CARD_NOT_FOUND: 3,
  A2ACLI_ERR_CARD_INVALID: 1,
  A2ACLI_ERR_UNREACHABLE: 3,
  A2ACLI_ERR_CREDENTIALS_MISSING: 4,
  A2ACLI_ERR_AUTH_FAILED: 4,
  A2ACLI_ERR_TIMEOUT: 5,
  A2ACLI_ERR_INTERNAL: 1,
  /** The card has no interface that can be called. */
  PARLEY_ERR_NO_INTERFACE: 1,
  /** A file of an answer cannot be saved or fetched. */
  PARLEY_ERR_NOT_SAVED: 1,
  /** No call of a measurement succeeded. */
  PARLEY_ERR_NO_SUCCESS: 1,
  /** A webhook did not take a notification that was sent again. */
  PARLEY_ERR_NOT_TAKEN: 1,
  /** A signal ended a wait; the exit status is that of the signal. */
  PARLEY_ERR_INTERRUPTED: 130,
} as const;

export type LocalCode = keyof typeof localCodes;

interface FailureDetails {
  /** Next step for the user, best a command. */
  readonly hint?: string | null;
  /** Code of the protocol or of HTTP. */
  readonly a2aCode?: number | null;
  /** Default: that of the code. */
  readonly exit?: number;
  readonly cause?: unknown;
}

/** A failure as the user sees it. */
export class Failure extends Error {
  readonly code: string;
  readonly hint: string | null;
  readonly a2aCode: number | null;
  readonly exit: number;

  /** @param code a local code, or the name of an error of the protocol */
  constructor(code: string, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint ?? null;
    this.a2aCode = details.a2aCode ?? null;
    this.exit = details.exit ?? localCodes[code as LocalCode] ?? 1;
  }
}

/** Returns the failure for a mistake in the command line, a variable or a file. */
export function usage(message: string, hint?: string): Failure {
  return new Failure("A2ACLI_ERR_USAGE", message, { hint: hint ?? null });
}

/** Returns a function that throws a usage error for a cause. @param place begins its message */
export function usageOf(place: string, hint?: string): (cause: unknown) => never {
  return (cause) => {
    throw usage(place + messageIn(cause), hint);
  };
}
