import { ConnectError } from "@connectrpc/connect";
import { A2AError } from "../../core/error.js";
import { MAX_TIMEOUT_MS } from "../../wire/timeout.js";
import { clientError, connectErrorOf } from "../errors.js";
import { isNever, never } from "../never.js";
import { share } from "../shared-signal.js";

/** How long a call lasts: until its caller stops it, its deadline passes, or it is over. */
export class Life {
  /** Aborted by the caller or the deadline. */
  readonly signal: AbortSignal;
  readonly #outer: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #controller: AbortController | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeoutMs undefined, 0 and less: there is no deadline */
  constructor(outer: AbortSignal | undefined, timeoutMs = 0) {
    this.#timeoutMs = timeoutMs;
    if (outer !== undefined) share(outer);
    if (!(timeoutMs > 0)) {
      this.signal = outer ?? never;
      return;
    }
    this.#outer = outer;
    this.#controller = new AbortController();
    this.signal = this.#controller.signal;
    if (outer?.aborted) this.#controller.abort(outer.reason);
    outer?.addEventListener("abort", this.#onAbort);
    if (timeoutMs <= MAX_TIMEOUT_MS) this.#timer = setTimeout(Life.#onTimeout, timeoutMs, this);
  }

  /** No timer and no listener are left of it. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** What the call failed with: that it was stopped, where it was, whatever came of that. */
  errorOf(error: unknown): ConnectError {
    if (!isNever(this.signal) && this.signal.aborted) return stopped(this.signal.reason);
    return error instanceof ConnectError ? error : connectErrorOf(clientError(error));
  }

  /** The messages of a stream that lasts as long, and ends with it. */
  during<M>(messages: AsyncIterable<M>): AsyncIterable<M> {
    return { [Symbol.asyncIterator]: () => new Lasting(this, messages[Symbol.asyncIterator]()) };
  }

  readonly #onAbort = (): void => this.#controller?.abort(this.#outer?.reason);

  static #onTimeout(this: void, life: Life): void {
    const message = `There was no answer within ${life.#timeoutMs} ms.`;
    life.#controller?.abort(new A2AError("DEADLINE_EXCEEDED", message));
  }
}

function stopped(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const known = reason instanceof A2AError || (reason as { name?: unknown } | undefined)?.name === "TimeoutError";
  const error = known ? clientError(reason) : new A2AError("CANCELLED", "The call was cancelled.", { cause: reason });
  return connectErrorOf(error);
}

class Lasting<M> implements AsyncIterator<M> {
  readonly #life: Life;
  readonly #inner: AsyncIterator<M>;

  constructor(life: Life, inner: AsyncIterator<M>) {
    this.#life = life;
    this.#inner = inner;
  }

  async next(): Promise<IteratorResult<M>> {
    const { signal } = this.#life;
    try {
      if (!isNever(signal) && signal.aborted) {
        await this.#inner.return?.();
        throw signal.reason;
      }
      const result = await this.#inner.next();
      if (result.done === true) this.#life.end();
      return result;
    } catch (error) {
      this.#life.end();
      throw this.#life.errorOf(error);
    }
  }

  async return(): Promise<IteratorResult<M>> {
    this.#life.end();
    await this.#inner.return?.();
    return { done: true, value: undefined };
  }
}
