import { appendRejection, type StoredTask } from "../check.js";
import { toLease } from "../head-rows.js";
import type { Segment } from "../segment.js";
import type { AppendResult, Lease, TaskRow } from "../task-store.js";
import { checkConversation, saveConversation } from "./conversations.js";
import type { Counters } from "./counters.js";
import type { Database } from "./driver/driver.js";
import { checkPushConfig, pushAppended } from "./push-configs.js";
import { addBlob, findSend, MAX_INLINE_BYTES } from "./rows.js";
import type { AppendWrite } from "./write.js";

const NO_BYTES = new Uint8Array(0);

type StoredRow = [
  tenant: string,
  owner: string,
  contextId: string,
  position: number,
  finishedAt: number | null,
  state: number,
  statusTime: number,
  holder: string | null,
  turn: number | null,
  attempt: number | null,
  pushed: number,
];

const STORED =
  "SELECT tenant, owner, context_id, position, finished_at, state, status_time, lease_holder, lease_turn, lease_attempt, " +
  "pushed FROM head WHERE task_id = ?";
const CREATE =
  "INSERT INTO head (state, status_time, position, generation, finished_at, lease_holder, lease_turn, lease_attempt, " +
  "task_id, tenant, owner, context_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)";
const UPDATE =
  "UPDATE head SET state = ?, status_time = ?, position = ?, generation = ?, finished_at = ?, lease_holder = ?, " +
  "lease_turn = ?, lease_attempt = ? WHERE task_id = ?";

/**
 * Appends inside a transaction. Every check precedes the first change, so a rejected append leaves the other writes of
 * the commit intact.
 * @throws StoreError if the append is rejected; anything else comes from SQLite
 */
export function append(db: Database, counters: Counters, write: AppendWrite): AppendResult | undefined {
  const { head } = write;
  const row = db.rows<StoredRow>(STORED).get(head.taskId);
  const there = row === undefined ? null : toLease(row[7], row[8], row[9]);
  const rejection = appendRejection(write, row && toStored(row, there), write.send && findSend(db, write.send));
  if (rejection !== undefined) throw rejection;
  if (write.conversation !== undefined) checkConversation(db, head, write.conversation);
  checkPushConfig(db, write, row !== undefined);
  saveHead(db, counters, write, row, there);
  let last = write.expected;
  for (const segment of write.segments) {
    last += segment.count;
    addSegment(db, head.taskId, last, segment);
  }
  if (write.send !== undefined) {
    const { tenant, owner, key, fingerprint, taskId, position } = write.send;
    const remember = db.command(
      "INSERT INTO send (tenant, owner, key, fingerprint, task_id, position) VALUES (?, ?, ?, ?, ?, ?)",
    );
    remember.run(tenant, owner, key, fingerprint, taskId, position);
  }
  if (write.conversation !== undefined) saveConversation(db, head, write.conversation);
  const before = row?.[10] ?? 0;
  const pushed = before > 0 || write.pushConfig !== undefined;
  if (pushed) pushAppended(db, write, before);
  if (write.lease === undefined || there === null) return pushed ? { pushed } : undefined;
  return pushed ? { lease: there, pushed } : { lease: there };
}

/** A large value is stored in another table, so that a search for another row does not read it. */
function addSegment(db: Database, taskId: string, last: number, { count, bytes }: Segment): void {
  const add = db.command("INSERT INTO segment (task_id, last, count, bytes, blob) VALUES (?, ?, ?, ?, ?)");
  if (bytes.length <= MAX_INLINE_BYTES) add.run(taskId, last, count, bytes, null);
  else add.run(taskId, last, count, NO_BYTES, addBlob(db, bytes));
}

function saveHead(
  db: Database,
  counters: Counters,
  { head, finishes, lease }: AppendWrite,
  row: StoredRow | undefined,
  there: Lease | null,
): void {
  const { taskId, tenant, owner, state, position, generation } = head;
  const leaseAfter = finishes ? null : (there ?? lease ?? null);
  if (row !== undefined && leaseAfter === there && isSameButForPosition(head, row)) {
    // No indexed column has changed, which is the common case of a stream of artifact chunks.
    const advance = db.command("UPDATE head SET position = ?, generation = ? WHERE task_id = ?");
    advance.run(position, generation, taskId);
    return;
  }
  const finishedAt = finishes ? head.statusTime : null;
  const values = [state, head.statusTime, position, generation, finishedAt, ...leaseValues(leaseAfter), taskId];
  if (row === undefined) db.command(CREATE).run(...values, tenant, owner, head.contextId);
  else db.command(UPDATE).run(...values);
  if (row?.[5] === state) return;
  if (row !== undefined) counters.add(head, row[5], -1);
  counters.add(head, state, 1);
}

function toStored([tenant, owner, contextId, position, finishedAt]: StoredRow, lease: Lease | null): StoredTask {
  return { tenant, owner, contextId, position, finished: finishedAt !== null, lease };
}

function isSameButForPosition(head: TaskRow, [, , , , , state, statusTime]: StoredRow): boolean {
  return head.state === state && head.statusTime === statusTime;
}

function leaseValues(lease: Lease | null): [string, number, number] | [null, null, null] {
  return lease === null ? [null, null, null] : [lease.holder, lease.turn, lease.attempt];
}
