import { createHash } from "node:crypto";
import { invalid } from "../core/error.js";
import type { Scope } from "../engine/engine.js";
import type { ListRequest } from "../store/task-store.js";

/** Types of the values of a key. */
export interface Kinds {
  readonly string: string;
  readonly number: number;
}

/** The key of a list's items, one value for each kind. */
export type KeyOf<T extends readonly (keyof Kinds)[]> = { readonly [I in keyof T]: Kinds[T[I]] };

/** Returns an opaque token for the page after the item with this key, bound to a digest of the list's filters. */
export function tokenOf(key: readonly unknown[], bound: string): string {
  return Buffer.from(JSON.stringify([...key, bound])).toString("base64url");
}

/**
 * Returns the key in a token.
 *
 * @param kinds types of the values of the list's keys, such as `["number", "string"]`
 * @throws A2AError INVALID_PARAMS if no server created the token for such a key and this digest
 */
export function keyIn<const T extends readonly (keyof Kinds)[]>(token: string, kinds: T, bound: string): KeyOf<T> {
  try {
    const key: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    if (Array.isArray(key) && key.length === kinds.length + 1 && key.pop() === bound) {
      if (key.every((value, i) => typeof value === kinds[i])) return key as unknown as KeyOf<T>;
    }
  } catch {
    // Malformed; rejected below.
  }
  throw invalid([{ field: "pageToken", description: "is not a token of a previous page of this list" }]);
}

/** Returns a digest that only detects mistakes. A token grants nothing, because filters apply to every page. */
function digestOf(bound: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(bound)).digest("base64url").slice(0, 16);
}

/** Position of the last task of a page. */
type ListPosition = NonNullable<ListRequest["after"]>;

/**
 * The scope and filters that a token is bound to. It is valid only for the same caller and filters (specification
 * 3.1.4).
 */
export type Filters = Omit<ListRequest, "after" | "limit">;

/** Returns the token for the page after a position. */
export function pageToken({ statusTime, taskId }: ListPosition, filters: Filters): string {
  return tokenOf([statusTime, taskId], filtersDigest(filters));
}

/** Returns the position in a token. @throws A2AError INVALID_PARAMS as `keyIn` */
export function positionOf(token: string, filters: Filters): ListPosition {
  const [statusTime, taskId] = keyIn(token, ["number", "string"], filtersDigest(filters));
  return { statusTime, taskId };
}

function filtersDigest({ tenant, owner, contextId, state, statusFrom }: Filters): string {
  return digestOf([tenant, owner, contextId ?? "", state ?? 0, statusFrom ?? 0]);
}

/** The scope and task of push notification configurations. */
type ConfigsOf = Scope & { readonly taskId: string };

/** Returns the token for the page after a push notification configuration. */
export function configPageToken(configId: string, of: ConfigsOf): string {
  return tokenOf([configId], configsDigest(of));
}

/** Returns the configuration's id in a token. @throws A2AError INVALID_PARAMS as `keyIn` */
export function configAfter(token: string, of: ConfigsOf): string {
  return keyIn(token, ["string"], configsDigest(of))[0];
}

function configsDigest({ tenant, owner, taskId }: ConfigsOf): string {
  return digestOf(["push", tenant, owner, taskId]);
}
