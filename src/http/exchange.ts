import { callAll } from "../core/event-loop.js";
import type { RequestTarget } from "./request.js";

/** The target of a request that has not been dispatched yet. */
const undispatched: RequestTarget = { path: "*", query: "", headers: [] };

/** Common part of the exchanges of all runtimes: the request's target, and notification when its client disconnects. */
export abstract class Exchange {
  target: RequestTarget = undispatched;
  #controller: AbortController | undefined;
  #callbacks: Set<() => void> | undefined;
  #isCanceled = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCanceled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** True if the client disconnected before the end of the answer. */
  get canceled(): boolean {
    return this.#isCanceled;
  }

  onCancel(callback: () => void): () => void {
    if (this.#isCanceled) callback();
    else {
      this.#callbacks ??= new Set();
      this.#callbacks.add(callback);
    }
    return () => this.#callbacks?.delete(callback);
  }

  /** Fires the signal and the callbacks, because the client has disconnected. */
  protected cancel(): void {
    this.#isCanceled = true;
    this.#controller?.abort();
    if (this.#callbacks !== undefined) callAll(this.#callbacks);
  }
}

/**
 * Returns all values of a header from raw headers, in which names and values alternate. Node.js keeps only the first of
 * headers that must not be repeated, such as `Authorization` and `Host`.
 */
export function valuesIn(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i] as string;
    if (each.length === name.length && each.toLowerCase() === name) values.push(rawHeaders[i + 1] as string);
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
