import { useQuery, useQueryClient } from "@tanstack/react-query";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskSummary } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { readAll } from "../shared/pages.js";
import { useVisible } from "../shared/visible.js";
import { type FollowState, useFollow } from "../tasks/follow.js";
import { rowOf, type TaskRow } from "../tasks/task-row.js";

/** States of tasks that wait for a person. */
const waiting: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

/** Most tasks that are read. The service counts no more either. */
const MAX_TASKS = 10_000;

/** The tenant and the owner of the shown tasks. Absent names match all. */
export interface InboxFilter {
  readonly tenant?: string;
  readonly owner?: string;
}

interface Inbox {
  /** The one that has waited longest first. */
  readonly rows: readonly TaskRow[];
  readonly isCut: boolean;
}

async function readInbox(filter: InboxFilter): Promise<Inbox> {
  const read = (page: { pageToken: string; pageSize: number }) =>
    admin.listTasks({ ...filter, ...page, states: [...waiting] });
  const { rows, isCut } = await readAll(read, ({ tasks }) => tasks, MAX_TASKS);
  return { rows: rows.map(rowOf).sort(byAge), isCut };
}

const byAge = (one: TaskRow, other: TaskRow): number => one.at - other.at || (one.id < other.id ? -1 : 1);

/** Returns the inbox with a task as it is now: in it while it waits, else without it. */
function withTask(inbox: Inbox, task: TaskSummary): Inbox {
  const others = inbox.rows.filter(({ id }) => id !== task.taskId);
  if (!waiting.includes(task.state)) return others.length === inbox.rows.length ? inbox : { ...inbox, rows: others };
  return { ...inbox, rows: [...others, rowOf(task)].sort(byAge) };
}

/** The tasks that wait for a person, live. */
export function useInbox(filter: InboxFilter): {
  readonly inbox: Inbox | undefined;
  readonly error: unknown;
  readonly live: FollowState;
  readonly retry: () => void;
} {
  const queries = useQueryClient();
  const isVisible = useVisible();
  const key = ["inbox", filter.tenant, filter.owner];
  const { data, error, refetch } = useQuery({ queryKey: key, queryFn: () => readInbox(filter) });
  const live = useFollow({
    isOn: isVisible,
    key: JSON.stringify(key),
    catchUp: async () => void (await refetch()),
    read: async (signal) => {
      for await (const { task } of admin.followTasks(filter, { signal })) {
        if (task !== undefined) queries.setQueryData<Inbox>(key, (inbox) => inbox && withTask(inbox, task));
      }
      return "cut";
    },
  });
  return { inbox: data, error, live, retry: () => void refetch() };
}
