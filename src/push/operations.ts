import type { Audit } from "../audit/audit.js";
import { A2AError } from "../core/error.js";
import { type LogCause, logFacts } from "../core/log.js";
import type { PushConfigKey, RedriveDeliveries, TaskStore } from "../store/task-store.js";
import type { Attempt } from "./attempt-history.js";
import type { Dispatcher } from "./dispatcher.js";
import type { OperatorEvent } from "./operator-sends.js";

/** The part of push notifications that the operator's service uses. */
export interface PushOperations {
  /**
   * Resumes dead deliveries from where they stopped: the named ones, or all that match the filters.
   * @param cause the operator's call, for the audit log
   * @returns the number of configurations
   */
  redrive(request: Omit<RedriveDeliveries, "now">, cause?: LogCause): Promise<number>;
  /** Attempts of this process that are not stored, in no particular order: see `AttemptRing`. */
  attemptsOf(key: PushConfigKey): readonly Attempt[];
  /** See `OperatorSends.send`. @throws A2AError also UNAVAILABLE before the server has started */
  send(event: OperatorEvent): Promise<Attempt>;
}

/** @param dispatcher undefined until the server has started */
export function createPushOperations(
  dispatcher: () => Pick<Dispatcher, "now" | "wake" | "send" | "attemptsOf"> | undefined,
  { store, audit }: { readonly store: TaskStore; readonly audit?: Audit | undefined },
): PushOperations {
  return {
    async redrive(request, cause = {}) {
      const now = dispatcher()?.now() ?? Date.now();
      const count = await store.redriveDeliveries({ ...request, now });
      if (count > 0) audit?.record({ event: "push.redriven", count, ...logFacts(cause) });
      if (count > 0) dispatcher()?.wake();
      return count;
    },
    attemptsOf: (key) => dispatcher()?.attemptsOf(key) ?? [],
    async send(event) {
      const sender = dispatcher();
      if (sender !== undefined) return sender.send(event);
      throw new A2AError("UNAVAILABLE", "The server has not started yet.", { retryAfterMs: 1_000 });
    },
  };
}
