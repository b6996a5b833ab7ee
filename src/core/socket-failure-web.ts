// `socket-failure.ts` where there are no sockets: fetch does not tell why it failed.

/** Why a request failed. */
export function socketFailure(_: unknown): string {
  return "the request failed";
}

/** Never known. */
export function isUnconnected(_: unknown): boolean {
  return false;
}
