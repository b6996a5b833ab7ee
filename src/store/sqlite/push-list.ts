import { DEAD, EXAMINED_DELIVERIES } from "../deliveries.js";
import { type DeliveryRow, deliveryPage } from "../delivery-rows.js";
import { compareIds } from "../order.js";
import type { DeliveryPage, ListDeliveries } from "../push-store.js";
import type { Database } from "./driver/driver.js";

const COLUMNS =
  "p.task_id, p.config_id, h.tenant, h.owner, p.target, p.state, p.position, h.position AS head_position, p.attempts, " +
  "p.failure, p.failing_since, p.at, p.holder";

function listBy(index: string, where: string, after = "(p.task_id, p.config_id) > (?, ?)"): string {
  return (
    `SELECT ${COLUMNS} FROM push_config p INDEXED BY ${index} CROSS JOIN head h ON h.task_id = p.task_id ` +
    `WHERE ${where} AND ${after} ORDER BY p.task_id, p.config_id LIMIT ${EXAMINED_DELIVERIES}`
  );
}

const ALL = listBy("push_config_by_id", "true");
const OF_TASK = listBy("push_config_by_id", "p.task_id = ?", "p.config_id > ?");
const DEAD_ONES = listBy("push_dead", `p.state = ${DEAD}`);
const OF_TARGET = listBy("push_of_target", "p.target = ?");
const OF_OWNER = listBy("push_of_owner", "p.owner = ?");

/** Lists deliveries by the index that fits the filters best; the other filters are applied to the rows that it yields. */
export function listDeliveries(db: Database, request: ListDeliveries): DeliveryPage {
  return deliveryPage(rowsOf(db, request), request);
}

function rowsOf(db: Database, { taskId, states = [], target, owner, after }: ListDeliveries): Iterable<DeliveryRow> {
  const key = [after?.taskId ?? "", after?.configId ?? ""] as const;
  if (taskId !== undefined) {
    const order = compareIds(key[0], taskId);
    return order > 0 ? [] : db.rows<DeliveryRow>(OF_TASK).iterate(taskId, order < 0 ? "" : key[1]);
  }
  if (states.length > 0 && states.every((state) => state === "dead")) {
    return db.rows<DeliveryRow>(DEAD_ONES).iterate(...key);
  }
  if (target !== undefined) return db.rows<DeliveryRow>(OF_TARGET).iterate(target, ...key);
  if (owner !== undefined) return db.rows<DeliveryRow>(OF_OWNER).iterate(owner, ...key);
  return db.rows<DeliveryRow>(ALL).iterate(...key);
}
