import { appendRejection, type StoredTask } from "../check.js";
import { toLease } from "../head-rows.js";
import type { Segment } from "../segment.js";
import type { AppendResult, IdempotencyRecord, Lease, TaskRow } from "../task-store.js";
import type { Conversations } from "./conversations.js";
import type { Counters } from "./counters.js";
import type { Command, Database, Query } from "./driver/driver.js";
import type { PushConfigs } from "./push-configs.js";
import { MAX_INLINE_BYTES } from "./sizes.js";
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

type Nullable = string | number | null;

/**
 * Appends inside a transaction. Every check precedes the first change, so a rejected append leaves the other writes of
 * the commit intact.
 */
export class Appender {
  readonly #counters: Counters;
  readonly #pushes: PushConfigs;
  readonly #conversations: Conversations;
  readonly #stored: Query<[string], StoredRow>;
  readonly #remembered: Query<[string, string, string], [string, string, number]>;
  readonly #create: Command<Nullable[]>;
  readonly #update: Command<Nullable[]>;
  readonly #advance: Command<[number, number, string]>;
  readonly #segment: Command<[string, number, number, Uint8Array, number | bigint | null]>;
  readonly #blob: Command<[Uint8Array]>;
  readonly #remember: Command<Nullable[]>;

  constructor(db: Database, counters: Counters, pushes: PushConfigs, conversations: Conversations) {
    this.#counters = counters;
    this.#pushes = pushes;
    this.#conversations = conversations;
    this.#stored = db.rows<[string], StoredRow>(
      "SELECT tenant, owner, context_id, position, finished_at, state, status_time, " +
        "lease_holder, lease_turn, lease_attempt, pushed FROM head WHERE task_id = ?",
    );
    this.#remembered = db.rows<[string, string, string], [string, string, number]>(
      "SELECT fingerprint, task_id, position FROM send WHERE tenant = ? AND owner = ? AND key = ?",
    );
    this.#create = db.command(
      "INSERT INTO head (state, status_time, position, generation, finished_at, lease_holder, " +
        "lease_turn, lease_attempt, task_id, tenant, owner, context_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    );
    this.#update = db.command(
      "UPDATE head SET state = ?, status_time = ?, position = ?, generation = ?, finished_at = ?, lease_holder = ?, " +
        "lease_turn = ?, lease_attempt = ? WHERE task_id = ?",
    );
    this.#advance = db.command("UPDATE head SET position = ?, generation = ? WHERE task_id = ?");
    this.#segment = db.command("INSERT INTO segment (task_id, last, count, bytes, blob) VALUES (?, ?, ?, ?, ?)");
    this.#blob = db.command("INSERT INTO blob (bytes) VALUES (?)");
    this.#remember = db.command(
      "INSERT INTO send (tenant, owner, key, fingerprint, task_id, position) VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  /** @throws StoreError if the append is rejected; anything else comes from SQLite. */
  append(write: AppendWrite): AppendResult | undefined {
    const { head } = write;
    const row = this.#stored.get(head.taskId);
    const there = row === undefined ? null : toLease(row[7], row[8], row[9]);
    const rejection = appendRejection(write, row && toStored(row, there), this.#findSend(write));
    if (rejection !== undefined) throw rejection;
    if (write.conversation !== undefined) this.#conversations.check(head, write.conversation);
    this.#pushes.check(write, row !== undefined);
    this.#saveHead(write, row, there);
    let last = write.expected;
    for (const segment of write.segments) {
      last += segment.count;
      this.#addSegment(head.taskId, last, segment);
    }
    if (write.send !== undefined) {
      const { tenant, owner, key, fingerprint, taskId, position } = write.send;
      this.#remember.run(tenant, owner, key, fingerprint, taskId, position);
    }
    if (write.conversation !== undefined) this.#conversations.save(head, write.conversation);
    const before = row?.[10] ?? 0;
    const pushed = before > 0 || write.pushConfig !== undefined;
    if (pushed) this.#pushes.appended(write, before);
    if (write.lease === undefined || there === null) return pushed ? { pushed } : undefined;
    return pushed ? { lease: there, pushed } : { lease: there };
  }

  /** A large value is stored in another table, so that a search for another row does not read it. */
  #addSegment(taskId: string, last: number, { count, bytes }: Segment): void {
    if (bytes.length <= MAX_INLINE_BYTES) this.#segment.run(taskId, last, count, bytes, null);
    else this.#segment.run(taskId, last, count, NO_BYTES, this.#blob.run(bytes).lastInsertRowid);
  }

  #findSend({ send }: AppendWrite): IdempotencyRecord | undefined {
    if (send === undefined) return undefined;
    const row = this.#remembered.get(send.tenant, send.owner, send.key);
    return row && { fingerprint: row[0], taskId: row[1], position: row[2] };
  }

  #saveHead({ head, finishes, lease }: AppendWrite, row: StoredRow | undefined, there: Lease | null): void {
    const { taskId, tenant, owner, state, position, generation } = head;
    const leaseAfter = finishes ? null : (there ?? lease ?? null);
    if (row !== undefined && leaseAfter === there && isSameButForPosition(head, row)) {
      // No indexed column has changed, which is the common case of a stream of artifact chunks.
      this.#advance.run(position, generation, taskId);
      return;
    }
    const finishedAt = finishes ? head.statusTime : null;
    const values = [state, head.statusTime, position, generation, finishedAt, ...leaseValues(leaseAfter), taskId];
    if (row === undefined) this.#create.run(...values, tenant, owner, head.contextId);
    else this.#update.run(...values);
    if (row?.[5] === state) return;
    if (row !== undefined) this.#counters.add(head, row[5], -1);
    this.#counters.add(head, state, 1);
  }
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
