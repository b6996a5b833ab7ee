import { type DeliveryState, deliveryStates, EXAMINED_DELIVERIES, IDLE, passes } from "./deliveries.js";
import type {
  ClaimedDelivery,
  DeadDelivery,
  DeliveryPage,
  FailedAttempt,
  ListDeliveries,
  PushConfigKey,
  StoredDelivery,
} from "./push-store.js";

type ConfigColumns = [taskId: string, configId: string, tenant: string, owner: string, target: string];

export type DeliveryRow = [
  ...config: ConfigColumns,
  state: number,
  position: number,
  headPosition: number,
  attempts: number,
  failure: string | null,
  failingSince: number | null,
  at: number,
  holder: string | null,
];

/** Fills a page with the rows that pass all filters, of at most `EXAMINED_DELIVERIES` in the order of their keys. */
export function deliveryPage(rows: Iterable<DeliveryRow>, request: ListDeliveries): DeliveryPage {
  const { limit } = request;
  const deliveries: StoredDelivery[] = [];
  let last: PushConfigKey | undefined;
  let examined = 0;
  for (const row of rows) {
    const delivery = toDelivery(row);
    if (passes(delivery, request)) {
      if (deliveries.length === limit) return { deliveries, next: last };
      deliveries.push(delivery);
    }
    last = { taskId: delivery.taskId, configId: delivery.configId };
    examined++;
  }
  return { deliveries, next: examined === EXAMINED_DELIVERIES ? last : undefined };
}

function toDelivery(row: DeliveryRow): StoredDelivery {
  const [taskId, configId, tenant, owner, target, stored, position, headPosition, attempts, ...rest] = row;
  const [failure, failingSince, at, holder] = rest;
  return {
    ...{ taskId, configId, tenant, owner, target, position, headPosition, attempts },
    // Only values of this type are written.
    state: deliveryStates[stored as DeliveryState],
    failure: failure ?? "",
    failingSince: failingSince ?? undefined,
    at: stored === IDLE ? undefined : at,
    holder: holder ?? undefined,
  };
}

export type DeadRow = [
  ...config: ConfigColumns,
  position: number,
  headPosition: number,
  failure: string | null,
  failingSince: number | null,
  at: number,
  bytes: Uint8Array,
];

export function toDead(row: DeadRow): DeadDelivery {
  const [taskId, configId, tenant, owner, target, position, headPosition, failure, failingSince, at, bytes] = row;
  return {
    ...{ taskId, configId, tenant, owner, target, position, headPosition, at },
    failure: failure ?? "",
    failingSince: failingSince ?? undefined,
    bytes: new Uint8Array(bytes),
  };
}

/** Columns of a claimed configuration that both databases have. */
type ClaimedColumns = [
  ...config: ConfigColumns,
  position: number,
  headPosition: number,
  attempts: number,
  failingSince: number | null,
];

/** A claimed configuration: the number of its claim, its bytes or their number, and its columns. */
export type ClaimedRow<Bytes> = [claim: number, bytes: Bytes, ...ClaimedColumns];

export function toClaimed(row: Readonly<ClaimedRow<unknown>>, bytes: Uint8Array): ClaimedDelivery {
  const [claim, , taskId, configId, tenant, owner, target, position, headPosition, attempts, since] = row;
  const failingSince = since ?? undefined;
  return { taskId, configId, tenant, owner, target, position, headPosition, attempts, failingSince, claim, bytes };
}

/** A failed attempt as a row of a database. */
export type AttemptRow = [
  time: number,
  durationMs: number,
  generation: number,
  status: number,
  answer: string,
  failure: string,
  holder: string,
];

export function toAttempt([time, durationMs, generation, status, answer, failure, holder]: AttemptRow): FailedAttempt {
  return { time, durationMs, generation, status, answer, failure, holder };
}
