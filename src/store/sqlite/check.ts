import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { messageIn } from "../../core/members.js";
import { decodeEntry } from "../../task/entry.js";
import { TaskFold } from "../../task/fold.js";
import { isTerminal } from "../../task/state.js";
import type { TaskHead } from "../task-store.js";
import { contentFaults, identify } from "./backup-check.js";
import { expectFile, hasWrongDigest, WRONG_DIGEST } from "./backup-file.js";
import { openReader } from "./connection.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { moveLog } from "./foreign-log.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { Reader } from "./reader.js";
import { readCopyMark } from "./restoration.js";

/** Result of `checkFile`. */
export interface FileReport {
  readonly path: string;
  readonly bytes: number;
  /** Schema version. The logs of a file with an older one are not read. */
  readonly schema: number;
  readonly isCurrent: boolean;
  readonly tasks: number;
  readonly openTasks: number;
  readonly entries: number;
  readonly pushConfigs: number;
  /** Sentences for people, at most a thousand. */
  readonly faults: readonly string[];
}

/** Maximum number of reported faults. */
const MAX_FAULTS = 1_000;

/** Faults of SQLite's own check. */
const MAX_INTEGRITY_FAULTS = 100;

/** Tasks and entries per read. */
const PAGE = 500;

/**
 * Reads all of a store's file and checks it: SQLite's own check, the references between tables, the digest of a backup,
 * and each task's log, which must decode and fold to the stored head. It changes nothing; a server may have the file
 * open.
 *
 * @throws StoreError `failed` if the file does not exist or belongs to another application; `newer-schema`
 */
export async function checkFile(given: string): Promise<FileReport> {
  const path = resolve(given);
  const isInUse = existsSync(`${path}-wal`);
  try {
    expectFile(path);
    const db = openReader(path);
    try {
      const report = reportOf(db, path);
      // A server that opens a backup removes its mark and changes it, but leaves its digest.
      if (readCopyMark(db) === undefined || !(await hasWrongDigest(path))) return report;
      return { ...report, faults: [WRONG_DIGEST, ...report.faults] };
    } finally {
      db.close();
      // A connection that only reads leaves an empty log.
      if (!isInUse) moveLog(realpathSync(path));
    }
  } catch (error) {
    throw toStoreError(error, `Cannot read ${path}`);
  }
}

function reportOf(db: Database, path: string): FileReport {
  const schema = identify(db, path);
  const isCurrent = schema === SCHEMA_VERSION;
  const bytes = statSync(path).size;
  const faults = [...contentFaults(db, schema, MAX_INTEGRITY_FAULTS)];
  const counts = { tasks: 0, openTasks: 0, entries: 0 };
  let pushConfigs = 0;
  if (isCurrent) {
    pushConfigs = db.values<number>("SELECT count(*) FROM push_config").get() ?? 0;
    const reader = new Reader(db);
    for (const taskId of taskIds(db)) {
      const head = reader.call("head", { taskId });
      // Removed meanwhile.
      if (head === undefined) continue;
      counts.tasks++;
      if (!isTerminal(head.state)) counts.openTasks++;
      const { read, fault } = checkLog(reader, head);
      counts.entries += read;
      if (fault !== undefined && faults.length < MAX_FAULTS) faults.push(`task ${taskId}: ${fault}`);
    }
  }
  return { path, bytes, schema, isCurrent, ...counts, pushConfigs, faults };
}

function* taskIds(db: Database): Generator<string> {
  const page = db.values<string>("SELECT task_id FROM head WHERE task_id > ? ORDER BY task_id LIMIT ?");
  for (let after = ""; ; ) {
    const ids = page.all(after, PAGE);
    yield* ids;
    const last = ids.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/** Folds a log up to its head. */
function checkLog(reader: Reader, head: TaskHead): { readonly read: number; readonly fault?: string } {
  const { taskId } = head;
  const fold = new TaskFold();
  let read = 0;
  try {
    while (read < head.position) {
      const entries = reader.call("read", { taskId, after: read, limit: Math.min(PAGE, head.position - read) });
      if (entries.length === 0) break;
      for (const bytes of entries) {
        fold.apply(decodeEntry(bytes));
        read++;
      }
    }
  } catch (error) {
    return { read, fault: `the entry ${read + 1} does not decode: ${messageIn(error)}` };
  }
  const fault = differenceOf(fold, head);
  // A task that was removed meanwhile has no fault.
  return fault === undefined || reader.call("head", { taskId }) === undefined ? { read } : { read, fault };
}

function differenceOf(fold: TaskFold, head: TaskHead): string | undefined {
  const of = ({ position, generation }: TaskHead | TaskFold, state: number, contextId: string): string =>
    `position ${position}, generation ${generation}, state ${state}, context ${contextId}`;
  const folded = of(fold, fold.state, fold.task.contextId);
  const stored = of(head, head.state, head.contextId);
  return folded === stored ? undefined : `its log has ${folded}, and its row ${stored}`;
}
