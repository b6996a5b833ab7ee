import { ConnectError } from "@connectrpc/connect";
import { share } from "../../core/cancellation.js";
import { A2AError } from "../../core/error.js";
import { mapStream } from "../../core/map-stream.js";
import { MAX_TIMEOUT_MS } from "../../wire/service-params.js";
import type { Stop } from "../calls/stop.js";
import { clientError, connectErrorOf } from "../errors/errors.js";

/** Lifetime of a call: until its caller aborts it, its deadline passes, or it ends. */
export class Life implements Stop {
  readonly #outer: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  #reason: unknown;
  #listeners: readonly (() => void)[] = [];
  #controller: AbortController | undefined;

  /** @param timeoutMs undefined, 0 or negative for no deadline */
  constructor(outer: AbortSignal | undefined, timeoutMs = 0) {
    this.#outer = outer;
    this.#timeoutMs = timeoutMs;
    if (outer !== undefined) share(outer);
    if (!this.#hasDeadline) return;
    if (outer?.aborted) this.#stop(outer.reason);
    outer?.addEventListener("abort", this.#onAbort);
    if (timeoutMs <= MAX_TIMEOUT_MS) this.#timer = setTimeout(Life.#onTimeout, timeoutMs, this);
  }

  get aborted(): boolean {
    return this.#hasDeadline ? this.#isStopped : this.#outer?.aborted === true;
  }

  get reason(): unknown {
    return this.#hasDeadline ? this.#reason : this.#outer?.reason;
  }

  addEventListener(type: "abort", listener: () => void): void {
    if (this.#hasDeadline) this.#listeners = [...this.#listeners, listener];
    else this.#outer?.addEventListener(type, listener);
  }

  removeEventListener(type: "abort", listener: () => void): void {
    if (this.#hasDeadline) this.#listeners = this.#listeners.filter((each) => each !== listener);
    else this.#outer?.removeEventListener(type, listener);
  }

  /** The same as an AbortSignal, created on demand. */
  get signal(): AbortSignal {
    if (!this.#hasDeadline && this.#outer !== undefined) return this.#outer;
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isStopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Removes its timer and listener. */
  end(): void {
    clearTimeout(this.#timer);
    if (this.#hasDeadline) this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** Converts the error of a call. An aborted call gets the error of its abort, whatever followed. */
  errorOf(error: unknown): ConnectError {
    if (this.aborted) return stopped(this.reason);
    return error instanceof ConnectError ? error : connectErrorOf(clientError(error));
  }

  /** Bounds a stream's messages by this lifetime, which ends with them. */
  during<M>(messages: AsyncIterable<M>): AsyncIterable<M> {
    return mapStream(messages, {
      item: (message) => {
        if (this.aborted) throw this.reason;
        return message;
      },
      failed: (error) => this.errorOf(error),
      end: () => this.end(),
    });
  }

  /** Returns the error of a passed deadline. */
  protected late(): A2AError {
    return new A2AError("DEADLINE_EXCEEDED", `There was no answer within ${this.#timeoutMs} ms.`);
  }

  get #hasDeadline(): boolean {
    return this.#timeoutMs > 0;
  }

  readonly #onAbort = (): void => this.#stop(this.#outer?.reason);

  #stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener();
  }

  static #onTimeout(this: void, life: Life): void {
    life.#stop(life.late());
  }
}

function stopped(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const known = reason instanceof A2AError || (reason as { name?: unknown } | undefined)?.name === "TimeoutError";
  const error = known ? clientError(reason) : new A2AError("CANCELLED", "The call was cancelled.", { cause: reason });
  return connectErrorOf(error);
}
