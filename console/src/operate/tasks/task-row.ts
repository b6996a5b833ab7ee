import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskSummary } from "../../../../gen/parley/admin/v1/admin_pb.js";

/** A task in a list. It is smaller than the message it is made from, because a list may have 100,000 of them. */
export interface TaskRow {
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
  readonly context: string;
  readonly agent: string;
  readonly state: TaskState;
  /** Time of the status in milliseconds since 1970. */
  readonly at: number;
  readonly position: number;
  readonly generation: number;
  /** Process that executes the task; empty if any may, undefined if nothing is to be executed. */
  readonly holder: string | undefined;
  readonly attempt: number;
}

/** Texts that many tasks share, each kept once. */
const shared = new Map<string, string>();
const MAX_SHARED = 10_000;

function once(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

export function rowOf(summary: TaskSummary): TaskRow {
  const { taskId, tenant, owner, contextId, agent, state, statusTime, position, generation, lease } = summary;
  return {
    ...{ id: taskId, tenant: once(tenant), owner: once(owner), context: contextId, agent: once(agent), state },
    ...{ at: millisOf(statusTime) ?? 0, position, generation },
    holder: lease && once(lease.holder),
    attempt: lease?.attempt ?? 0,
  };
}

/** Returns a time in milliseconds since 1970. */
export function millisOf(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : Number(time.seconds) * 1_000 + time.nanos / 1_000_000;
}

export function dateOf(time: Timestamp | undefined): Date | undefined {
  const at = millisOf(time);
  return at === undefined ? undefined : new Date(at);
}

/** Returns a time of milliseconds since 1970 as messages have it. */
export function timestampOf(at: number): { readonly seconds: bigint; readonly nanos: number } {
  const seconds = Math.floor(at / 1_000);
  return { seconds: BigInt(seconds), nanos: Math.round((at - seconds * 1_000) * 1_000_000) };
}
