import { callAll } from "./event-loop.js";

/**
 * Notifies of the client's departure. An AbortSignal does the same, but takes several microseconds to create and
 * collect, a cost for every call that waits for its task.
 */
export interface Cancellation {
  /** True if the client is gone or its deadline has passed. */
  readonly canceled: boolean;
  /** Calls back when the client leaves, or at once if it is gone. Returns a function that removes the callback. */
  onCancel(callback: () => void): () => void;
}

const nothing = (): void => {};

/** A client that never leaves. */
export const neverCanceled: Cancellation = { canceled: false, onCancel: () => nothing };

/** Adapts an AbortSignal to a Cancellation. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    get canceled() {
      return signal.aborted;
    },
    onCancel(callback) {
      if (signal.aborted) callback();
      else signal.addEventListener("abort", callback, { once: true });
      return () => signal.removeEventListener("abort", callback);
    },
  };
}

/** A Cancellation with an AbortSignal that is created on first access, because most calls never need one. */
export class LazyAbortController implements Cancellation {
  #controller: AbortController | undefined;
  #callbacks: Set<() => void> | undefined;
  #isCanceled = false;

  get canceled(): boolean {
    return this.#isCanceled;
  }

  /** Abort reason of the signal. Undefined is the default of `AbortController.abort()`. */
  get reason(): unknown {
    return undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCanceled) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  onCancel(callback: () => void): () => void {
    if (this.#isCanceled) callback();
    else {
      this.#callbacks ??= new Set();
      this.#callbacks.add(callback);
    }
    return () => this.#callbacks?.delete(callback);
  }

  /** Fires the signal and calls the callbacks. Has no effect the second time. */
  cancel(): void {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    this.#controller?.abort(this.reason);
    if (this.#callbacks !== undefined) callAll(this.#callbacks);
  }
}

/**
 * Abort reason used after normal completion, when no listener is left. `abort()` without a reason creates an error with
 * its stack each time, which costs more than all listeners.
 */
export const completionReason: Error = /* @__PURE__ */ Object.assign(new Error("It is over."), { name: "AbortError" });

/** Exists in Node.js only. Node.js 20 warns about more than ten listeners. */
const setMaxListeners = globalThis.process?.getBuiltinModule?.("events")?.setMaxListeners;

/** Lets any number of listeners wait for one signal. */
export function share(signal: AbortSignal): void {
  setMaxListeners?.(0, signal);
}
