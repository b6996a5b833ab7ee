import { A2AError } from "../../core/error.js";
import { Life } from "../transport/life.js";
import type { CallOptions } from "./call-options.js";
import { givenUp, pause } from "./retry.js";

/** Lifetime of a call with several attempts. */
export class Lifetime extends Life {
  constructor({ signal, timeoutMs }: CallOptions) {
    super(signal, timeoutMs);
  }

  /** @throws A2AError CANCELLED or DEADLINE_EXCEEDED after the end */
  check(): void {
    if (this.aborted) throw this.failure();
  }

  /** Returns the error that says how it ended. */
  failure(): A2AError {
    return givenUp(this);
  }

  /** Waits. @throws A2AError CANCELLED or DEADLINE_EXCEEDED as soon as it ends */
  pause(ms: number): Promise<void> {
    return pause(ms, this.signal);
  }

  protected override late(): A2AError {
    return new A2AError("DEADLINE_EXCEEDED", "The call did not end in time; what it began goes on.");
  }
}

/** Returns options for the rest of a call that began at `startedAt`, by `performance.now()`. */
export function since<T extends CallOptions>(startedAt: number, options: T): T {
  const { timeoutMs = 0 } = options;
  if (timeoutMs <= 0) return options;
  return { ...options, timeoutMs: Math.max(1, Math.ceil(startedAt + timeoutMs - performance.now())) };
}
