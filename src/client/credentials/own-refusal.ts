import { membersOf } from "../../core/members.js";

/** Rejections of calls before they were sent. */
const own = /* @__PURE__ */ new WeakSet<object>();

/** Maximum depth of causes examined. */
const MAX_CAUSES = 8;

/**
 * Marks an error as the client's own rejection: the server has not seen the credentials, so renewing them is useless.
 */
export function ownRefusal(error: unknown): unknown {
  if (typeof error === "object" && error !== null) own.add(error);
  return error;
}

/** True if an error, or one of its causes, is the client's own rejection. */
export function isOwnRefusal(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof at === "object" && at !== null; depth++) {
    if (own.has(at)) return true;
    at = membersOf(at).cause;
  }
  return false;
}
