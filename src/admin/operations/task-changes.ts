import { create } from "@bufbuild/protobuf";
import {
  type FollowTasksRequest,
  type FollowTasksResponse,
  FollowTasksResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { boundedCall, ignore, pause } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { evictOldest } from "../../core/maps.js";
import type { TaskHead, TaskStore } from "../../store/task-store.js";
import type { AdminContext } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { summaryOf } from "./task-summary.js";

/** Changes of a task within this time are sent once, in milliseconds. */
const COALESCE_MS = 100;

/** Time after which a stream without changes checks whether the server is shutting down, in milliseconds. */
const CHECK_MS = 1_000;

/** Time between polls for changes by other processes, in milliseconds. */
const POLL_MS = 1_000;

/** Statuses of other processes are found if their clocks differ from this one's by no more, in milliseconds. */
const SKEW_MS = 10_000;

/** Maximum number of changed tasks that a slow reader has not read. With more it has to start over. */
const MAX_CHANGED = 10_000;

/** Maximum number of tasks that one poll reads from each list of the store. */
const MAX_POLLED = 10_000;

/** Streams tasks that change from now on, each at most once in `COALESCE_MS`. */
export async function* followTasks(
  parts: AdminParts,
  poll: ChangePoll,
  request: FollowTasksRequest,
  { call }: Pick<AdminContext, "call">,
): AsyncGenerator<FollowTasksResponse> {
  const { engine, store } = parts;
  const client = call.cancellation;
  const changes = new Changes();
  // Both this process and the poll of a shared store may report a change.
  const sent = new Map<string, number>();
  const ignore = engine.control.onChange((taskId) => changes.add(taskId));
  const stay = client.onCancel(() => changes.wake());
  try {
    await poll.subscribe(changes);
    while (!client.canceled) {
      await changes.next();
      if (client.canceled) return;
      if (engine.control.isClosing) throw new A2AError("UNAVAILABLE", "The server is shutting down.");
      for (const taskId of changes.take()) {
        const head = await store.head({ taskId });
        if (head === undefined || !matches(head, request) || sent.get(taskId) === head.position) continue;
        evictOldest(sent, MAX_CHANGED);
        sent.set(taskId, head.position);
        yield create(FollowTasksResponseSchema, { task: summaryOf(parts, head) });
        if (client.canceled) return;
      }
    }
  } finally {
    poll.unsubscribe(changes);
    ignore();
    stay();
  }
}

function matches(head: TaskHead, { tenant, owner }: FollowTasksRequest): boolean {
  return (tenant === undefined || tenant === head.tenant) && (owner === undefined || owner === head.owner);
}

/** The tasks that have changed since one stream last took them. */
class Changes {
  readonly #ids = new Set<string>();
  #isFull = false;
  #failure: { readonly error: unknown } | undefined;
  #wake = (): void => {};

  add(taskId: string): void {
    if (this.#ids.size < MAX_CHANGED) this.#ids.add(taskId);
    else this.#isFull = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wake();
  }

  wake(): void {
    this.#wake();
  }

  /** Waits for a change, at most `CHECK_MS`, and after a change `COALESCE_MS` longer for further ones. */
  async next(): Promise<void> {
    if (this.#ids.size === 0) await this.#sleep();
    if (this.#ids.size > 0) await pause(COALESCE_MS, undefined);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#isFull) {
      throw new A2AError(
        "TOO_MANY_REQUESTS",
        "More tasks have changed than the client has read. List them, then follow again.",
      );
    }
  }

  take(): string[] {
    const ids = [...this.#ids];
    this.#ids.clear();
    return ids;
  }

  #sleep(): Promise<void> {
    const begin = (resolve: () => void): (() => void) => {
      this.#wake = resolve;
      return ignore;
    };
    return boundedCall(begin, { timeout: { ms: CHECK_MS, result: ignore } });
  }
}

/**
 * Polls a shared store for changes by other processes: among tasks with a lease, whose positions may have changed, and
 * those with a recent status. All streams share the polls, and without a stream there are none.
 */
export class ChangePoll {
  readonly #store: TaskStore;
  /** Streams for which the next poll only notes the positions, since they do not send earlier changes. */
  #subscribing: Changes[] = [];
  readonly #streams = new Set<Changes>();
  /** Positions of the tasks that the last poll has found. */
  #seen: ReadonlyMap<string, number> | undefined;
  #isRepeated = false;
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  /** Resolves when changes from then on reach the stream. */
  async subscribe(stream: Changes): Promise<void> {
    if (!this.#store.shared) return;
    this.#subscribing.push(stream);
    await this.#poll();
    if (!this.#isRepeated) void this.#repeat();
  }

  unsubscribe(stream: Changes): void {
    this.#streams.delete(stream);
  }

  async #repeat(): Promise<void> {
    this.#isRepeated = true;
    while (this.#streams.size > 0) {
      await pause(POLL_MS, undefined);
      if (this.#streams.size === 0) break;
      try {
        await this.#poll();
      } catch (error) {
        for (const stream of this.#streams) stream.fail(error);
      }
    }
    this.#isRepeated = false;
    this.#seen = undefined;
  }

  /** Polls once the present poll is over, which may have begun too early for the caller. Callers meanwhile share one. */
  #poll(): Promise<void> {
    this.#waiting ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#waiting = undefined;
        this.#running = this.#readChanges();
        return this.#running;
      });
    return this.#waiting;
  }

  async #readChanges(): Promise<void> {
    const subscribing = this.#subscribing;
    this.#subscribing = [];
    const before = this.#seen;
    const found = new Map<string, number>();
    for await (const { taskId, position } of this.#candidates()) found.set(taskId, position);
    if (before !== undefined) await this.#notifyChanged(before, found);
    // A poll that fails leaves its changes to the next one.
    this.#seen = found;
    for (const stream of subscribing) this.#streams.add(stream);
  }

  async #notifyChanged(before: ReadonlyMap<string, number>, found: ReadonlyMap<string, number>): Promise<void> {
    for (const [taskId, position] of found) if (before.get(taskId) !== position) this.#notify(taskId);
    // Neither leased nor recent any more: its last change is not known.
    for (const [taskId] of before)
      if (!found.has(taskId) && (await this.#hasChanged(taskId, before))) this.#notify(taskId);
  }

  #notify(taskId: string): void {
    for (const stream of this.#streams) stream.add(taskId);
  }

  async #hasChanged(taskId: string, before: ReadonlyMap<string, number>): Promise<boolean> {
    return (await this.#store.head({ taskId }))?.position !== before.get(taskId);
  }

  async *#candidates(): AsyncGenerator<TaskHead> {
    yield* readPages((last, limit) => {
      const after = last && { holder: last.lease?.holder ?? "", taskId: last.taskId };
      return this.#store.listLeased({ after, limit });
    });
    const statusFrom = Date.now() - SKEW_MS;
    yield* readPages(async (after, limit) => (await this.#store.listHeads({ statusFrom, after, limit })).heads);
  }
}

/** Yields the tasks of a list in the store, page by page, up to `MAX_POLLED`. */
async function* readPages(
  read: (last: TaskHead | undefined, limit: number) => Promise<readonly TaskHead[]>,
): AsyncGenerator<TaskHead> {
  const limit = 1_000;
  for (let last: TaskHead | undefined, count = 0; count < MAX_POLLED; count += limit) {
    const heads = await read(last, limit);
    yield* heads;
    last = heads.at(-1);
    if (heads.length < limit) return;
    await yieldToEventLoop();
  }
}
