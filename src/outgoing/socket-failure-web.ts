// `socket-failure.ts` for runtimes without sockets. Their fetch does not report the cause of a failure.

/** Describes a failed request. */
export function socketFailure(_: unknown): string {
  return "the request failed";
}

/** Always undefined, because errors have no code of a connection. */
export function connectionFailure(_: unknown): string | undefined {
  return undefined;
}

/** Always false, because it cannot be determined. */
export function isUnconnected(_: unknown): boolean {
  return false;
}
