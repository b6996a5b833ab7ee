import { create } from "@bufbuild/protobuf";
import {
  type FollowTasksRequest,
  type FollowTasksResponse,
  FollowTasksResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Cancellation } from "../../core/cancellation.js";
import { A2AError } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import type { TaskHead, TaskStore } from "../../store/task-store.js";
import type { AdminParts } from "../parts.js";
import { summaryOf } from "./task-summary.js";

/** Changes of a task within this time are sent once, in milliseconds. */
const COALESCE_MS = 100;

/** Interval between polls for changes by other processes, in milliseconds. */
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
  request: FollowTasksRequest,
  client: Cancellation,
): AsyncGenerator<FollowTasksResponse> {
  const { engine, store } = parts;
  const changes = new Changes(store);
  const ignore = engine.control.onChange((taskId) => changes.add(taskId));
  const stay = client.onCancel(() => changes.wake());
  try {
    await changes.look();
    while (!client.canceled) {
      await changes.next();
      if (client.canceled) return;
      if (engine.control.isClosing) throw new A2AError("UNAVAILABLE", "The server is shutting down.");
      for (const taskId of changes.take()) {
        const head = await store.head({ taskId });
        if (head === undefined || !matches(head, request)) continue;
        yield create(FollowTasksResponseSchema, { task: summaryOf(parts, head) });
        if (client.canceled) return;
      }
    }
  } finally {
    ignore();
    stay();
  }
}

function matches(head: TaskHead, { tenant, owner }: FollowTasksRequest): boolean {
  return (tenant === undefined || tenant === head.tenant) && (owner === undefined || owner === head.owner);
}

/** The tasks that have changed since they were last taken. */
class Changes {
  readonly #store: TaskStore;
  readonly #ids = new Set<string>();
  #isFull = false;
  #wake = (): void => {};
  /** Positions of the tasks that the last poll of the store has found. */
  #seen: ReadonlyMap<string, number> | undefined;
  #looked = 0;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  add(taskId: string): void {
    if (this.#ids.size < MAX_CHANGED) this.#ids.add(taskId);
    else this.#isFull = true;
    this.#wake();
  }

  wake(): void {
    this.#wake();
  }

  /** Waits for a change or for the next poll, and after a change `COALESCE_MS` longer for further ones. */
  async next(): Promise<void> {
    if (this.#ids.size === 0) await this.#sleep(POLL_MS);
    if (this.#ids.size > 0) await new Promise((resolve) => setTimeout(resolve, COALESCE_MS));
    if (this.#store.shared && performance.now() - this.#looked >= POLL_MS) await this.look();
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

  /**
   * Polls the store for changes by other processes: among tasks with a lease, whose positions may have changed, and those
   * with a recent status. The first poll only notes the positions.
   */
  async look(): Promise<void> {
    if (!this.#store.shared) return;
    this.#looked = performance.now();
    const before = this.#seen;
    const found = new Map<string, number>();
    for await (const { taskId, position } of this.#candidates()) found.set(taskId, position);
    this.#seen = found;
    if (before === undefined) return;
    for (const [taskId, position] of found) if (before.get(taskId) !== position) this.add(taskId);
    // Neither leased nor recent any more: its last change is not known.
    for (const [taskId] of before) if (!found.has(taskId) && (await this.#isNews(taskId, before))) this.add(taskId);
  }

  async #isNews(taskId: string, before: ReadonlyMap<string, number>): Promise<boolean> {
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

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
    });
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
