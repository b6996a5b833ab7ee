import { existsSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { silentLogger } from "../../core/log.js";
import { type Batch, type CopyTarget, columns, type Kind, type Row, type Value } from "../copy/records.js";
import { DUE, IDLE } from "../deliveries.js";
import { TERMINAL } from "../states.js";
import { NO_HOLDER, StoreError } from "../task-store.js";
import { APPLICATION_ID, COPY_ID, INCREMENTAL, immediate, WRITE_TIMEOUT_MS } from "./connection.js";
import { readFile } from "./copy-source.js";
import { sqliteDriver } from "./driver/choose.js";
import type { Database, Parameter } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { setForeignLogAside } from "./foreign-log.js";
import { lockedAlone } from "./lock.js";
import { createTables, SCHEMA_VERSION } from "./migrations.js";
import { checkPlace, judge, lockPlace, readIdentity } from "./open.js";
import { createPrivate } from "./private-file.js";
import { createRestorations } from "./restoration.js";
import { MAX_INLINE_BYTES } from "./rows.js";

/**
 * Opens a file for a copy, and marks it: no store opens it before the copy is complete. A new file is created; the
 * remains of an unfinished copy are removed.
 * @throws StoreError `failed` if it has tasks, an older schema, or is in use; `newer-schema`, `unavailable`
 */
export function sqliteTarget(given: string): CopyTarget {
  const path = resolve(given);
  checkPlace(path);
  setForeignLogAside(path, silentLogger);
  const lock = lockedAlone(() => lockPlace(path, false));
  let db: Database | undefined;
  try {
    db = begin(path);
    return targetIn(db, path, () => lock.release());
  } catch (error) {
    db?.close();
    lock.release();
    throw toStoreError(error, `Cannot open ${path}`);
  }
}

function begin(path: string): Database {
  if (existsSync(path) && statSync(path).size > 0) {
    const db = sqliteDriver().open(path, { timeoutMs: WRITE_TIMEOUT_MS });
    const isLeft = readIdentity(db)?.application === COPY_ID;
    if (!isLeft) return marked(db, path);
    db.close();
    for (const end of ["-wal", "-shm", ""]) rmSync(path + end, { force: true });
    createPrivate(path);
  }
  return marked(sqliteDriver().open(path, { timeoutMs: WRITE_TIMEOUT_MS }), path);
}

/** Marks a file without tasks, in the transaction that creates its tables. */
function marked(db: Database, path: string): Database {
  try {
    const identity = readIdentity(db);
    if (identity === undefined) db.pragma(`auto_vacuum = ${INCREMENTAL}`);
    else checkEmpty(db, path);
    if (db.pragma("journal_mode = WAL") !== "wal") {
      throw new StoreError("failed", `Cannot open ${path}: its file system does not allow a write-ahead log.`);
    }
    // The last commit syncs those before it as well.
    db.pragma("synchronous = NORMAL");
    immediate(db, () => {
      if (identity === undefined) createTables(db, SCHEMA_VERSION);
      db.pragma(`application_id = ${COPY_ID}`);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const terminal: ReadonlySet<Value | undefined> = new Set(TERMINAL.split(", ").map(Number));

function checkEmpty(db: Database, path: string): void {
  const identity = readIdentity(db);
  judge(path, identity);
  if (identity?.version !== SCHEMA_VERSION) {
    throw new StoreError("failed", `Cannot copy to ${path}: run "parley migrate --store ${path}" first.`);
  }
  for (const table of ["head", "segment", "send", "conversation"]) {
    if (db.rows(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined) continue;
    throw new StoreError("failed", `Cannot copy to ${path}: it has tasks. Name a new file.`);
  }
}

function targetIn(db: Database, path: string, release: () => void): CopyTarget {
  const writers = writersOf(db);
  const guarded = async (work: () => void): Promise<void> => {
    try {
      immediate(db, work);
    } catch (error) {
      throw toStoreError(error, `Cannot write ${path}`);
    }
  };
  return {
    name: path,
    countTasks: async () => db.values<number>("SELECT count(*) FROM head").get() ?? 0,
    read: () => readFile(db, path),
    write: ({ kind, rows }: Batch) =>
      guarded(() => {
        for (const row of rows) writers[kind](row);
      }),
    finish: () => guarded(() => db.exec(counters)),
    checkUnused: async () => {},
    complete: async () => {
      db.pragma("synchronous = FULL");
      await guarded(() => void db.pragma(`application_id = ${APPLICATION_ID}`));
    },
    close: async () => {
      db.close();
      release();
    },
  };
}

function writersOf(db: Database): Readonly<Record<Kind, (row: Row) => void>> {
  const insert = (table: string, names: string): ((...values: Parameter[]) => void) => {
    const marks = names.replace(/\w+/g, "?");
    const command = db.command(`INSERT INTO ${table} (${names}) VALUES (${marks})`);
    return (...values) => void command.run(...values);
  };
  const addBlob = db.command("INSERT INTO blob (bytes) VALUES (?)");
  const blob = (bytes: Value | undefined): number | bigint => addBlob.run(bytes ?? null).lastInsertRowid;
  const task = insert("head", `${columns.task}, lease_holder, finished_at`);
  const segment = insert("segment", `${columns.segment}, blob`);
  const piece = insert("snapshot_piece", "task_id, position, piece, blob");
  const config = insert("push_config", columns.config.replace("tenant, ", ""));
  const mark = db.command(
    `UPDATE head SET pushed = iif(finished_at IS NOT NULL AND EXISTS (SELECT 1 FROM push_config p ` +
      `WHERE p.task_id = head.task_id AND p.state = ${DUE}), 2, 1) WHERE task_id = ?`,
  );
  const plain = (kind: Kind, table: string = kind) => {
    const run = insert(table, columns[kind]);
    return (row: Row): void => run(...row);
  };
  let restoration: ((...values: Parameter[]) => void) | undefined;
  return {
    task: (row) => {
      const [, , , , state, statusTime = null, , , turn = null] = row;
      task(...row, turn === null ? null : NO_HOLDER, terminal.has(state) ? statusTime : null);
    },
    segment: ([taskId = "", last = 0, count = 0, bytes = null]) => {
      const isLarge = bytes instanceof Uint8Array && bytes.length > MAX_INLINE_BYTES;
      if (isLarge) segment(taskId, last, count, new Uint8Array(0), blob(bytes));
      else segment(taskId, last, count, bytes, null);
    },
    snapshot: plain("snapshot"),
    piece: ([taskId = "", position = 0, index = 0, bytes]) => piece(taskId, position, index, blob(bytes)),
    send: plain("send"),
    config: ([taskId = "", configId = "", , ...rest]) => {
      config(taskId, configId, ...rest);
      mark.run(taskId);
    },
    attempt: plain("attempt", "push_attempt"),
    conversation: plain("conversation"),
    restoration: ([, until = 0, id = ""]) => {
      if (restoration === undefined) {
        createRestorations(db);
        restoration = insert("restoration", "until, id");
      }
      restoration(until, id);
    },
  };
}

/** The counters of a file without any; see the migrations. */
const counters = `
  DELETE FROM counter; DELETE FROM push_owner; DELETE FROM owner_total; DELETE FROM context_counter;
  INSERT INTO counter (tenant, owner, state, tasks)
    SELECT tenant, owner, state, count(*) FROM head GROUP BY tenant, owner, state;
  INSERT INTO push_owner (tenant, owner, configs)
    SELECT h.tenant, h.owner, count(*) FROM push_config p JOIN head h ON h.task_id = p.task_id
    WHERE h.finished_at IS NULL OR p.state <> ${IDLE} GROUP BY h.tenant, h.owner;
  INSERT INTO owner_total (owner, tasks, configs)
    SELECT owner, sum(tasks), sum(configs) FROM (
      SELECT owner, tasks, 0 AS configs FROM counter WHERE tenant <> '' AND state NOT IN (${TERMINAL})
      UNION ALL SELECT owner, 0, configs FROM push_owner WHERE tenant <> ''
    ) GROUP BY owner;
  INSERT INTO context_counter (tenant, owner, context_id, state, tasks)
    SELECT tenant, owner, context_id, state, count(*) FROM head INDEXED BY head_by_context
    WHERE (tenant, owner, context_id) IN (
      SELECT tenant, owner, context_id FROM head INDEXED BY head_by_context GROUP BY tenant, owner, context_id HAVING count(*) > 64
    ) GROUP BY tenant, owner, context_id, state;
`;
