import { createHash } from "node:crypto";
import { type A2AError, invalid } from "../core/error.js";
import type { Scope } from "../engine/engine.js";
import type { ListRequest } from "../store/task-store.js";

/** The last task of a page. */
type ListPosition = NonNullable<ListRequest["after"]>;

/** What a token is bound to: it works only for the same caller and the same filters (specification 3.1.4). */
export type Filters = Omit<ListRequest, "after" | "limit">;

/** An opaque token for the page after a position. */
export function pageToken(position: ListPosition, filters: Filters): string {
  return Buffer.from(JSON.stringify([position.statusTime, position.taskId, digest(filters)])).toString("base64url");
}

/**
 * The position that a token stands for.
 *
 * @throws A2AError INVALID_PARAMS when the token was not made by this server for the same filters
 */
export function positionOf(token: string, filters: Filters): ListPosition {
  try {
    const [statusTime, taskId, bound] = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown[];
    if (typeof statusTime === "number" && typeof taskId === "string" && bound === digest(filters)) {
      return { statusTime, taskId };
    }
  } catch {
    // It is not one of our tokens: refused below.
  }
  throw notOurs();
}

function notOurs(): A2AError {
  return invalid([{ field: "pageToken", description: "is not a token of a previous page of this list" }]);
}

/** A token grants nothing by itself, since scope and filters apply to every page: the digest only detects mistakes. */
function digest({ tenant, owner, contextId, state, statusFrom }: Filters): string {
  return digestOf([tenant, owner, contextId ?? "", state ?? 0, statusFrom ?? 0]);
}

function digestOf(bound: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(bound)).digest("base64url").slice(0, 16);
}

/** Whose configurations, of which task. */
type ConfigsOf = Scope & { readonly taskId: string };

/** An opaque token for the page of push notification configurations after one. */
export function configPageToken(configId: string, of: ConfigsOf): string {
  return Buffer.from(JSON.stringify([configId, configsDigest(of)])).toString("base64url");
}

/**
 * The id of the configuration that a token stands for.
 *
 * @throws A2AError INVALID_PARAMS when the token was not made by this server for the same caller and task
 */
export function configAfter(token: string, of: ConfigsOf): string {
  try {
    const [configId, bound] = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown[];
    if (typeof configId === "string" && bound === configsDigest(of)) return configId;
  } catch {
    // As above.
  }
  throw notOurs();
}

function configsDigest({ tenant, owner, taskId }: ConfigsOf): string {
  return digestOf(["push", tenant, owner, taskId]);
}
