/** Refusals of calls that never left this client. */
const own = /* @__PURE__ */ new WeakSet<object>();

/** The longest chain of causes that is looked at. */
const MAX_CAUSES = 8;

/** Marks an error as a refusal of the client itself: no server has seen the credentials, so others would not help. */
export function ownRefusal(error: unknown): unknown {
  if (typeof error === "object" && error !== null) own.add(error);
  return error;
}

/** Whether an error, or a cause of it, is a refusal of the client itself. */
export function isOwnRefusal(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof at === "object" && at !== null; depth++) {
    if (own.has(at)) return true;
    at = (at as { readonly cause?: unknown }).cause;
  }
  return false;
}
