// Keeps tasks in memory, for tests and for runtimes without files.

import { localSignals } from "../../signals/hub.js";
import { isTerminal } from "../../task/state.js";
import { appendRejection, checkRequest, holds, isOf, type StoredTask, tooManyPushConfigs } from "../check.js";
import { alwaysHealthy } from "../health.js";
import {
  type AppendRequest,
  type AppendResult,
  type BackupStore,
  type ConversationKey,
  type DeliveryProgress,
  type FailedAttempt,
  type IdempotencyKey,
  type IdempotencyRecord,
  type Lease,
  type LeaseOutcome,
  type LoadedTask,
  type PushConfigKey,
  type RedriveDeliveries,
  type SnapshotPiece,
  type StoredConversation,
  type StoredPushConfig,
  StoreError,
  type TaskHead,
  type TaskRow,
  type TaskStore,
} from "../task-store.js";
import { censusOf } from "./census.js";
import { Conversations } from "./conversations.js";
import { Leases } from "./leases.js";
import type { Listed } from "./list.js";
import { MemoryLog } from "./log.js";
import {
  listConfigs,
  listDeliveries,
  type PushConfig,
  Pushes,
  rewrite,
  scan,
  toStored as toStoredConfig,
} from "./pushes.js";
import { TaskLists, type Usages } from "./task-lists.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** True when several engines share the store and each may disappear while the others run. Default false. */
  readonly shared?: boolean;
  /** Monotonic milliseconds, used to detect missed heartbeats. Default: `performance.now`. */
  readonly clock?: () => number;
}

/** Keeps tasks in this process, for tests and for comparison with durable stores. */
export function memoryStore(options: MemoryStoreOptions = {}): TaskStore {
  return new MemoryStore(options);
}

interface Task extends Listed {
  readonly log: MemoryLog;
  /** Created with the first one: most tasks have none. */
  configs: Map<string, PushConfig> | undefined;
  /** Keys of the task's entries in `#sends`. */
  sends: string[] | undefined;
}

type Method = Exclude<keyof TaskStore, keyof BackupStore | "kind" | "shared" | "health" | "history" | "signals">;
type Request<M extends Method> = Parameters<TaskStore[M]>[0];
type Answer<M extends Method> = ReturnType<TaskStore[M]>;

/**
 * Each change runs synchronously, without an await between check and change: that is its transaction. Bytes are copied
 * on the way in and out, as by a store that writes them to disk.
 */
class MemoryStore implements TaskStore {
  readonly kind = "memory";
  readonly onCommit = (): void => {};
  readonly shared: boolean;
  readonly health = alwaysHealthy;
  readonly signals = localSignals();
  readonly #tasks = new Map<string, Task>();
  readonly #lists = new TaskLists<Task>();
  readonly #pushes = new Pushes();
  readonly #leases: Leases;
  readonly #sends = new Map<string, IdempotencyRecord>();
  readonly #conversations = new Conversations();
  readonly #usages: Usages = {
    stateBytes: (context) => this.#conversations.sizeOf(context),
    pushConfigs: (owner) => this.#pushes.countOf(owner),
  };
  #closed = false;

  constructor({ shared = false, clock }: MemoryStoreOptions) {
    this.shared = shared;
    this.#leases = new Leases(shared, () => this.#pushes.holders(), clock);
  }

  async append(request: AppendRequest): Promise<AppendResult | undefined> {
    this.#check();
    checkRequest(request);
    const { head, entries, send, pushConfig, conversation } = request;
    const task = this.#tasks.get(head.taskId);
    const remembered = send && this.#sends.get(sendKey(send));
    const rejection = appendRejection(request, task && toStored(task.head), remembered);
    if (rejection !== undefined) throw rejection;
    if (conversation !== undefined) this.#conversations.check(head, conversation);
    if (pushConfig !== undefined) {
      const tooManyOf = this.#pushes.tooManyOf(task, head, pushConfig);
      if (tooManyOf !== undefined) throw tooManyPushConfigs(head.taskId, tooManyOf);
    }
    const there = task?.head.lease ?? null;
    const saved = this.#saveHead(task, head, isTerminal(head.state) ? null : (there ?? request.lease ?? null));
    saved.log.append(entries);
    if (send !== undefined) {
      const { fingerprint, taskId, position } = send;
      this.#sends.set(sendKey(send), { fingerprint, taskId, position });
      saved.sends ??= [];
      saved.sends.push(sendKey(send));
    }
    if (conversation !== undefined) this.#conversations.save(head, conversation);
    const now = request.time ?? head.statusTime;
    if (saved.configs !== undefined) this.#pushes.appended(saved, now);
    if (pushConfig !== undefined) this.#pushes.put(saved, pushConfig, { position: request.expected, now });
    return answerOf(request.lease === undefined ? null : there, saved.configs !== undefined);
  }

  async head({ taskId }: { readonly taskId: string }): Promise<TaskHead | undefined> {
    return this.#task(taskId)?.head;
  }

  async heads({ taskIds }: Request<"heads">): Answer<"heads"> {
    return taskIds.flatMap((taskId) => this.#task(taskId)?.head ?? []);
  }

  async load({ taskId, of }: Request<"load">): Promise<LoadedTask | undefined> {
    const task = this.#task(taskId);
    if (task === undefined || (of !== undefined && !isOf(task.head, of))) return undefined;
    return { head: task.head, ...task.log.load() };
  }

  async loadMany({ taskIds }: { readonly taskIds: readonly string[] }): Promise<(LoadedTask | undefined)[]> {
    return Promise.all(taskIds.map((taskId) => this.load({ taskId })));
  }

  async readSnapshot(request: Request<"readSnapshot">): Answer<"readSnapshot"> {
    return this.#task(request.taskId)?.log.readSnapshot(request.position, request.piece);
  }

  async read(request: Request<"read">): Promise<Uint8Array[]> {
    const { taskId, after, limit } = request;
    return this.#task(taskId)?.log.read(after, limit) ?? [];
  }

  async saveSnapshot(request: { readonly taskId: string; readonly snapshot: SnapshotPiece }): Promise<void> {
    this.#task(request.taskId)?.log.saveSnapshot(request.snapshot);
  }

  async list(request: Request<"list">): Answer<"list"> {
    this.#check();
    return this.#lists.list(request);
  }

  async countOpen(request: Request<"countOpen">): Promise<number> {
    this.#check();
    return this.#lists.countOpen(request);
  }

  async listHeads(request: Request<"listHeads">): Answer<"listHeads"> {
    this.#check();
    return this.#lists.listHeads(request);
  }

  async listContexts(request: Request<"listContexts">): Answer<"listContexts"> {
    this.#check();
    return this.#lists.listContexts(request, this.#usages);
  }

  async listOwners(request: Request<"listOwners">): Answer<"listOwners"> {
    this.#check();
    return this.#lists.listOwners(request, this.#usages);
  }

  async listLeased(request: Request<"listLeased">): Answer<"listLeased"> {
    this.#check();
    return this.#leases.list(request);
  }

  async census(): Answer<"census"> {
    this.#check();
    return censusOf(this.#lists.openTasks, this.#lists.interrupted, this.#pushes);
  }

  async conversation(request: ConversationKey): Promise<StoredConversation | undefined> {
    this.#check();
    return this.#conversations.get(request);
  }

  async findSend(request: IdempotencyKey): Promise<IdempotencyRecord | undefined> {
    this.#check();
    return this.#sends.get(sendKey(request));
  }

  async heartbeat(request: Request<"heartbeat">): Promise<boolean> {
    this.#check();
    return this.#leases.heartbeat(request);
  }

  async claimLeases(request: Request<"claimLeases">): Promise<TaskHead[]> {
    this.#check();
    return this.#leases.claim(request);
  }

  async leasesOf(request: Request<"leasesOf">): Answer<"leasesOf"> {
    this.#check();
    return this.#leases.of(request);
  }

  async setLease({ taskId, fence, lease, expected }: Request<"setLease">): Promise<LeaseOutcome> {
    const task = this.#task(taskId);
    if (task === undefined || !holds(fence, task.head.lease)) return "lost";
    if (expected !== undefined && task.head.position !== expected) return "moved";
    this.#leases.set(task, lease);
    return "set";
  }

  async putPushConfig(request: Request<"putPushConfig">): Answer<"putPushConfig"> {
    const task = this.#task(request.taskId);
    if (task === undefined) return "no-task";
    const tooManyOf = this.#pushes.tooManyOf(task, task.head, request);
    if (tooManyOf !== undefined) return `too-many-of-${tooManyOf}`;
    this.#pushes.put(task, request, { position: task.head.position, now: request.now });
    return "put";
  }

  async getPushConfig(key: PushConfigKey): Promise<StoredPushConfig | undefined> {
    const config = this.#config(key);
    return config && toStoredConfig(config);
  }

  async listPushConfigs(request: Request<"listPushConfigs">): Answer<"listPushConfigs"> {
    return listConfigs(this.#task(request.taskId)?.configs?.values() ?? [], request);
  }

  async scanPushConfigs(request: Request<"scanPushConfigs">): Answer<"scanPushConfigs"> {
    this.#check();
    return scan(this.#tasks.values(), request);
  }

  async rewritePushConfig(request: Request<"rewritePushConfig">): Answer<"rewritePushConfig"> {
    return rewrite(this.#config(request), request);
  }

  async deletePushConfig(key: PushConfigKey): Promise<void> {
    const config = this.#config(key);
    if (config !== undefined) this.#pushes.delete(config);
  }

  async claimDeliveries(request: Request<"claimDeliveries">): Answer<"claimDeliveries"> {
    this.#check();
    for (const gone of this.#leases.forgetSilent(request)) this.#pushes.release(gone);
    return this.#pushes.claim(request);
  }

  async nextDelivery(): Promise<number | undefined> {
    this.#check();
    return this.#pushes.next();
  }

  async rescheduleDeliveries(request: Request<"rescheduleDeliveries">): Answer<"rescheduleDeliveries"> {
    this.#check();
    return this.#pushes.reschedule(request);
  }

  async savePushPosition(request: DeliveryProgress): Promise<"saved" | "lost"> {
    return this.#pushes.save(this.#config(request.key), request) ? "saved" : "lost";
  }

  async settleDelivery(request: Request<"settleDelivery">): Answer<"settleDelivery"> {
    const config = this.#config(request.key);
    return this.#pushes.save(config, request) ? this.#pushes.settle(config, request.outcome) : "lost";
  }

  async listDeadDeliveries(request: Request<"listDeadDeliveries">): Answer<"listDeadDeliveries"> {
    this.#check();
    return this.#pushes.listDead(request);
  }

  async listDeliveries(request: Request<"listDeliveries">): Answer<"listDeliveries"> {
    this.#check();
    const { taskId } = request;
    const task = taskId === undefined ? undefined : this.#tasks.get(taskId);
    const tasks = taskId === undefined ? this.#tasks.values() : task === undefined ? [] : [task];
    return listDeliveries(tasks, request);
  }

  async listAttempts(key: PushConfigKey): Promise<FailedAttempt[]> {
    return [...(this.#config(key)?.failed ?? [])];
  }

  async redriveDeliveries({ now, keys, ...filter }: RedriveDeliveries): Promise<number> {
    this.#check();
    const configs = keys?.map((key) => this.#config(key)) ?? this.#pushes.dead(filter);
    return configs.filter((config) => config !== undefined && this.#pushes.redrive(config, now)).length;
  }

  async listInterrupted({ before, after, limit }: Request<"listInterrupted">): Promise<readonly TaskHead[]> {
    this.#check();
    return this.#lists.interrupted.olderThan(before, limit, after).map((task) => task.head);
  }

  async removeFinished(request: { readonly before: number; readonly limit: number }): Promise<number> {
    this.#check();
    const tasks = this.#removable(request);
    for (const task of tasks) this.#remove(task);
    return tasks.length;
  }

  async removeTasks({ taskIds, unfinished = false }: Request<"removeTasks">): Promise<number> {
    this.#check();
    const tasks = [...new Set(taskIds)].map((taskId) => this.#tasks.get(taskId));
    const removed = tasks
      .filter((task) => task !== undefined)
      .filter(({ head }) => unfinished || isTerminal(head.state));
    for (const task of removed) this.#remove(task);
    return removed.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #remove(task: Task): void {
    this.#pushes.forget(task);
    this.#lists.remove(task);
    if (!this.#lists.hasContext(task.head)) this.#conversations.delete(task.head);
    this.#lists.forgetEmpty(task.head);
    this.#leases.moved(task, task.head.lease, null);
    this.#tasks.delete(task.head.taskId);
    for (const key of task.sends ?? []) this.#sends.delete(key);
  }

  /** Finished tasks without due deliveries. */
  #removable({ before, limit }: { readonly before: number; readonly limit: number }): Task[] {
    const found: Task[] = [];
    for (let after: TaskHead | undefined; found.length < limit; ) {
      const tasks = this.#lists.finished.olderThan(before, limit, after);
      found.push(...tasks.filter((task) => !this.#pushes.isDue(task)));
      after = tasks.at(-1)?.head;
      if (after === undefined) break;
    }
    return found.slice(0, limit);
  }

  #config({ taskId, configId }: PushConfigKey): PushConfig | undefined {
    return this.#task(taskId)?.configs?.get(configId);
  }

  #saveHead(known: Task | undefined, row: TaskRow, lease: Lease | null): Task {
    const moves = known?.head.statusTime !== row.statusTime || known.head.state !== row.state;
    if (known !== undefined && moves) this.#lists.remove(known);
    const head = ownHead(row, lease);
    const task = known ?? { head, log: new MemoryLog(), configs: undefined, sends: undefined };
    const before = known?.head.lease ?? null;
    task.head = head;
    if (known === undefined) this.#tasks.set(head.taskId, task);
    if (moves) this.#lists.add(task);
    this.#leases.moved(task, before, lease);
    return task;
  }

  #task(taskId: string): Task | undefined {
    this.#check();
    return this.#tasks.get(taskId);
  }

  #check(): void {
    if (this.#closed) throw new StoreError("closed", "The store is closed.");
  }
}

function answerOf(lease: Lease | null, pushed: boolean): AppendResult | undefined {
  if (lease === null) return pushed ? { pushed } : undefined;
  return pushed ? { lease, pushed } : { lease };
}

function toStored({ tenant, owner, contextId, position, state, lease }: TaskHead): StoredTask {
  return { tenant, owner, contextId, position, finished: isTerminal(state), lease };
}

/**
 * A copy of a head for the store. Immutable: a change replaces it. Lists the fields explicitly, because every append
 * copies a head.
 */
function ownHead(row: TaskRow, lease: Lease | null): TaskHead {
  const { taskId, tenant, owner, contextId, state, statusTime, position, generation } = row;
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease };
}

function sendKey({ tenant, owner, key }: IdempotencyKey): string {
  return `${tenant.length}:${owner.length}:${tenant}${owner}${key}`;
}
