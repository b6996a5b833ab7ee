import { LazyAbortController } from "../core/async.js";
import { REQUEST_ID_HEADER, requestIdOf } from "../core/ids.js";
import { defined } from "../core/members.js";
import type { RequestTarget } from "./request.js";

/** The target of a request that has not been dispatched yet. */
const undispatched: RequestTarget = { path: "*", query: "", headers: [] };

/** Common part of the exchanges of all runtimes: the request's target, and notification when its client disconnects. */
export abstract class HttpExchange extends LazyAbortController {
  target: RequestTarget = undispatched;
  #requestId: string | undefined;

  abstract header(name: string): string | undefined;

  /** See HttpRequest. */
  get requestId(): string {
    this.#requestId ??= requestIdOf(this.header(REQUEST_ID_HEADER));
    return this.#requestId;
  }
}

/**
 * Returns all values of a header from raw headers, in which names and values alternate. Node.js keeps only the first of
 * headers that must not be repeated, such as `Authorization` and `Host`.
 */
export function valuesIn(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = defined(rawHeaders[i]);
    if (each.length === name.length && each.toLowerCase() === name) values.push(defined(rawHeaders[i + 1]));
  }
  return values;
}

/**
 * Joins all values of a header by commas. Two credentials are malformed then, instead of the first being used (RFC
 * 9110, 5.3, 11.6.2).
 */
export function allValues(rawHeaders: readonly string[], name: string): string {
  return valuesIn(rawHeaders, name).join(", ");
}
