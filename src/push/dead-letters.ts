import { invalid } from "../core/error.js";
import type { DeadDelivery, PushConfigKey, TaskStore } from "../store/task-store.js";
import type { Dispatcher } from "./dispatcher.js";
import type { PushStatus } from "./dispatcher-options.js";
import type { PushOperations } from "./operations.js";

/** Default and maximum number of dead letters on a page. */
const PAGE = 100;
const MAX_PAGE = 1_000;

/** A dead push configuration with undelivered notifications. Times are milliseconds since the epoch. */
export interface DeadLetter extends PushConfigKey {
  readonly tenant: string;
  /** Owner of the task. */
  readonly owner: string;
  /** Origin of the webhook: scheme, name and port. The rest of its URL may be a secret. */
  readonly host: string;
  /** Number of undelivered log entries of the task, including accepted messages. */
  readonly undelivered: number;
  /** Reason of the last failure. */
  readonly failure: string;
  /** Time of the first failure; undefined if it was also the last. */
  readonly failingSince: number | undefined;
  readonly givenUpAt: number;
}

/** Filter of dead letters. */
export interface DeadLetterQuery {
  /** Restricts to one tenant. */
  readonly tenant?: string;
  /** Restricts to one owner. */
  readonly owner?: string;
  /** Cursor: the last one of the previous page. */
  readonly after?: PushConfigKey;
  /** Maximum number, from 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** Status of push notifications, and operations on dead letters. */
export interface PushControl {
  /** Dead configurations, ordered by task id. Fewer than the limit means the last page. */
  deadLetters(query?: DeadLetterQuery): Promise<readonly DeadLetter[]>;
  /**
   * Resumes dead deliveries from where they stopped: the named ones, or all. Named ones that wait for their next attempt
   * are attempted at once.
   * @returns the number of configurations
   */
  redrive(keys?: readonly PushConfigKey[]): Promise<number>;
  /** Status of this process's deliveries. */
  status(): PushStatus;
}

/** Status before the server starts. */
const IDLE: PushStatus = { working: 0, waiting: 0, sent: 0, failed: 0, givenUp: 0, failingHosts: [] };

/**
 * @param operations of the same server
 * @param dispatcher undefined until the server has started
 */
export function createPushControl(
  operations: Pick<PushOperations, "redrive">,
  dispatcher: () => Dispatcher | undefined,
  { store }: { readonly store: TaskStore },
): PushControl {
  return {
    async deadLetters({ limit = PAGE, ...query } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
        throw invalid([{ field: "limit", description: `must be a whole number from 1 to ${MAX_PAGE}` }]);
      }
      return (await store.listDeadDeliveries({ ...query, limit })).map(toDeadLetter);
    },
    redrive: (keys) => operations.redrive({ keys }),
    status: () => dispatcher()?.status ?? IDLE,
  };
}

/** Converts a dead delivery to its public form. */
function toDeadLetter(dead: DeadDelivery): DeadLetter {
  const { taskId, configId, tenant, owner, target: host, failure, failingSince, at: givenUpAt } = dead;
  const undelivered = dead.headPosition - dead.position;
  return { taskId, configId, tenant, owner, host, undelivered, failure, failingSince, givenUpAt };
}
