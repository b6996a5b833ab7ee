import { create } from "@bufbuild/protobuf";
import {
  type Entry,
  EntrySchema,
  type FollowTaskRequest,
  type FollowTaskResponse,
  FollowTaskResponseSchema,
  type ListEntriesRequest,
  ListEntriesRequestSchema,
  type ListEntriesResponse,
  ListEntriesResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { Semaphore } from "../../core/async.js";
import type { Call } from "../../core/call.js";
import { taskNotFound } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { attempt } from "../../core/members.js";
import type { OutgoingBudget } from "../../service/outgoing-budget.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import { type Origin, originAfter, originFrom } from "../../task/origin.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";
import { withWeight } from "./task-summary.js";

/** Entries per read from the store. */
const STEP = 64;

/** Bytes of entries after which a page ends. It has at least one entry, which may be larger. */
const PAGE_BYTES = 1024 * 1024;

/** Pages that are read at the same time: each is in memory before it is known to be large. */
const MAX_PAGES = 4;

const reading = new Semaphore(MAX_PAGES);

/** Lists the entries of a task's log. */
export async function listEntries(parts: AdminParts, request: ListEntriesRequest): Promise<ListEntriesResponse> {
  await reading.acquire(1);
  try {
    return await readPage(parts, request);
  } finally {
    reading.release(1);
  }
}

async function readPage({ store }: AdminParts, request: ListEntriesRequest): Promise<ListEntriesResponse> {
  const { taskId, raw } = request;
  const page = pageOf(ListEntriesRequestSchema, request, ["number"]);
  const head = await store.head({ taskId });
  if (head === undefined) throw taskNotFound(taskId);
  let position = Math.max(request.after, page.after?.[0] ?? 0);
  let origin = await originAt(store, taskId, position);
  const entries: Entry[] = [];
  let bytes = 0;
  for (; entries.length < page.limit && bytes < PAGE_BYTES; await yieldToEventLoop()) {
    const limit = Math.min(STEP, page.limit - entries.length);
    const read = await store.read({ taskId, after: position, limit, salvage: true });
    for (const each of read) {
      const entry = entryOf(each, origin, raw);
      origin = entry.origin;
      entries.push(entry.shown);
      bytes += each.length;
      position++;
    }
    if (read.length === 0) break;
  }
  const nextPageToken = position < head.position && entries.length > 0 ? page.token([position]) : "";
  return withWeight(create(ListEntriesResponseSchema, { entries, nextPageToken }), raw ? 2 * bytes : bytes);
}

/** Streams the entries of a task's log until the task has ended. */
export async function* followTask(
  { store, engine }: AdminParts,
  { taskId, after }: FollowTaskRequest,
  call: Call,
  budget: OutgoingBudget,
): AsyncGenerator<FollowTaskResponse> {
  let origin = await originAt(store, taskId, after);
  for await (const read of engine.control.follow(taskId, after, call.cancellation)) {
    for (const each of read) {
      const entry = entryOf(each, origin, false);
      origin = entry.origin;
      yield* budget.admitEvent(call, withWeight(create(FollowTaskResponseSchema, { entry: entry.shown }), each.length));
    }
  }
}

function entryOf(
  stored: Uint8Array,
  before: Origin | undefined,
  raw: boolean,
): { readonly shown: Entry; readonly origin: Origin | undefined } {
  const entry = tryDecode(stored);
  // The entries after one that does not decode have an unknown origin until one names it.
  const origin = entry && originAfter(entry, before);
  const shown = create(EntrySchema, { entry, bytes: stored.length });
  if (origin !== undefined) {
    shown.writer = origin.writer;
    shown.attempt = origin.attempt;
  }
  if (raw || entry === undefined) shown.raw = stored;
  return { shown, origin };
}

/** Decodes an entry; undefined if its bytes are damaged. */
const tryDecode = (stored: Uint8Array): LogEntry | undefined => attempt(() => decodeEntry(stored));

/** Reads the origin of the entry at a position. Undefined for logs of older versions, and before the first entry. */
async function originAt(store: TaskStore, taskId: string, position: number): Promise<Origin | undefined> {
  if (position <= 0) return undefined;
  let origin: Origin | undefined;
  for (let after = originFrom(position) - 1; after < position; ) {
    const read = await store.read({ taskId, after, limit: position - after, salvage: true });
    for (const each of read) {
      const entry = tryDecode(each);
      origin = entry && originAfter(entry, origin);
    }
    if (read.length === 0) break;
    after += read.length;
  }
  return origin;
}
