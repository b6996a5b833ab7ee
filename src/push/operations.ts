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
   * Resumes dead deliveries from where they stopped: the named ones, or all that match the filters. Named ones that wait
   * for their next attempt are attempted at once.
   * @param cause the operator's call, for the audit log
   * @returns the number of configurations
   */
  redrive(request: Omit<RedriveDeliveries, "now">, cause?: LogCause): Promise<number>;
  /** Attempts of this process that are not stored, in no particular order: see `AttemptRing`. */
  attemptsOf(key: PushConfigKey): readonly Attempt[];
  /** See `OperatorSends.send`. @throws A2AError also UNAVAILABLE before the server has started */
  send(event: OperatorEvent): Promise<Attempt>;
}

/** Bounds of a redrive. */
export const redriveBounds = {
  /** Configurations that are redriven task by task, each task with an audit record. */
  named: 1_000,
  /** Tasks that are redriven at once. */
  parallel: 32,
} as const;

interface OperationParts {
  readonly store: TaskStore;
  readonly audit?: Audit | undefined;
  /** Returns the name of the agent that serves a tenant. */
  readonly agentName?: (tenant: string) => string | undefined;
}

/** @param dispatcher undefined until the server has started */
export function createPushOperations(
  dispatcher: () => Pick<Dispatcher, "now" | "wake" | "send" | "attemptsOf"> | undefined,
  parts: OperationParts,
): PushOperations {
  return {
    async redrive(request, cause = {}) {
      const now = dispatcher()?.now() ?? Date.now();
      try {
        return await redrive(parts, { ...request, now }, cause);
      } finally {
        // A failed redrive may have made some deliveries due.
        dispatcher()?.wake();
      }
    },
    attemptsOf: (key) => dispatcher()?.attemptsOf(key) ?? [],
    async send(event) {
      const sender = dispatcher();
      if (sender !== undefined) return sender.send(event);
      throw new A2AError("UNAVAILABLE", "The server has not started yet.", { retryAfterMs: 1_000 });
    },
  };
}

/** Redrives the first `redriveBounds.named` configurations task by task, and all others at once. */
async function redrive(parts: OperationParts, request: RedriveDeliveries, cause: LogCause): Promise<number> {
  const { store, audit } = parts;
  const { now, keys, ...filter } = request;
  const limit = redriveBounds.named;
  const named = keys?.slice(0, limit) ?? (await store.listDeadDeliveries({ ...filter, limit }));
  const tasks = byTask(named);
  let count = 0;
  for (let first = 0; first < tasks.length; first += redriveBounds.parallel) {
    const some = tasks.slice(first, first + redriveBounds.parallel);
    const counts = await Promise.all(some.map(([taskId, of]) => redriveTask(parts, { taskId, now, keys: of }, cause)));
    count += counts.reduce((sum, each) => sum + each, 0);
  }
  if (named.length < limit) return count;
  const others = await store.redriveDeliveries(keys === undefined ? request : { now, keys: keys.slice(limit) });
  if (others > 0) audit?.record({ event: "push.redriven", count: others, ...logFacts(cause) });
  return count + others;
}

function byTask(keys: readonly PushConfigKey[]): [taskId: string, keys: PushConfigKey[]][] {
  const tasks = new Map<string, PushConfigKey[]>();
  for (const { taskId, configId } of keys) {
    const of = tasks.get(taskId);
    if (of === undefined) tasks.set(taskId, [{ taskId, configId }]);
    else of.push({ taskId, configId });
  }
  return [...tasks];
}

/** Redrives configurations of one task, and records it. */
async function redriveTask(
  { store, audit, agentName }: OperationParts,
  { taskId, ...request }: RedriveDeliveries & { readonly taskId: string },
  { requestId, traceParent }: LogCause,
): Promise<number> {
  const count = await store.redriveDeliveries(request);
  if (count === 0 || audit === undefined) return count;
  // The row is missing if the task was removed meanwhile or the store fails. The record then lacks owner and agent.
  const head = await store.head({ taskId }).catch(() => undefined);
  const facts = logFacts({ requestId, traceParent, taskId, agent: head && agentName?.(head.tenant) });
  audit.record({ event: "push.redriven", owner: head?.owner, tenant: head?.tenant, count, ...facts });
  return count;
}
