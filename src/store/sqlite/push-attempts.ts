import { STORED_ATTEMPTS } from "../deliveries.js";
import type { AttemptRow } from "../delivery-rows.js";
import type { FailedAttempt, PushConfigKey } from "../push-store.js";
import type { Command, Database, Query } from "./driver/driver.js";

/** Stored failed attempts of a configuration, newest first. */
export type AttemptsQuery = Query<[string, string], AttemptRow>;

export function attemptsQuery(db: Database): AttemptsQuery {
  return db.rows(
    "SELECT time, duration_ms, generation, status, answer, failure, holder FROM push_attempt " +
      "WHERE task_id = ? AND config_id = ? ORDER BY number DESC",
  );
}

/** Failed attempts, inside the transaction that stores their outcome. */
export class PushAttempts {
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
