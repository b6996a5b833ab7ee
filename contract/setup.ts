import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { pause } from "../src/core/async.js";
import type {
  AppendRequest,
  Lease,
  ListRequest,
  PutPushConfig,
  TaskHead,
  TaskRow,
  TaskStore,
} from "../src/store/task-store.js";
import { isTerminal } from "../src/task/state.js";

/** Functions that the suite needs from the tests of a store. */
export interface StoreContract {
  /** Name of the store in the report. */
  readonly name: string;
  /** Opens an empty store. The suite closes it. */
  readonly open: () => Promise<TaskStore> | TaskStore;
  /** For a durable store: reopens the store that was just closed. */
  readonly durable?: {
    /** Opens a store on the data of a closed one. */
    readonly reopen: (closed: TaskStore) => Promise<TaskStore> | TaskStore;
  };
  /** The functions of the test runner: `import * as vitest from "vitest"`. */
  readonly suite: Pick<typeof import("vitest"), "describe" | "it" | "expect">;
  /** The property-testing library: `import * as fc from "fast-check"`. */
  readonly fc: typeof import("fast-check");
}

/** One test with a new, empty store. */
export function scenario(contract: StoreContract, name: string, test: (store: TaskStore) => Promise<void>): void {
  contract.suite.it(name, async () => {
    const store = await contract.open();
    try {
      await test(store);
    } finally {
      await store.close();
    }
  });
}

/**
 * Calls `work` for each element, a hundred at a time. A store with few connections queues calls, and rejects those that
 * wait too long.
 */
export async function forEachOf<T>(
  all: readonly T[],
  work: (one: T, index: number) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < all.length; from += 100) {
    await Promise.all(all.slice(from, from + 100).map((one, index) => work(one, from + index)));
  }
}

/** The owner of the tasks of these tests unless a test names another. */
export const OWNER: Pick<TaskHead, "tenant" | "owner"> = { tenant: "tenant", owner: "owner" };

/** A head with the fields that the test names, and defaults for the rest. */
export function headOf(named: Partial<TaskHead> & Pick<TaskHead, "taskId">): TaskHead {
  return {
    ...OWNER,
    contextId: "context",
    state: TaskState.WORKING,
    statusTime: 1_000,
    position: 1,
    generation: 1,
    lease: null,
    ...named,
  };
}

/** A lease with the fields that the test names. */
export function leaseOf(named: Partial<Lease> = {}): Lease {
  return { holder: "holder", turn: 1, attempt: 1, ...named };
}

/** A push configuration with the fields that the test names, and without limits. */
export function configOf(
  named: Partial<PutPushConfig> & Pick<PutPushConfig, "taskId" | "configId">,
  text = "config",
): PutPushConfig {
  return { bytes: bytesOf(text), target: "target", maxPerTask: 100, maxPerOwner: 1_000, now: 1_000, ...named };
}

/** Waits, in milliseconds. */
export function sleep(ms: number): Promise<void> {
  return pause(ms, undefined);
}

/** Bytes of an entry, identified by a text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The text of `bytesOf`. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The entries with which `create` and `follow` fill a log: their text is their own position. */
export function numbered(after: number, count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => bytesOf(`${after + index + 1}`));
}

/** Creates a task of `count` numbered entries and returns its head. */
export async function create(
  store: TaskStore,
  named: Partial<TaskHead> & Pick<TaskHead, "taskId">,
  count = 1,
): Promise<TaskHead> {
  const head = headOf({ position: count, generation: count, ...named });
  const entries = numbered(0, count);
  await store.append({ head, expected: 0, creates: true, entries, lease: head.lease ?? undefined });
  return head;
}

/** Appends `count` numbered entries to a task, changes its row as named, and returns the head. */
export async function follow(
  store: TaskStore,
  before: TaskHead,
  named: Partial<TaskRow> = {},
  count = 1,
): Promise<TaskHead> {
  const request = followRequest(before, named, count);
  await store.append(request);
  return { ...request.head, lease: isTerminal(request.head.state) ? null : before.lease };
}

/** The request that `follow` sends. */
export function followRequest(before: TaskHead, named: Partial<TaskRow> = {}, count = 1): AppendRequest {
  const position = before.position + count;
  const head = { ...before, position, generation: before.generation + count, ...named };
  const entries = numbered(before.position, count);
  return { head, expected: before.position, creates: before.position === 0, entries };
}

/** Every entry of a task as text, read in steps of `limit`. */
export async function readAll(store: TaskStore, taskId: string, limit = 100): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const entries = await store.read({ taskId, after: texts.length, limit });
    if (entries.length === 0) return texts;
    texts.push(...entries.map(decodeUtf8));
  }
}

/** The texts of a log of numbered entries. */
export function countTo(position: number): string[] {
  return Array.from({ length: position }, (_, index) => `${index + 1}`);
}

/** Ids of all tasks that a list finds, read page by page. */
export async function listAll(store: TaskStore, request: Omit<ListRequest, "after">): Promise<string[]> {
  const ids: string[] = [];
  let after: ListRequest["after"];
  for (;;) {
    const { heads } = await store.list({ ...request, ...(after && { after }) });
    const last = heads.at(-1);
    if (last === undefined) return ids;
    ids.push(...heads.map((head) => head.taskId));
    after = { statusTime: last.statusTime, taskId: last.taskId };
  }
}
