import { DEAD, type DeliveryState, deliveryStates, EXAMINED_DELIVERIES, IDLE, passes } from "../deliveries.js";
import type { DeadDelivery, DeadDeliveryRequest, DeliveryPage, ListDeliveries } from "../push-store.js";
import type { FailedAttempt, PushConfigKey, StoredDelivery, StoredPushConfig } from "../task-store.js";
import { type Database, first, type Value } from "./database.js";
import { lastSegment } from "./heads.js";

type ConfigRow = [configId: string, bytes: Uint8Array, position: number];
type AttemptRow = [number, number, number, number, string, string, string];

type DeliveryRow = [
  taskId: string,
  configId: string,
  tenant: string,
  owner: string,
  target: string,
  position: number,
  headPosition: number,
  failure: string | null,
  failingSince: number | null,
  at: number,
  state: DeliveryState,
  attempts: number,
  holder: string | null,
  bytes: Uint8Array | null,
];

/** Reads of push configurations and deliveries. */
export class PushLists {
  readonly #database: Database;
  readonly #s: string;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#s = schema;
  }

  async get({ taskId, configId }: PushConfigKey): Promise<StoredPushConfig | undefined> {
    const sql = `SELECT config_id, bytes, position FROM ${this.#s}.push_config WHERE task_id = $1 AND config_id = $2`;
    const row = await first(this.#database.query<ConfigRow>(sql, [taskId, configId]));
    return row && { bytes: row[1], position: row[2] };
  }

  async ofTask(request: {
    readonly taskId: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<{ configId: string; config: StoredPushConfig }[]> {
    const sql =
      `SELECT config_id, bytes, position FROM ${this.#s}.push_config WHERE task_id = $1 AND config_id > $2 ` +
      "ORDER BY config_id LIMIT $3";
    const rows = await this.#database.query<ConfigRow>(sql, [request.taskId, request.after, request.limit]);
    return rows.map(([configId, bytes, position]) => ({ configId, config: { bytes, position } }));
  }

  async scan({
    after,
    limit,
  }: {
    readonly after?: PushConfigKey;
    readonly limit: number;
  }): Promise<(PushConfigKey & { readonly bytes: Uint8Array })[]> {
    const sql =
      `SELECT task_id, config_id, bytes FROM ${this.#s}.push_config WHERE (task_id, config_id) > ($1, $2) ` +
      "ORDER BY task_id, config_id LIMIT $3";
    const values = [after?.taskId ?? "", after?.configId ?? "", limit];
    const rows = await this.#database.query<[string, string, Uint8Array]>(sql, values);
    return rows.map(([taskId, configId, bytes]) => ({ taskId, configId, bytes }));
  }

  async attempts({ taskId, configId }: PushConfigKey): Promise<FailedAttempt[]> {
    const rows = await this.#database.query<AttemptRow>(
      `SELECT time, duration_ms, generation, status, answer, failure, holder FROM ${this.#s}.push_attempt ` +
        "WHERE task_id = $1 AND config_id = $2 ORDER BY number DESC",
      [taskId, configId],
    );
    return rows.map(([time, durationMs, generation, status, answer, failure, holder]) => ({
      ...{ time, durationMs: Number(durationMs), generation, status, answer, failure, holder },
    }));
  }

  async dead({ tenant, owner, target, after, limit }: DeadDeliveryRequest): Promise<DeadDelivery[]> {
    const rows = await this.#rows({ states: ["dead"], tenant, owner, target, after, limit }, limit, "p.bytes");
    return rows.map((row) => {
      const { at = 0, failingSince, failure, ...rest } = toDelivery(row);
      const { taskId, configId, position, headPosition } = rest;
      const bytes = row[13] ?? new Uint8Array(0);
      return {
        ...{ taskId, configId, tenant: rest.tenant, owner: rest.owner, target: rest.target },
        ...{ position, headPosition, failure, failingSince, at, bytes },
      };
    });
  }

  async list(request: ListDeliveries): Promise<DeliveryPage> {
    const { limit } = request;
    const deliveries: StoredDelivery[] = [];
    let last: PushConfigKey | undefined;
    const rows = await this.#examined(request);
    for (const row of rows) {
      const delivery = toDelivery(row);
      if (passes(delivery, request)) {
        if (deliveries.length === limit) return { deliveries, next: last };
        deliveries.push(delivery);
      }
      last = { taskId: delivery.taskId, configId: delivery.configId };
    }
    return { deliveries, next: rows.length === EXAMINED_DELIVERIES ? last : undefined };
  }

  /** Rows by the filter with the best index; the caller applies the others. */
  #examined(request: ListDeliveries): Promise<DeliveryRow[]> {
    const { states = [], taskId, target, owner, after } = request;
    const limit = EXAMINED_DELIVERIES;
    const page = after === undefined ? { limit } : { limit, after };
    if (taskId !== undefined) return this.#rows({ ...page, taskId }, limit);
    if (states.length > 0 && states.every((state) => state === "dead")) {
      return this.#rows({ ...page, states: ["dead"] }, limit);
    }
    if (target !== undefined) return this.#rows({ ...page, target }, limit);
    if (owner !== undefined) return this.#rows({ ...page, owner }, limit);
    return this.#rows(page, limit);
  }

  /** Rows that match all filters, in the order of their keys. `states` is empty or `dead`. */
  async #rows(request: ListDeliveries, limit: number, bytes = "NULL"): Promise<DeliveryRow[]> {
    const values: Value[] = [request.after?.taskId ?? "", request.after?.configId ?? "", limit];
    let where = "(p.task_id, p.config_id) > ($1, $2)";
    const filters = [
      ["p.task_id", request.taskId],
      ["p.tenant", request.tenant],
      ["p.owner", request.owner],
      ["p.target", request.target],
    ] as const;
    for (const [column, value] of filters) if (value !== undefined) where += ` AND ${column} = $${values.push(value)}`;
    if (request.states !== undefined && request.states.length > 0) where += ` AND p.state = ${DEAD}`;
    return this.#database.query<DeliveryRow>(
      "SELECT p.task_id, p.config_id, p.tenant, p.owner, p.target, p.position, l.last, p.failure, p.failing_since, p.at, " +
        `p.state, p.attempts, p.holder, ${bytes} FROM (SELECT * FROM ${this.#s}.push_config p WHERE ${where} ` +
        `ORDER BY p.task_id, p.config_id LIMIT $3) p JOIN ${this.#s}.task t ON t.task_id = p.task_id ` +
        `${lastSegment(this.#s)} ORDER BY p.task_id, p.config_id`,
      values,
    );
  }
}

function toDelivery(row: DeliveryRow): StoredDelivery {
  const [taskId, configId, tenant, owner, target, position, headPosition, failure, since, at, state, attempts, holder] =
    row;
  return {
    ...{ taskId, configId, tenant, owner, target, position, headPosition, attempts },
    state: deliveryStates[state],
    failure: failure ?? "",
    failingSince: since ?? undefined,
    at: state === IDLE ? undefined : at,
    holder: holder ?? undefined,
  };
}
