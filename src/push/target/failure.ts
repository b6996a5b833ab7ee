import { socketFailure } from "../../core/socket-failure.js";
import { ForbiddenTarget } from "./guard.js";
import { LookupError } from "./lookup.js";

/** Why a request failed, in a sentence without addresses and secrets. */
export function reasonOf(error: unknown): string {
  // Made here, so that what they say is known.
  if (error instanceof ForbiddenTarget || error instanceof LookupError) return error.message;
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED") return "the server is shutting down";
  return socketFailure(error);
}
