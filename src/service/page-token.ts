import { createHash } from "node:crypto";
import { type A2AError, invalid } from "../core/error.js";
import type { Scope } from "../engine/engine.js";
import type { ListRequest } from "../store/task-store.js";

/** Position of the last task of a page. */
type ListPosition = NonNullable<ListRequest["after"]>;

/**
 * The scope and filters that a token is bound to. It is valid only for the same caller and filters (specification
 * 3.1.4).
 */
export type Filters = Omit<ListRequest, "after" | "limit">;

/** Returns an opaque token for the page after a position. */
export function pageToken(position: ListPosition, filters: Filters): string {
  return Buffer.from(JSON.stringify([position.statusTime, position.taskId, digest(filters)])).toString("base64url");
}

/**
 * Returns the position in a token.
 *
 * @throws A2AError INVALID_PARAMS if this server did not create the token for the same filters
 */
export function positionOf(token: string, filters: Filters): ListPosition {
  try {
    const [statusTime, taskId, bound]: unknown[] = JSON.parse(Buffer.from(token, "base64url").toString());
    if (typeof statusTime === "number" && typeof taskId === "string" && bound === digest(filters)) {
      return { statusTime, taskId };
    }
  } catch {
    // Malformed; rejected below.
  }
  throw notOurs();
}

function notOurs(): A2AError {
  return invalid([{ field: "pageToken", description: "is not a token of a previous page of this list" }]);
}

/**
 * Computes a digest that only detects mistakes. A token grants nothing, because scope and filters apply to every page.
 */
function digest({ tenant, owner, contextId, state, statusFrom }: Filters): string {
  return digestOf([tenant, owner, contextId ?? "", state ?? 0, statusFrom ?? 0]);
}

function digestOf(bound: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(bound)).digest("base64url").slice(0, 16);
}

/** The scope and task of push notification configurations. */
type ConfigsOf = Scope & { readonly taskId: string };

/** Returns an opaque token for the page after a push notification configuration. */
export function configPageToken(configId: string, of: ConfigsOf): string {
  return Buffer.from(JSON.stringify([configId, configsDigest(of)])).toString("base64url");
}

/**
 * Returns the configuration's id in a token.
 *
 * @throws A2AError INVALID_PARAMS if this server did not create the token for the same caller and task
 */
export function configAfter(token: string, of: ConfigsOf): string {
  try {
    const [configId, bound]: unknown[] = JSON.parse(Buffer.from(token, "base64url").toString());
    if (typeof configId === "string" && bound === configsDigest(of)) return configId;
  } catch {
    // Malformed; rejected below.
  }
  throw notOurs();
}

function configsDigest({ tenant, owner, taskId }: ConfigsOf): string {
  return digestOf(["push", tenant, owner, taskId]);
}
