import type { Audit } from "../audit/audit.js";
import { invalid } from "../core/error.js";
import type { DeadDelivery, PushConfigKey, TaskStore } from "../store/task-store.js";
import type { Dispatcher } from "./dispatcher.js";
import type { PushStatus } from "./dispatcher-options.js";

/** Dead letters on a page unless another number is asked for, and the most. */
const PAGE = 100;
const MAX_PAGE = 1_000;

/**
 * A push configuration that was given up, with its undelivered notifications. Times are milliseconds since the epoch.
 */
export interface DeadLetter extends PushConfigKey {
  readonly tenant: string;
  /** Whom the task belongs to. */
  readonly owner: string;
  /** Scheme, name and port of the webhook. The rest of its URL may be a secret. */
  readonly host: string;
  /** How many entries of the task's log were not delivered, accepted messages among them. */
  readonly undelivered: number;
  /** Why the last try failed. */
  readonly failure: string;
  /** When the failures began; undefined where the first one was the last. */
  readonly failingSince: number | undefined;
  readonly givenUpAt: number;
}

/** Filter of dead letters. */
export interface DeadLetterQuery {
  /** Of one tenant alone. */
  readonly tenant?: string;
  /** Of one owner alone. */
  readonly owner?: string;
  /** The last one of the page before. */
  readonly after?: PushConfigKey;
  /** How many at most, from 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** Status of push notifications, and operations on dead letters. */
export interface PushControl {
  /** Configurations that were given up, in the order of their tasks' ids. Fewer than the limit: that was the last page. */
  deadLetters(query?: DeadLetterQuery): Promise<readonly DeadLetter[]>;
  /**
   * Delivers again what was given up, from where it stopped: of the named ones, or of all.
   * @returns of how many
   */
  redrive(keys?: readonly PushConfigKey[]): Promise<number>;
  /** What is being delivered by this process. */
  status(): PushStatus;
}

/** Of a process that delivers nothing yet. */
const IDLE: PushStatus = { working: 0, waiting: 0, sent: 0, failed: 0, givenUp: 0, failingHosts: [] };

/** @param dispatcher undefined until the server has started */
export function createPushControl(
  dispatcher: () => Dispatcher | undefined,
  { store, audit }: { readonly store: TaskStore; readonly audit?: Audit | undefined },
): PushControl {
  return {
    async deadLetters({ limit = PAGE, ...query } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
        throw invalid([{ field: "limit", description: `must be a whole number from 1 to ${MAX_PAGE}` }]);
      }
      return (await store.listDeadDeliveries({ ...query, limit })).map(toDeadLetter);
    },
    async redrive(keys) {
      const now = dispatcher()?.now() ?? Date.now();
      const count = await store.redriveDeliveries({ now, ...(keys && { keys }) });
      if (count > 0) audit?.record({ event: "push.redriven", count });
      if (count > 0) dispatcher()?.wake();
      return count;
    },
    status: () => dispatcher()?.status ?? IDLE,
  };
}

/** A stored one as it is shown. */
export function toDeadLetter(dead: DeadDelivery): DeadLetter {
  const { taskId, configId, tenant, owner, target: host, failure, failingSince, at: givenUpAt } = dead;
  const undelivered = dead.headPosition - dead.position;
  return { taskId, configId, tenant, owner, host, undelivered, failure, failingSince, givenUpAt };
}
