import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { GetTaskResponse } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { stateAfter } from "../../../../src/task/entry.js";
import { isTerminal } from "../../../../src/task/state.js";
import { admin } from "../../api/admin.js";
import { type FollowState, useFollow } from "./follow.js";
import { TaskLog } from "./task-log.js";

/** Smaller tasks are read again while they change, at most this often. */
const SMALL_BYTES = 1_000_000;
const REFRESH_MS = 1_000;

/** A task with more entries is read when someone asks for it: putting it together may take the server seconds. */
export const MAX_ENTRIES = 20_000;

/** One task with its log, both followed. */
export interface OneTask {
  readonly answer: GetTaskResponse | undefined;
  readonly state: TaskState;
  readonly log: TaskLog;
  readonly follow: FollowState;
  readonly error: Error | null;
  readonly reload: () => void;
  /** Reads a task whose log is long; undefined if it was asked for or read. */
  readonly readWhole: (() => void) | undefined;
}

const keyOf = (taskId: string) => ["operate", "task", taskId] as const;

export function useTask(taskId: string): OneTask {
  const queries = useQueryClient();
  const log = useMemo(() => new TaskLog(taskId), [taskId]);
  const [isWhole, setWhole] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: [...keyOf(taskId), isWhole],
    queryFn: ({ signal }) => admin.getTask({ taskId, ...(!isWhole && { maxEntries: MAX_ENTRIES }) }, { signal }),
    structuralSharing: false,
    placeholderData: keepPreviousData,
  });
  const state = data?.summary?.state ?? TaskState.UNSPECIFIED;
  useEffect(() => {
    if (data?.summary !== undefined) log.reach(data.summary.position);
  }, [data, log]);
  const refresh = useThrottled(() => void queries.invalidateQueries({ queryKey: keyOf(taskId) }));
  const isSmall = data !== undefined && Number(data.bytes) <= SMALL_BYTES;
  const follow = useFollow({
    isOn: data !== undefined && !data.damaged && !isTerminal(state),
    key: taskId,
    read: async (signal) => {
      let isOver = false;
      for await (const { entry } of admin.followTask({ taskId, after: log.total }, { signal })) {
        if (entry === undefined) continue;
        log.append(entry);
        const next = entry.entry && stateAfter(entry.entry.event);
        isOver = next !== undefined && isTerminal(next);
        if (isSmall || next !== undefined) refresh();
      }
      return isOver ? "ended" : "cut";
    },
  });
  return {
    ...{ answer: data, state, log, error, reload: () => void refetch() },
    readWhole: isWhole || data?.task !== undefined ? undefined : () => setWhole(true),
    follow: data !== undefined && isTerminal(state) ? { is: "ended" } : follow,
  };
}

/** Calls at once, and at most once in the time that follows. */
function useThrottled(call: () => void): () => void {
  const latest = useRef(call);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, REFRESH_MS);
  };
}

/** Renders again when the log has changed. */
export function useLogVersion(log: TaskLog): number {
  return useSyncExternalStore(log.subscribe, log.version);
}
