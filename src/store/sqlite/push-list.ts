import { DEAD, EXAMINED_DELIVERIES } from "../deliveries.js";
import { type DeliveryRow, deliveryPage } from "../delivery-rows.js";
import { compareIds } from "../order.js";
import type { DeliveryPage, ListDeliveries } from "../push-store.js";
import type { Database, Query } from "./driver/driver.js";

const COLUMNS =
  "p.task_id, p.config_id, h.tenant, h.owner, p.target, p.state, p.position, h.position AS head_position, p.attempts, " +
  "p.failure, p.failing_since, p.at, p.holder";

type ListQuery = Query<(string | number)[], DeliveryRow>;

/** Lists deliveries by the index that fits the filters best; the other filters are applied to the rows that it yields. */
export class DeliveryLists {
  readonly #all: ListQuery;
  readonly #ofTask: ListQuery;
  readonly #dead: ListQuery;
  readonly #ofTarget: ListQuery;
  readonly #ofOwner: ListQuery;

  constructor(db: Database) {
    const by = (index: string, where: string, after = "(p.task_id, p.config_id) > (?, ?)"): ListQuery =>
      db.rows(
        `SELECT ${COLUMNS} FROM push_config p INDEXED BY ${index} CROSS JOIN head h ON h.task_id = p.task_id ` +
          `WHERE ${where} AND ${after} ORDER BY p.task_id, p.config_id LIMIT ${EXAMINED_DELIVERIES}`,
      );
    this.#all = by("push_config_by_id", "true");
    this.#ofTask = by("push_config_by_id", "p.task_id = ?", "p.config_id > ?");
    this.#dead = by("push_dead", `p.state = ${DEAD}`);
    this.#ofTarget = by("push_of_target", "p.target = ?");
    this.#ofOwner = by("push_of_owner", "p.owner = ?");
  }

  page(request: ListDeliveries): DeliveryPage {
    return deliveryPage(this.#rows(request), request);
  }

  #rows({ taskId, states = [], target, owner, after }: ListDeliveries): Iterable<DeliveryRow> {
    const key = [after?.taskId ?? "", after?.configId ?? ""] as const;
    if (taskId !== undefined) {
      const order = compareIds(key[0], taskId);
      return order > 0 ? [] : this.#ofTask.iterate(taskId, order < 0 ? "" : key[1]);
    }
    if (states.length > 0 && states.every((state) => state === "dead")) return this.#dead.iterate(...key);
    if (target !== undefined) return this.#ofTarget.iterate(target, ...key);
    if (owner !== undefined) return this.#ofOwner.iterate(owner, ...key);
    return this.#all.iterate(...key);
  }
}
