import { tooManyPushConfigs } from "../check.js";
import {
  advanced,
  attemptOf,
  counts,
  DEAD,
  type Delivery,
  DUE,
  deliveryFrom,
  IDLE,
  redriven,
  STORED_ATTEMPTS,
  settled,
} from "../deliveries.js";
import type { AttemptRow } from "../delivery-rows.js";
import type { DeliveryProgress, FailedAttempt, NewPushConfig, PushConfigKey } from "../push-store.js";
import { type OwnerTotals, ownerTotalsIn } from "./counters.js";
import type { Command, Database, Query } from "./driver/driver.js";
import { type PushedTask, type PushRow, pushedTaskQuery, pushRowQuery } from "./push-rows.js";
import type { AppendWrite, WriteRequest, WriteResult } from "./write.js";

type Nullable = string | number | null;

/** Values of `head.pushed`: no configurations, some, and some due although the task is finished. */
const NONE = 0;
const SOME = 1;
const UNDELIVERED = 2;

/** Configurations that one transaction reschedules, so that other writes wait only briefly. */
export const RESCHEDULE_STEP = 1_000;

/**
 * Push configurations, inside a transaction that holds the write lock, so that two processes never claim the same one.
 * Only of existing tasks: a configuration added after the removal of its task would never be removed.
 */
export class PushConfigs {
  readonly #row: (taskId: string, configId: string) => PushRow | undefined;
  readonly #task: (taskId: string) => PushedTask | undefined;
  readonly #attempts: PushAttempts;
  readonly #insert: Command<[string, string, string, string, number, number, number, Uint8Array]>;
  readonly #replace: Command<[string, Uint8Array, number]>;
  readonly #rewrite: Command<[Uint8Array, string, string, Uint8Array]>;
  readonly #save: Command<Nullable[]>;
  readonly #advance: Command<[number, string]>;
  readonly #delete: Command<[number]>;
  readonly #mark: Command<[number, string]>;
  readonly #any: Query<[string], number>;
  readonly #anyDue: Query<[string], number>;
  readonly #last: Query<[string, number], number>;
  readonly #ofOwner: Query<[string, string], number>;
  readonly #totals: OwnerTotals;
  readonly #count: Command<[string, string, number]>;
  readonly #forget: Command<[string, string]>;
  readonly #counted: Query<[string], number>;
  readonly #all: Query<[string], number>;
  readonly #reschedule: Command<[number, number, number]>;
  readonly #rescheduleHeld: Command<[number, number]>;

  constructor(db: Database) {
    this.#row = pushRowQuery(db);
    this.#task = pushedTaskQuery(db);
    this.#attempts = new PushAttempts(db);
    this.#insert = db.command(
      "INSERT INTO push_config (task_id, config_id, owner, target, position, state, at, attempts, bytes) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
    );
    this.#replace = db.command("UPDATE push_config SET target = ?, bytes = ? WHERE id = ?");
    this.#rewrite = db.command("UPDATE push_config SET bytes = ? WHERE task_id = ? AND config_id = ? AND bytes = ?");
    this.#save = db.command(
      "UPDATE push_config SET position = ?, state = ?, at = ?, attempts = ?, failing_since = ?, failure = ?, " +
        "holder = ?, claim = ? WHERE id = ?",
    );
    this.#advance = db.command(`UPDATE push_config SET state = ${DUE}, at = ? WHERE task_id = ? AND state = ${IDLE}`);
    this.#delete = db.command("DELETE FROM push_config WHERE id = ?");
    this.#mark = db.command("UPDATE head SET pushed = ? WHERE task_id = ?");
    this.#any = db.values("SELECT 1 FROM push_config WHERE task_id = ? LIMIT 1");
    this.#anyDue = db.values(`SELECT 1 FROM push_config WHERE task_id = ? AND state = ${DUE} LIMIT 1`);
    this.#last = db.values("SELECT 1 FROM push_config WHERE task_id = ? LIMIT 1 OFFSET ?");
    this.#totals = ownerTotalsIn(db);
    this.#ofOwner = db.values("SELECT configs FROM push_owner WHERE tenant = ? AND owner = ?");
    this.#count = db.command(
      "INSERT INTO push_owner (tenant, owner, configs) VALUES (?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET configs = configs + excluded.configs",
    );
    this.#forget = db.command("DELETE FROM push_owner WHERE tenant = ? AND owner = ? AND configs <= 0");
    this.#counted = db.values(`SELECT count(*) FROM push_config WHERE task_id = ? AND state <> ${IDLE}`);
    this.#all = db.values("SELECT count(*) FROM push_config WHERE task_id = ?");
    this.#reschedule = db.command(
      "UPDATE push_config SET at = ? WHERE id IN (SELECT id FROM push_config INDEXED BY push_due " +
        `WHERE state = ${DUE} AND holder IS NULL AND at > ? LIMIT ?)`,
    );
    this.#rescheduleHeld = db.command(
      "UPDATE push_config INDEXED BY push_held SET at = ? WHERE holder IS NOT NULL AND at > ?",
    );
  }

  /** Checks an append's configuration before anything is changed. @throws StoreError `too-many-push-configs` */
  check({ head, pushConfig }: AppendWrite, isThere: boolean): void {
    if (pushConfig === undefined) return;
    const known = isThere ? this.#row(head.taskId, pushConfig.configId) : undefined;
    const tooManyOf = known === undefined ? this.#tooManyOf({ ...head, finished: false }, pushConfig) : undefined;
    if (tooManyOf !== undefined) throw tooManyPushConfigs(head.taskId, tooManyOf);
  }

  /**
   * Makes the task's idle configurations due, and puts the append's configuration.
   * @param pushed the previous `head.pushed`
   */
  appended({ head, expected, finishes, pushConfig, time }: AppendWrite, pushed: number): void {
    const { taskId } = head;
    if (pushed !== NONE) this.#advance.run(time, taskId);
    const task = { ...head, finished: finishes, pushed };
    if (pushConfig !== undefined) this.#put(task, pushConfig, expected, time);
    else if (finishes) this.#remark(task);
  }

  put(request: WriteRequest<"putPushConfig">): WriteResult<"putPushConfig"> {
    const task = this.#task(request.taskId);
    if (task === undefined) return "no-task";
    const isNew = this.#row(task.taskId, request.configId) === undefined;
    const tooManyOf = isNew ? this.#tooManyOf(task, request) : undefined;
    if (tooManyOf !== undefined) return `too-many-of-${tooManyOf}`;
    this.#put(task, request, task.position, request.now);
    return "put";
  }

  rewrite({ taskId, configId, from, to }: WriteRequest<"rewritePushConfig">): boolean {
    return this.#rewrite.run(to, taskId, configId, from).changes > 0;
  }

  delete({ taskId, configId }: WriteRequest<"deletePushConfig">): void {
    const row = this.#row(taskId, configId);
    if (row === undefined) return;
    this.#delete.run(row.id);
    this.#attempts.forget({ taskId, configId });
    if (counts(row.delivery.state, row.task.finished)) this.#countMore(row.task, -1);
    this.#remark(row.task);
  }

  savePosition(request: WriteRequest<"savePushPosition">): WriteResult<"savePushPosition"> {
    const row = this.#claimed(request);
    if (row === undefined) return "lost";
    const delivery = advanced(row.delivery, request.position);
    if (delivery !== row.delivery) this.#saveRow(row, delivery, row.holder, row.claim);
    return "saved";
  }

  settle(request: WriteRequest<"settleDelivery">): WriteResult<"settleDelivery"> {
    const row = this.#claimed(request);
    if (row === undefined) return "lost";
    const moved = advanced(row.delivery, request.position);
    const delivery = settled(moved, request.outcome, row.task.position);
    if (delivery === undefined) {
      this.#saveRow(row, moved, row.holder, row.claim);
      return "more";
    }
    this.#change(row, delivery);
    const attempt = attemptOf(request.outcome, request.holder);
    if (attempt !== undefined) this.#attempts.add(request.key, attempt);
    return undefined;
  }

  /** Reschedules at most `RESCHEDULE_STEP` of the unheld ones. */
  reschedule({ latest, to }: WriteRequest<"rescheduleDeliveries">): WriteResult<"rescheduleDeliveries"> {
    return this.#reschedule.run(to, latest, RESCHEDULE_STEP).changes + this.#rescheduleHeld.run(to, latest).changes;
  }

  /** Redrives the dead ones among the named. */
  redrive({ now, keys = [] }: WriteRequest<"redriveDeliveries">): WriteResult<"redriveDeliveries"> {
    let count = 0;
    for (const { taskId, configId } of keys) {
      const row = this.#row(taskId, configId);
      if (row?.delivery.state !== DEAD) continue;
      this.#change(row, redriven(row.delivery, now));
      count++;
    }
    return count;
  }

  /** Subtracts the configurations of a removed task that count towards its owner's limit. */
  removed(task: Pick<PushedTask, "taskId" | "tenant" | "owner" | "finished">): void {
    const counted = task.finished ? this.#counted : this.#all;
    this.#countMore(task, -(counted.get(task.taskId) ?? 0));
  }

  #put(task: PushedTask, config: NewPushConfig, position: number, now: number): void {
    const { configId, target, bytes } = config;
    const row = this.#row(task.taskId, configId);
    const delivery = deliveryFrom(row?.delivery.position ?? position, task.position, now);
    if (row === undefined) {
      this.#insert.run(task.taskId, configId, task.owner, target, position, delivery.state, now, bytes);
      if (counts(delivery.state, task.finished)) this.#countMore(task, 1);
      this.#remark(task);
      return;
    }
    this.#replace.run(target, bytes, row.id);
    this.#attempts.forget({ taskId: task.taskId, configId });
    this.#change({ ...row, task }, delivery);
  }

  /** Ends the claim, if any, and stores the new delivery progress. */
  #change(row: PushRow, delivery: Delivery): void {
    const { task } = row;
    this.#saveRow(row, delivery, null, null);
    const more = Number(counts(delivery.state, task.finished)) - Number(counts(row.delivery.state, task.finished));
    if (more !== 0) this.#countMore(task, more);
    // An unfinished task has at least this configuration.
    if (task.finished || task.pushed !== SOME) this.#remark(task);
  }

  #saveRow({ id }: PushRow, delivery: Delivery, holder: string | null, claim: number | null): void {
    const { position, state, at, attempts, failingSince = null, failure = null } = delivery;
    this.#save.run(position, state, at, attempts, failingSince, failure, holder, claim, id);
  }

  #claimed({ key, holder, claim }: DeliveryProgress): PushRow | undefined {
    const row = this.#find(key);
    return row?.holder === holder && row.claim === claim ? row : undefined;
  }

  #find({ taskId, configId }: PushConfigKey): PushRow | undefined {
    return this.#row(taskId, configId);
  }

  /** Updates `head.pushed` of a task. */
  #remark({ taskId, finished, pushed }: Pick<PushedTask, "taskId" | "finished" | "pushed">): void {
    const next = finished && this.#anyDue.get(taskId) !== undefined ? UNDELIVERED : this.#any.get(taskId) ? SOME : NONE;
    if (next !== pushed) this.#mark.run(next, taskId);
  }

  #tooManyOf(
    task: Pick<PushedTask, "taskId" | "tenant" | "owner" | "finished">,
    { maxPerTask, maxPerOwner, ofAllTenants = false }: NewPushConfig,
  ): "task" | "owner" | undefined {
    if (maxPerTask < 1 || this.#last.get(task.taskId, maxPerTask - 1) !== undefined) return "task";
    if (task.finished) return undefined;
    const { tenant, owner } = task;
    const elsewhere = ofAllTenants ? this.#totals.configsOf(owner) : 0;
    return (this.#ofOwner.get(ofAllTenants ? "" : tenant, owner) ?? 0) + elsewhere >= maxPerOwner ? "owner" : undefined;
  }

  #countMore({ tenant, owner }: Pick<PushedTask, "tenant" | "owner">, more: number): void {
    if (more === 0) return;
    this.#count.run(tenant, owner, more);
    if (more < 0) this.#forget.run(tenant, owner);
    if (tenant !== "") this.#totals.add(owner, 0, more);
  }
}

/** Failed attempts, inside the transaction that stores their outcome. */
class PushAttempts {
  readonly #last: Query<[string, string], number>;
  readonly #insert: Command<[string, string, number, ...AttemptRow]>;
  readonly #trim: Command<[string, string, number]>;
  readonly #forget: Command<[string, string]>;

  constructor(db: Database) {
    this.#last = db.values(
      "SELECT number FROM push_attempt WHERE task_id = ? AND config_id = ? ORDER BY number DESC LIMIT 1",
    );
    this.#insert = db.command("INSERT INTO push_attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#trim = db.command("DELETE FROM push_attempt WHERE task_id = ? AND config_id = ? AND number <= ?");
    this.#forget = db.command("DELETE FROM push_attempt WHERE task_id = ? AND config_id = ?");
  }

  /** Adds an attempt and removes those beyond the limit. */
  add({ taskId, configId }: PushConfigKey, attempt: FailedAttempt): void {
    const { time, durationMs, generation, status, answer, failure, holder } = attempt;
    const number = (this.#last.get(taskId, configId) ?? 0) + 1;
    this.#insert.run(taskId, configId, number, time, durationMs, generation, status, answer, failure, holder);
    if (number > STORED_ATTEMPTS) this.#trim.run(taskId, configId, number - STORED_ATTEMPTS);
  }

  /** Removes the attempts of a configuration that is replaced or deleted. */
  forget({ taskId, configId }: PushConfigKey): void {
    this.#forget.run(taskId, configId);
  }
}
