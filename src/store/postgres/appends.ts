import type { PoolClient } from "pg";
import { Waiters } from "../../core/async.js";
import { runNextTurn } from "../../core/event-loop.js";
import { appendRejection, checkRequest, conversationRejection, tooManyPushConfigs } from "../check.js";
import { toLease } from "../head-rows.js";
import {
  type AppendRequest,
  type AppendResult,
  type CommitObserver,
  type IdempotencyRecord,
  type Lease,
  StoreError,
} from "../task-store.js";
import { ARGUMENTS, argumentsOf, type EncodedAppend, segmentsOf } from "./append-arguments.js";
import { outcome } from "./append-function.js";
import { ArrayWriter } from "./array-writer.js";
import { type Database, GUARDED } from "./database.js";
import { codeOf, DISK_FULL, isUndone, toStoreError } from "./errors.js";
import { moved } from "./server-history.js";

/** Maximum appends and bytes of one statement. A larger append gets a separate statement. */
const MOST_APPENDS = 256;
const MOST_BYTES = 1024 * 1024;

/** Number of concurrent statements: while one waits for its commit, the server executes the next. */
const LANES = 2;

/** Maximum number of repetitions of an append after a race or a deadlock. */
const MOST_REPEATS = 5;

/** Initial size of the buffer for the arguments of a statement, in bytes. It grows on demand. */
const FIRST_BYTES = 256 * 1024;

interface Pending extends EncodedAppend {
  readonly bytes: number;
  readonly resolve: (result: AppendResult | undefined) => void;
  readonly reject: (error: StoreError) => void;
}

/** A row that the function returns: see `appendFunction`. */
type Facts = [
  number: number,
  outcome: number,
  known: boolean,
  tenant: string,
  owner: string,
  contextId: string,
  terminal: boolean,
  position: number,
  holder: string | null,
  turn: number | null,
  attempt: number | null,
  pushed: boolean | null,
  fingerprint: string | null,
  rememberedTask: string | null,
  rememberedPosition: number | null,
  version: number | null,
];

/** Callbacks from the appends to their store. */
interface Outcomes {
  /** Called after each commit. */
  readonly onStored: () => void;
  /** Called when the disk of the database is full. */
  readonly onFull: () => void;
}

/** Appends of many tasks, committed together: those that arrive while a statement runs share the next one. */
export class Appends {
  readonly #database: Database;
  readonly #sql: string;
  readonly #onStored: () => void;
  readonly #onFull: () => void;
  #waiting: Pending[] = [];
  /** Tasks of the running statements. */
  readonly #tasks = new Set<string>();
  /** One writer for each free lane. */
  readonly #writers: ArrayWriter[] = [];
  #lanes = 0;
  #isPlanned = false;
  #isClosed = false;
  #observer: CommitObserver = () => {};
  readonly #idle = new Waiters();
  #commits = 0;
  #writes = 0;

  constructor(database: Database, schema: string, { onStored, onFull }: Outcomes) {
    this.#database = database;
    database.history.onNotice(() => this.#refuseWaiting());
    this.#onStored = onStored;
    this.#onFull = onFull;
    const places = Array.from({ length: ARGUMENTS }, (_, index) => `$${index + 1}`);
    this.#sql = `SELECT * FROM ${schema}.append_1(${places.join(", ")})`;
  }

  /** Statements that committed appends, and appends in them. */
  get statistics(): { readonly commits: number; readonly writes: number } {
    return { commits: this.#commits, writes: this.#writes };
  }

  onCommit(observer: CommitObserver): void {
    this.#observer = observer;
  }

  /** Copies the bytes, which the caller may change afterwards. */
  append(request: AppendRequest): Promise<AppendResult | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new StoreError("closed", "The store is closed.");
      checkRequest(request);
      this.#database.history.check();
      const segments = segmentsOf(request.entries);
      const bytes = segments.reduce((sum, segment) => sum + segment.bytes.length, 0);
      this.#waiting.push({ request: ownRequest(request), segments, bytes, resolve, reject });
      this.#plan();
    });
  }

  /** Refuses later appends, and resolves when the earlier ones are answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#lanes > 0 || this.#waiting.length > 0) await this.#idle.wait();
  }

  /** Waiting appends depend on reads from the previous server. */
  #refuseWaiting(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(moved());
    if (this.#lanes === 0) this.#idle.release();
  }

  /** Collects the appends of this turn of the event loop. */
  #plan(): void {
    if (this.#isPlanned || this.#lanes >= LANES) return;
    this.#isPlanned = true;
    runNextTurn(() => {
      this.#isPlanned = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#lanes < LANES) {
      const batch = this.#take();
      if (batch.length === 0) break;
      this.#lanes++;
      void this.#send(batch).then(() => {
        this.#lanes--;
        for (const { request } of batch) this.#tasks.delete(request.head.taskId);
        this.#start();
        if (this.#lanes === 0 && this.#waiting.length === 0) this.#idle.release();
      });
    }
  }

  /** The next appends in their order: one of each task, whose previous one has been answered. */
  #take(): Pending[] {
    const batch: Pending[] = [];
    const left: Pending[] = [];
    let bytes = 0;
    for (const pending of this.#waiting) {
      const { taskId } = pending.request.head;
      const isFull = batch.length === MOST_APPENDS || (batch.length > 0 && bytes + pending.bytes > MOST_BYTES);
      if (isFull || this.#tasks.has(taskId)) left.push(pending);
      else {
        this.#tasks.add(taskId);
        batch.push(pending);
        bytes += pending.bytes;
      }
    }
    this.#waiting = left;
    // All processes lock tasks in this order.
    return batch.sort((a, b) => (a.request.head.taskId < b.request.head.taskId ? -1 : 1));
  }

  /** Answers every append of a batch. Never rejects. */
  async #send(batch: readonly Pending[]): Promise<void> {
    for (let repeats = 0; ; repeats++) {
      try {
        return await this.#commit(batch);
      } catch (thrown) {
        const error = toStoreError(thrown, "PostgreSQL did not store an append");
        const undone = isUndone(error.cause);
        // An error of one append undoes the statement: each gets a statement of its own, and so an answer of its own.
        if (batch.length > 1 && (undone || error.kind === "failed")) {
          for (const pending of batch) await this.#send([pending]);
          return;
        }
        if (undone && repeats < MOST_REPEATS) continue;
        if (codeOf(error.cause) === DISK_FULL) this.#onFull();
        for (const { reject } of batch) reject(error);
        return;
      }
    }
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const begun = performance.now();
    const rows = await this.#database.use((client) => this.#execute(client, batch), GUARDED);
    this.#commits++;
    this.#writes += batch.length;
    this.#observer((performance.now() - begun) / 1_000, batch.length);
    this.#onStored();
    let next = 0;
    for (const [index, { request, resolve, reject }] of batch.entries()) {
      const facts = rows[next];
      if (facts?.[0] !== index + 1) {
        resolve(undefined);
        continue;
      }
      next++;
      const refusal = refusalOf(request, facts);
      if (refusal === undefined) resolve(resultOf(request, facts));
      else reject(refusal);
    }
  }

  /** @throws StoreError `unavailable` after a warning: the commit may not have reached the standby servers. */
  async #execute(client: PoolClient, batch: readonly Pending[]): Promise<Facts[]> {
    let warning: string | undefined;
    const onNotice = ({ severity, message }: { severity?: string | undefined; message?: string | undefined }): void => {
      if (severity === "WARNING") warning = message;
    };
    // The driver may hold the arguments until the statement is answered.
    const writer = this.#writers.pop() ?? new ArrayWriter(FIRST_BYTES);
    client.on("notice", onNotice);
    try {
      const statement = this.#database.statement(this.#database.history.guarded(this.#sql));
      const result = await client.query({ ...statement, values: argumentsOf(batch, writer), rowMode: "array" });
      this.#writers.push(writer);
      if (warning !== undefined) throw new StoreError("unavailable", `PostgreSQL warned at a commit: ${warning}`);
      // The function determines the types of its rows.
      return result.rows as unknown as Facts[];
    } finally {
      client.off("notice", onNotice);
    }
  }
}

function refusalOf(request: AppendRequest, facts: Facts): StoreError | undefined {
  const [, code, known, tenant, owner, contextId, finished, position, holder, turn, attempt] = facts;
  const { taskId } = request.head;
  if (code === outcome.stored) return undefined;
  if (code === outcome.taskConfigs) return tooManyPushConfigs(taskId, "task");
  if (code === outcome.ownerConfigs) return tooManyPushConfigs(taskId, "owner");
  if (code === outcome.conversation && request.conversation !== undefined) {
    return conversationRejection(request.conversation, facts[15] ?? 0);
  }
  const lease = toLease(holder, turn, attempt);
  const stored = known ? { tenant, owner, contextId, position, finished, lease } : undefined;
  return appendRejection(request, stored, rememberedOf(facts)) ?? new StoreError("failed", "An append was refused.");
}

function rememberedOf([, , , , , , , , , , , , fingerprint, taskId, position]: Facts): IdempotencyRecord | undefined {
  return taskId === null ? undefined : { fingerprint: fingerprint ?? "", taskId, position: position ?? 0 };
}

function resultOf(
  { lease }: AppendRequest,
  [, , , , , , , , holder, turn, attempt, pushed]: Facts,
): AppendResult | undefined {
  const there: Lease | null = lease === undefined ? null : toLease(holder, turn, attempt);
  if (there === null) return pushed === true ? { pushed } : undefined;
  return pushed === true ? { lease: there, pushed } : { lease: there };
}

/** Returns the request with its own copy of the bytes. */
function ownRequest(request: AppendRequest): AppendRequest {
  const { conversation, pushConfig } = request;
  if (conversation === undefined && pushConfig === undefined) return request;
  return {
    ...request,
    conversation: conversation && { ...conversation, bytes: new Uint8Array(conversation.bytes) },
    pushConfig: pushConfig && { ...pushConfig, bytes: new Uint8Array(pushConfig.bytes) },
  };
}
