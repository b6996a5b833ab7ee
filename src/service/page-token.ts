import { createHash } from "node:crypto";
import { invalid } from "../core/error.js";
import type { ListRequest } from "../store/task-store.js";

/** Where a page ended. */
type Place = NonNullable<ListRequest["after"]>;

/** What a token is bound to: it serves the same caller and the same filters only (specification 3.1.4). */
export type Filters = Omit<ListRequest, "after" | "limit">;

/** An opaque token for the page after a place. */
export function pageToken(place: Place, filters: Filters): string {
  return Buffer.from(JSON.stringify([place.statusTime, place.taskId, digest(filters)])).toString("base64url");
}

/**
 * The place that a token stands for.
 * @throws A2AError INVALID_PARAMS when the token was not made here for the same filters
 */
export function placeOf(token: string, filters: Filters): Place {
  try {
    const [statusTime, taskId, bound] = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown[];
    if (typeof statusTime === "number" && typeof taskId === "string" && bound === digest(filters)) {
      return { statusTime, taskId };
    }
  } catch {
    // Not a token of ours: said below.
  }
  throw invalid([{ field: "pageToken", description: "is not a token of a previous page of this list" }]);
}

/** A token grants nothing by itself, scope and filters apply to every page: the digest only tells mistakes. */
function digest({ tenant, owner, contextId, state, statusFrom }: Filters): string {
  const bound = JSON.stringify([tenant, owner, contextId ?? "", state ?? 0, statusFrom ?? 0]);
  return createHash("sha256").update(bound).digest("base64url").slice(0, 16);
}
