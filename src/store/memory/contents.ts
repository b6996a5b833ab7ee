import { isTerminal } from "../../task/state.js";
import { appendRejection, conversationRejection, holds, isOf, type StoredTask, tooManyPushConfigs } from "../check.js";
import { CENSUS_LIMIT } from "../operator-store.js";
import type { Request } from "../request.js";
import type {
  AppendRequest,
  AppendResult,
  Census,
  ConversationKey,
  ConversationWrite,
  IdempotencyRecord,
  Lease,
  LeaseOutcome,
  LoadedTask,
  PushConfigKey,
  PutPushOutcome,
  StoredConversation,
  TaskHead,
  TaskRow,
} from "../task-store.js";
import { Leases } from "./leases.js";
import { type Listed, ownerKey } from "./list.js";
import { MemoryLog } from "./log.js";
import { type PushConfig, Pushes } from "./pushes.js";
import { TaskLists } from "./task-lists.js";

interface Task extends Listed {
  readonly log: MemoryLog;
  /** Created with the first one: most tasks have none. */
  configs: Map<string, PushConfig> | undefined;
  /** Keys of the task's entries in `#sends`. */
  sends: string[] | undefined;
}

/** The contents of a store in memory. Bytes are copied on the way in and out, as by a store that writes them to disk. */
export class Contents {
  readonly tasks: Map<string, Task> = new Map();
  readonly lists: TaskLists<Task> = new TaskLists();
  readonly pushes: Pushes = new Pushes();
  readonly leases: Leases;
  readonly conversations: Conversations = new Conversations();
  readonly #sends = new Map<string, IdempotencyRecord>();

  constructor(shared: boolean, clock: (() => number) | undefined) {
    this.leases = new Leases(shared, () => this.pushes.holders(), clock);
  }

  append(request: AppendRequest): AppendResult | undefined {
    const { head, entries, send, pushConfig, conversation } = request;
    const task = this.tasks.get(head.taskId);
    const rejection = appendRejection(request, task && toStored(task.head), send && this.findSend(send));
    if (rejection !== undefined) throw rejection;
    if (conversation !== undefined) this.conversations.check(head, conversation);
    if (pushConfig !== undefined) {
      const tooManyOf = this.pushes.tooManyOf(task, head, pushConfig);
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
    if (conversation !== undefined) this.conversations.save(head, conversation);
    const now = request.time ?? head.statusTime;
    if (saved.configs !== undefined) this.pushes.appended(saved, now);
    if (pushConfig !== undefined) this.pushes.put(saved, pushConfig, { position: request.expected, now });
    return answerOf(request.lease === undefined ? null : there, saved.configs !== undefined);
  }

  load({ taskId, of }: Request<"load">): LoadedTask | undefined {
    const task = this.tasks.get(taskId);
    if (task === undefined || (of !== undefined && !isOf(task.head, of))) return undefined;
    return { head: task.head, ...task.log.load() };
  }

  findSend(key: Request<"findSend">): IdempotencyRecord | undefined {
    return this.#sends.get(sendKey(key));
  }

  setLease({ taskId, fence, lease, expected }: Request<"setLease">): LeaseOutcome {
    const task = this.tasks.get(taskId);
    if (task === undefined || !holds(fence, task.head.lease)) return "lost";
    if (expected !== undefined && task.head.position !== expected) return "moved";
    this.leases.set(task, lease);
    return "set";
  }

  putPushConfig(request: Request<"putPushConfig">): PutPushOutcome {
    const task = this.tasks.get(request.taskId);
    if (task === undefined) return "no-task";
    const tooManyOf = this.pushes.tooManyOf(task, task.head, request);
    if (tooManyOf !== undefined) return `too-many-of-${tooManyOf}`;
    this.pushes.put(task, request, { position: task.head.position, now: request.now });
    return "put";
  }

  config({ taskId, configId }: PushConfigKey): PushConfig | undefined {
    return this.tasks.get(taskId)?.configs?.get(configId);
  }

  census(): Census {
    const most = (count: number): number => Math.min(count, CENSUS_LIMIT);
    const { openTasks, interrupted } = this.lists;
    const { dueCount, deadCount } = this.pushes;
    return { bytes: 0, openTasks, interrupted: most(interrupted.size), due: most(dueCount), dead: most(deadCount) };
  }

  /** Removes finished tasks without due deliveries. Returns their number. */
  removeFinished({ before, limit }: { readonly before: number; readonly limit: number }): number {
    const found: Task[] = [];
    for (let after: TaskHead | undefined; found.length < limit; ) {
      const tasks = this.lists.finished.olderThan(before, limit, after);
      found.push(...tasks.filter((task) => !this.pushes.isDue(task)));
      after = tasks.at(-1)?.head;
      if (after === undefined) break;
    }
    return this.#remove(found.slice(0, limit));
  }

  removeTasks({ taskIds, unfinished = false }: Request<"removeTasks">): number {
    const tasks = [...new Set(taskIds)].flatMap((taskId) => this.tasks.get(taskId) ?? []);
    return this.#remove(tasks.filter(({ head }) => unfinished || isTerminal(head.state)));
  }

  #remove(tasks: readonly Task[]): number {
    for (const task of tasks) {
      this.pushes.forget(task);
      this.lists.remove(task);
      if (!this.lists.hasContext(task.head)) this.conversations.delete(task.head);
      this.lists.forgetEmpty(task.head);
      this.leases.moved(task, task.head.lease, null);
      this.tasks.delete(task.head.taskId);
      for (const key of task.sends ?? []) this.#sends.delete(key);
    }
    return tasks.length;
  }

  #saveHead(known: Task | undefined, row: TaskRow, lease: Lease | null): Task {
    const moves = known?.head.statusTime !== row.statusTime || known.head.state !== row.state;
    if (known !== undefined && moves) this.lists.remove(known);
    const head = ownHead(row, lease);
    const task = known ?? { head, log: new MemoryLog(), configs: undefined, sends: undefined };
    const before = known?.head.lease ?? null;
    task.head = head;
    if (known === undefined) this.tasks.set(head.taskId, task);
    if (moves) this.lists.add(task);
    this.leases.moved(task, before, lease);
    return task;
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

function sendKey({ tenant, owner, key }: Request<"findSend">): string {
  return `${tenant.length}:${owner.length}:${tenant}${owner}${key}`;
}

/** The states of conversations. Bytes are copied on the way in and out. */
class Conversations {
  readonly #states = new Map<string, StoredConversation>();

  get(key: ConversationKey): StoredConversation | undefined {
    const state = this.#states.get(keyOf(key));
    return state && copy(state);
  }

  /** Bytes of a state, 0 without one. */
  sizeOf(key: ConversationKey): number {
    return this.#states.get(keyOf(key))?.bytes.length ?? 0;
  }

  /** @throws StoreError `conversation-moved` if the state has another version than the write expects. */
  check(key: ConversationKey, write: ConversationWrite): void {
    const rejection = conversationRejection(write, this.#states.get(keyOf(key))?.version ?? 0);
    if (rejection !== undefined) throw rejection;
  }

  save(key: ConversationKey, write: ConversationWrite): void {
    this.#states.set(keyOf(key), copy(write));
  }

  delete(key: ConversationKey): void {
    this.#states.delete(keyOf(key));
  }
}

function keyOf(key: ConversationKey): string {
  return `${key.contextId.length}:${key.contextId}${ownerKey(key)}`;
}

function copy({ version, bytes }: StoredConversation): StoredConversation {
  return { version, bytes: new Uint8Array(bytes) };
}
