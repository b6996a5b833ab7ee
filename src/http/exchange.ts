import { callAll } from "../core/event-loop.js";
import type { RequestTarget } from "./request.js";

/** The target of a request that has not been dispatched yet. */
const undispatched: RequestTarget = { path: "*", query: "", headers: [] };

/** What the exchanges of all runtimes have in common: where a request goes, and who hears that its client has gone away. */
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

  /** Whether the client went away before the answer was finished. */
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

  /** The client has gone away: fires the signal and calls who listens. */
  protected cancel(): void {
    this.#isCanceled = true;
    this.#controller?.abort();
    if (this.#callbacks !== undefined) callAll(this.#callbacks);
  }
}

/**
 * The values of a header, of names and values that alternate as they arrived. Node.js keeps the first of those that are to be there
 * once, such as `Authorization` and `Host`, and drops the others.
 */
export function valuesIn(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i] as string;
    if (each.length === name.length && each.toLowerCase() === name) values.push(rawHeaders[i + 1] as string);
  }
  return values;
}

/** The same, joined by commas. Two credentials are then of no form, rather than the first of them (RFC 9110, 5.3, 11.6.2). */
export function allValues(rawHeaders: readonly string[], name: string): string {
  return valuesIn(rawHeaders, name).join(", ");
}
