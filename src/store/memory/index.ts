import { isTerminal } from "../../task/state.js";
import { checkRequest, refusal } from "../check.js";
import { alwaysHealthy } from "../health.js";
import {
  type AppendRequest,
  type ClaimRequest,
  type Lease,
  type LeaseChange,
  type ListPage,
  type ListRequest,
  type LoadedTask,
  type PushConfigKey,
  type RememberedSend,
  type SendKey,
  type SnapshotPiece,
  type StoredPushConfig,
  type StoredSnapshot,
  StoreError,
  type TaskHead,
  type TaskStore,
} from "../task-store.js";
import { compareIds, type Listed, OrderedHeads } from "./list.js";

/** Keeps tasks in this process alone, for tests and for measuring what a durable store costs. */
export function memoryStore(): TaskStore {
  return new MemoryStore();
}

interface Task extends Listed {
  readonly entries: Uint8Array[];
  /** Made when there is one: most tasks never have any. */
  configs: Map<string, StoredPushConfig> | undefined;
  /** Keys of `#sends` that are this task's. */
  sends: string[] | undefined;
  snapshot: StoredSnapshot | undefined;
  /** The pieces of the snapshot, and of the next one while it is being written. */
  pieces?: readonly Uint8Array[];
  coming?: { readonly position: number; readonly pieces: Uint8Array[] } | undefined;
}

/** One page of a log stops after this many bytes, though not before its first entry. */
const READ_BYTES = 1024 * 1024;

/**
 * Every change happens in one go, without an await between check and change: that is its transaction. Bytes are
 * copied on their way in and out, as they are by a store that writes them down.
 */
class MemoryStore implements TaskStore {
  readonly shared = false;
  readonly health = alwaysHealthy;
  readonly #tasks = new Map<string, Task>();
  /** The tasks of each owner, and those that are over, in the order of lists. */
  readonly #owners = new Map<string, OrderedHeads<Task>>();
  readonly #finished = new OrderedHeads<Task>();
  readonly #leased = new Set<Task>();
  readonly #sends = new Map<string, RememberedSend>();
  #closed = false;

  async append(request: AppendRequest): Promise<void> {
    this.#check();
    checkRequest(request);
    const { head, entries, send } = request;
    const task = this.#tasks.get(head.taskId);
    const remembered = send && this.#sends.get(sendKey(send));
    const refused = refusal(request, task && toStored(task.head), remembered);
    if (refused !== undefined) throw refused;
    const saved = this.#saveHead(task, head);
    for (const entry of entries) saved.entries.push(copyEntry(entry));
    if (send === undefined) return;
    const { fingerprint, taskId, position } = send;
    this.#sends.set(sendKey(send), { fingerprint, taskId, position });
    saved.sends ??= [];
    saved.sends.push(sendKey(send));
  }

  async head({ taskId }: { readonly taskId: string }): Promise<TaskHead | undefined> {
    return this.#task(taskId)?.head;
  }

  async load({ taskId }: { readonly taskId: string }): Promise<LoadedTask | undefined> {
    const task = this.#task(taskId);
    if (task === undefined) return undefined;
    const { head, snapshot } = task;
    const whole = snapshot?.pieces === undefined;
    const entries = whole ? page(task.entries, snapshot?.position ?? 0, Number.POSITIVE_INFINITY) : [];
    return { head, snapshot: snapshot && { ...snapshot, bytes: copy(snapshot.bytes) }, entries };
  }

  async loadMany({ taskIds }: { readonly taskIds: readonly string[] }): Promise<(LoadedTask | undefined)[]> {
    return Promise.all(taskIds.map((taskId) => this.load({ taskId })));
  }

  async readSnapshot(request: {
    readonly taskId: string;
    readonly position: number;
    readonly piece: number;
  }): Promise<Uint8Array | undefined> {
    const task = this.#task(request.taskId);
    const piece = task?.snapshot?.position === request.position ? task.pieces?.[request.piece] : undefined;
    return piece && copy(piece);
  }

  async read(request: {
    readonly taskId: string;
    readonly after: number;
    readonly limit: number;
  }): Promise<Uint8Array[]> {
    const { taskId, after, limit } = request;
    return page(this.#task(taskId)?.entries ?? [], after, limit);
  }

  async saveSnapshot(request: { readonly taskId: string; readonly snapshot: SnapshotPiece }): Promise<void> {
    const { position, bytes, piece = 0, last = true } = request.snapshot;
    const task = this.#task(request.taskId);
    if (task === undefined || position <= (task.snapshot?.position ?? -1)) return;
    if (task.coming?.position !== position) task.coming = { position, pieces: [] };
    const { pieces } = task.coming;
    pieces[piece] = copy(bytes);
    if (!last) return;
    const [first = copy(bytes)] = pieces;
    task.pieces = pieces;
    task.snapshot =
      pieces.length === 1 ? { position, bytes: first } : { position, bytes: first, pieces: pieces.length };
    task.coming = undefined;
  }

  async list(request: ListRequest): Promise<ListPage> {
    this.#check();
    return this.#owners.get(ownerKey(request))?.page(request) ?? { heads: [], total: 0 };
  }

  async findSend(request: SendKey): Promise<RememberedSend | undefined> {
    this.#check();
    return this.#sends.get(sendKey(request));
  }

  async claimLeases({ holder, now, until, limit }: ClaimRequest): Promise<TaskHead[]> {
    this.#check();
    const expired = [...this.#leased].filter(({ head }) => head.lease !== null && head.lease.until <= now);
    expired.sort((a, b) => (a.head.lease?.until ?? 0) - (b.head.lease?.until ?? 0));
    return expired.slice(0, limit).flatMap((task) => {
      const { lease } = task.head;
      if (lease === null) return [];
      this.#setLease(task, { ...lease, holder, until, attempt: lease.attempt + 1 });
      return [task.head];
    });
  }

  async renewLeases(request: {
    readonly holder: string;
    readonly taskIds: readonly string[];
    readonly until: number;
  }): Promise<string[]> {
    const { holder, taskIds, until } = request;
    return taskIds.filter((taskId) => {
      const task = this.#task(taskId);
      const lease = task?.head.lease;
      if (task === undefined || !lease || lease.holder !== holder) return false;
      this.#setLease(task, { ...lease, until });
      return true;
    });
  }

  async setLease({ taskId, holder, lease, expected }: LeaseChange): Promise<boolean> {
    const task = this.#task(taskId);
    if (task === undefined || task.head.lease?.holder !== holder) return false;
    if (expected !== undefined && expected !== task.head.position) return false;
    this.#setLease(task, lease);
    return true;
  }

  async putPushConfig({
    taskId,
    configId,
    config,
  }: PushConfigKey & { readonly config: StoredPushConfig }): Promise<void> {
    const task = this.#task(taskId);
    if (task === undefined) return;
    task.configs ??= new Map();
    task.configs.set(configId, { position: config.position, bytes: copy(config.bytes) });
  }

  async getPushConfig({ taskId, configId }: PushConfigKey): Promise<StoredPushConfig | undefined> {
    const config = this.#task(taskId)?.configs?.get(configId);
    return config && { ...config, bytes: copy(config.bytes) };
  }

  async listPushConfigs(request: {
    readonly taskId: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<{ readonly configId: string; readonly config: StoredPushConfig }[]> {
    const configs = [...(this.#task(request.taskId)?.configs ?? [])]
      .filter(([configId]) => compareIds(configId, request.after) > 0)
      .sort(([a], [b]) => compareIds(a, b))
      .slice(0, request.limit);
    return configs.map(([configId, config]) => ({ configId, config: { ...config, bytes: copy(config.bytes) } }));
  }

  async deletePushConfig({ taskId, configId }: PushConfigKey): Promise<void> {
    this.#task(taskId)?.configs?.delete(configId);
  }

  async savePushPosition(request: PushConfigKey & { readonly position: number }): Promise<void> {
    const { taskId, configId, position } = request;
    const configs = this.#task(taskId)?.configs;
    const config = configs?.get(configId);
    if (config !== undefined && position > config.position) configs?.set(configId, { ...config, position });
  }

  async removeFinished(request: { readonly before: number; readonly limit: number }): Promise<number> {
    this.#check();
    const tasks = this.#finished.olderThan(request.before, request.limit);
    for (const task of tasks) {
      this.#finished.remove(task);
      this.#owners.get(ownerKey(task.head))?.remove(task);
      this.#leased.delete(task);
      this.#tasks.delete(task.head.taskId);
      for (const key of task.sends ?? []) this.#sends.delete(key);
    }
    return tasks.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #saveHead(known: Task | undefined, head: TaskHead): Task {
    const owner = this.#owner(head);
    const moves = known?.head.statusTime !== head.statusTime;
    if (known !== undefined && moves) owner.remove(known);
    const task = known ?? { head, entries: [], configs: undefined, sends: undefined, snapshot: undefined };
    task.head = ownHead(head);
    if (known === undefined) this.#tasks.set(head.taskId, task);
    if (moves) owner.add(task);
    if (isTerminal(head.state)) this.#finished.add(task);
    this.#trackLease(task);
    return task;
  }

  #setLease(task: Task, lease: Lease | null): void {
    task.head = ownHead({ ...task.head, lease });
    this.#trackLease(task);
  }

  #trackLease(task: Task): void {
    if (task.head.lease === null) this.#leased.delete(task);
    else this.#leased.add(task);
  }

  #owner(head: TaskHead): OrderedHeads<Task> {
    const key = ownerKey(head);
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const created = new OrderedHeads<Task>();
    this.#owners.set(key, created);
    return created;
  }

  #task(taskId: string): Task | undefined {
    this.#check();
    return this.#tasks.get(taskId);
  }

  #check(): void {
    if (this.#closed) throw new StoreError("closed", "The store is closed.");
  }
}

function toStored({ tenant, owner, contextId, position, state }: TaskHead): Parameters<typeof refusal>[1] {
  return { tenant, owner, contextId, position, finished: isTerminal(state) };
}

/** A head of the store's own. Nobody changes one: heads are replaced. Written out, as every append makes one. */
function ownHead(head: TaskHead): TaskHead {
  const { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease } = head;
  return { taskId, tenant, owner, contextId, state, statusTime, position, generation, lease: lease && { ...lease } };
}

function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function page(all: readonly Uint8Array[], after: number, limit: number): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let index = after, bytes = 0; index < all.length && entries.length < limit && bytes < READ_BYTES; index++) {
    const entry = all[index] as Uint8Array;
    entries.push(copyEntry(entry));
    bytes += entry.length;
  }
  return entries;
}

/** Small ones share memory that Node keeps ready: making some for each costs several times as much. */
function copyEntry(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes);
}

function ownerKey({ tenant, owner }: { readonly tenant: string; readonly owner: string }): string {
  return `${tenant.length}:${tenant}${owner}`;
}

function sendKey({ tenant, owner, key }: SendKey): string {
  return `${tenant.length}:${owner.length}:${tenant}${owner}${key}`;
}
