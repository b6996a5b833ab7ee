import { silentLogger } from "../../core/log.js";
import {
  type Batch,
  type CopySource,
  columns,
  inBatches,
  type Kind,
  PAGE_TASKS,
  type Row,
  type Value,
} from "../copy/records.js";
import { WRITE_TIMEOUT_MS } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { lockedAlone } from "./lock.js";
import { prepareFile } from "./open.js";
import { readRestorations } from "./restoration.js";
import { checkCurrent } from "./schema-check.js";

/**
 * Opens a file of the current schema for a copy. No other process can open it meanwhile.
 * @throws StoreError `failed` if it is in use, missing, or has an older schema; otherwise as `prepareFile`
 */
export function sqliteSource(given: string): CopySource {
  checkCurrent(given);
  const { path, lock } = lockedAlone(() => prepareFile(given, false, silentLogger));
  let db: Database;
  try {
    db = sqliteDriver().open(path, { mustExist: true, timeoutMs: WRITE_TIMEOUT_MS });
  } catch (error) {
    lock.release();
    throw toStoreError(error, `Cannot open ${path}`);
  }
  return {
    name: path,
    countTasks: async () => db.values<number>("SELECT count(*) FROM head").get() ?? 0,
    read: () => readFile(db, path),
    // The lock makes sure that no other process has it.
    checkUnused: async () => {},
    close: async () => {
      db.close();
      lock.release();
    },
  };
}

/** Reads all records of a file, in the order of `CopySource.read`. */
export async function* readFile(db: Database, path: string): AsyncGenerator<Batch> {
  try {
    yield* batchesOf(db);
  } catch (error) {
    throw toStoreError(error, `Cannot read ${path}`);
  }
}

function* batchesOf(db: Database): Generator<Batch> {
  const heads = db.rows<Value[]>(`SELECT ${columns.task} FROM head WHERE task_id > ? ORDER BY task_id LIMIT ?`);
  for (let last = ""; ; ) {
    const page = heads.all(last, PAGE_TASKS);
    if (page.length === 0) break;
    yield { kind: "task", rows: page };
    const taskIds = page.map(([taskId]) => String(taskId));
    for (const [kind, sql] of ofTask) {
      const query = db.rows<Value[]>(sql);
      yield* inBatches(
        kind,
        rowsOf(taskIds, (taskId) => query.iterate(taskId)),
      );
    }
    last = taskIds.at(-1) ?? "";
  }
  const conversations = db.rows<Value[]>(
    `SELECT ${columns.conversation} FROM conversation ORDER BY tenant, owner, context_id`,
  );
  yield* inBatches("conversation", conversations.iterate());
  yield* inBatches(
    "restoration",
    readRestorations(db).map(({ until, id }, index) => [index, until, id]),
  );
}

function* rowsOf(taskIds: readonly string[], read: (taskId: string) => Iterable<Row>): Generator<Row> {
  for (const taskId of taskIds) yield* read(taskId);
}

const ofTask: readonly (readonly [Kind, string])[] = [
  [
    "segment",
    "SELECT s.task_id, s.last, s.count, coalesce(b.bytes, s.bytes) AS bytes FROM segment s " +
      "LEFT JOIN blob b ON b.id = s.blob WHERE s.task_id = ? ORDER BY s.last",
  ],
  ["snapshot", `SELECT ${columns.snapshot} FROM snapshot WHERE task_id = ?`],
  [
    "piece",
    "SELECT p.task_id, p.position, p.piece, b.bytes FROM snapshot s JOIN snapshot_piece p ON p.task_id = s.task_id " +
      "AND p.position = s.position JOIN blob b ON b.id = p.blob WHERE s.task_id = ? ORDER BY p.piece",
  ],
  ["send", `SELECT ${columns.send} FROM send WHERE task_id = ? ORDER BY tenant, owner, key`],
  [
    "config",
    "SELECT p.task_id, p.config_id, h.tenant, h.owner, p.target, p.position, p.state, p.at, p.attempts, " +
      "p.failing_since, p.failure, p.bytes FROM push_config p JOIN head h ON h.task_id = p.task_id WHERE p.task_id = ? " +
      "ORDER BY p.config_id",
  ],
  ["attempt", `SELECT ${columns.attempt} FROM push_attempt WHERE task_id = ? ORDER BY config_id, number`],
];
