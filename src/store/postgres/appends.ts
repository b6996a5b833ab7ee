import type { PoolClient } from "pg";
import { defined } from "../../core/defined.js";
import { runNextTurn } from "../../core/event-loop.js";
import { appendRejection, checkRequest, conversationRejection, tooManyPushConfigs } from "../check.js";
import { toLease } from "../head-rows.js";
import { planSegments, type Segment, writeEntries } from "../segment.js";
import {
  type AppendRequest,
  type AppendResult,
  type CommitObserver,
  type IdempotencyRecord,
  type Lease,
  StoreError,
} from "../task-store.js";
import { outcome } from "./append-function.js";
import { bigints, booleans, byteArrays, integers, smallints, sparse, texts } from "./arrays.js";
import type { Database } from "./database.js";
import { isUndone, toStoreError } from "./errors.js";

/** Appends and bytes of one statement at most. A larger append is a statement of its own. */
const MOST_APPENDS = 256;
const MOST_BYTES = 1024 * 1024;

/** Statements at once: while one waits for its commit, the server executes the next. */
const LANES = 2;

/** Times that one append is repeated after a race or a deadlock. */
const MOST_REPEATS = 5;

/** Highest `integer` of PostgreSQL. */
const MOST_INTEGER = 2 ** 31 - 1;

interface Pending {
  readonly request: AppendRequest;
  readonly segments: readonly Segment[];
  readonly bytes: number;
  readonly resolve: (result: AppendResult | undefined) => void;
  readonly reject: (error: StoreError) => void;
}

/** A row that the function returns: see `appendFunction`. */
type Facts = [
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

/** Appends of many tasks, committed together: those that arrive while a statement runs share the next one. */
export class Appends {
  readonly #database: Database;
  readonly #sql: string;
  #waiting: Pending[] = [];
  /** Tasks of the statements that run. */
  readonly #tasks = new Set<string>();
  #lanes = 0;
  #isPlanned = false;
  #isClosed = false;
  #observer: CommitObserver = () => {};
  #idle: (() => void)[] = [];
  #commits = 0;
  #writes = 0;

  constructor(database: Database, schema: string) {
    this.#database = database;
    const places = Array.from({ length: 33 }, (_, index) => `$${index + 1}`);
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
    if (this.#isClosed) throw new StoreError("closed", "The store is closed.");
    checkRequest(request);
    const segments = segmentsOf(request.entries);
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes.length, 0);
    const { conversation, pushConfig } = request;
    const own = {
      ...request,
      conversation: conversation && { ...conversation, bytes: new Uint8Array(conversation.bytes) },
      pushConfig: pushConfig && { ...pushConfig, bytes: new Uint8Array(pushConfig.bytes) },
    };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request: own, segments, bytes, resolve, reject });
      this.#plan();
    });
  }

  /** Refuses later appends, and resolves when the earlier ones are answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#lanes > 0 || this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
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
        if (this.#lanes === 0 && this.#waiting.length === 0) for (const idle of this.#idle.splice(0)) idle();
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
        for (const { reject } of batch) reject(error);
        return;
      }
    }
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const values = argumentsOf(batch);
    const begun = performance.now();
    const rows = await this.#database.use((client) => this.#execute(client, values));
    this.#commits++;
    this.#writes += batch.length;
    this.#observer((performance.now() - begun) / 1_000, batch.length);
    for (const [index, { request, resolve, reject }] of batch.entries()) {
      const facts = defined(rows[index]);
      const refusal = refusalOf(request, facts);
      if (refusal === undefined) resolve(resultOf(request, facts));
      else reject(refusal);
    }
  }

  /** @throws StoreError `unavailable` after a warning: the commit may not have reached the standby servers. */
  async #execute(client: PoolClient, values: readonly (Buffer | null)[]): Promise<Facts[]> {
    let warning: string | undefined;
    const onNotice = ({ severity, message }: { severity?: string | undefined; message?: string | undefined }): void => {
      if (severity === "WARNING") warning = message;
    };
    client.on("notice", onNotice);
    try {
      const statement = this.#database.statement(this.#sql);
      const result = await client.query({ ...statement, values: [...values], rowMode: "array" });
      if (warning !== undefined) throw new StoreError("unavailable", `PostgreSQL warned at a commit: ${warning}`);
      // The function determines the types of its rows.
      return result.rows as unknown as Facts[];
    } finally {
      client.off("notice", onNotice);
    }
  }
}

function refusalOf(request: AppendRequest, facts: Facts): StoreError | undefined {
  const [code, known, tenant, owner, contextId, finished, position, holder, turn, attempt] = facts;
  const { taskId } = request.head;
  if (code === outcome.stored) return undefined;
  if (code === outcome.taskConfigs) return tooManyPushConfigs(taskId, "task");
  if (code === outcome.ownerConfigs) return tooManyPushConfigs(taskId, "owner");
  if (code === outcome.conversation && request.conversation !== undefined) {
    return conversationRejection(request.conversation, facts[14] ?? 0);
  }
  const lease = toLease(holder, turn, attempt);
  const stored = known ? { tenant, owner, contextId, position, finished, lease } : undefined;
  return appendRejection(request, stored, rememberedOf(facts)) ?? new StoreError("failed", "An append was refused.");
}

function rememberedOf([, , , , , , , , , , , fingerprint, taskId, position]: Facts): IdempotencyRecord | undefined {
  return taskId === null ? undefined : { fingerprint: fingerprint ?? "", taskId, position: position ?? 0 };
}

function resultOf(
  { lease }: AppendRequest,
  [, , , , , , , holder, turn, attempt, pushed]: Facts,
): AppendResult | undefined {
  const there: Lease | null = lease === undefined ? null : toLease(holder, turn, attempt);
  if (there === null) return pushed === true ? { pushed } : undefined;
  return pushed === true ? { lease: there, pushed } : { lease: there };
}

/** The arguments of the function, in its order. */
function argumentsOf(batch: readonly Pending[]): (Buffer | null)[] {
  const requests = batch.map(({ request }) => request);
  return [
    ...taskArguments(requests),
    ...sendArguments(requests),
    ...restArguments(requests),
    ...segmentArguments(batch),
  ];
}

function taskArguments(requests: readonly AppendRequest[]): (Buffer | null)[] {
  const heads = requests.map(({ head }) => head);
  return [
    texts(heads.map(({ taskId }) => taskId)),
    texts(heads.map(({ tenant }) => tenant)),
    texts(heads.map(({ owner }) => owner)),
    texts(heads.map(({ contextId }) => contextId)),
    smallints(heads.map(({ state }) => state)),
    bigints(heads.map(({ statusTime }) => statusTime)),
    bigints(requests.map(({ expected }) => expected)),
    bigints(heads.map(({ generation }) => generation)),
    bigints(requests.map(({ head, time }) => time ?? head.statusTime)),
    sparse(
      requests.map(({ fence }) => fence?.holder),
      texts,
    ),
    sparse(
      requests.map(({ fence }) => fence?.attempt),
      integers,
    ),
    sparse(
      requests.map(({ lease }) => lease?.holder),
      texts,
    ),
    sparse(
      requests.map(({ lease }) => lease?.turn),
      bigints,
    ),
    sparse(
      requests.map(({ lease }) => lease?.attempt),
      integers,
    ),
  ];
}

function sendArguments(requests: readonly AppendRequest[]): (Buffer | null)[] {
  return [
    sparse(
      requests.map(({ send }) => send?.key),
      texts,
    ),
    sparse(
      requests.map(({ send }) => send?.tenant),
      texts,
    ),
    sparse(
      requests.map(({ send }) => send?.owner),
      texts,
    ),
    sparse(
      requests.map(({ send }) => send?.fingerprint),
      texts,
    ),
    sparse(
      requests.map(({ send }) => send?.taskId),
      texts,
    ),
    sparse(
      requests.map(({ send }) => send?.position),
      bigints,
    ),
  ];
}

function restArguments(requests: readonly AppendRequest[]): (Buffer | null)[] {
  return [
    sparse(
      requests.map(({ conversation }) => conversation?.expected),
      bigints,
    ),
    sparse(
      requests.map(({ conversation }) => conversation?.version),
      bigints,
    ),
    sparse(
      requests.map(({ conversation }) => conversation?.bytes),
      byteArrays,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig?.configId),
      texts,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig?.target),
      texts,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig && Math.min(pushConfig.maxPerTask, MOST_INTEGER)),
      integers,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig && Math.min(pushConfig.maxPerOwner, MOST_INTEGER)),
      integers,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig && pushConfig.ofAllTenants === true),
      booleans,
    ),
    sparse(
      requests.map(({ pushConfig }) => pushConfig?.bytes),
      byteArrays,
    ),
  ];
}

function segmentArguments(batch: readonly Pending[]): Buffer[] {
  const numbers: number[] = [];
  const lasts: number[] = [];
  const all: Segment[] = [];
  for (const [index, { request, segments }] of batch.entries()) {
    let last = request.expected;
    for (const segment of segments) {
      last += segment.count;
      numbers.push(index + 1);
      lasts.push(last);
      all.push(segment);
    }
  }
  const counts = integers(all.map(({ count }) => count));
  return [integers(numbers), bigints(lasts), counts, byteArrays(all.map(({ bytes }) => bytes))];
}

function segmentsOf(entries: readonly Uint8Array[]): Segment[] {
  let used = 0;
  return planSegments(entries).map(({ count, bytes }) => {
    const part = new Uint8Array(bytes);
    writeEntries(part, 0, entries.slice(used, used + count));
    used += count;
    return { count, bytes: part };
  });
}
